import { describe, expect, it } from 'vitest';

import { momentOf } from '../../../projections/query/moment.js';

describe('a moment in a request', () => {
  it.each([
    ['12', { position: 12n }],
    ['log-1.12', { position: 12n }],
    ['2026-03-02T09:58:16Z', { timeMs: Date.UTC(2026, 2, 2, 9, 58, 16) }],
    ['2026-03-02T10:58:16.250+01:00', { timeMs: Date.UTC(2026, 2, 2, 9, 58, 16, 250) }],
  ])('is a position or a time: %s', (text, expected) => {
    expect(momentOf(text, 'as_of', 'log-1')).toEqual(expected);
  });

  it('is now when it is empty', () => {
    expect(momentOf('', 'as_of', 'log-1')).toBeUndefined();
  });

  it.each([
    'yesterday',
    '-1',
    '2026-03-02',
    '2026-13-02T00:00:00Z',
    '2026-02-30T00:00:00Z',
    '2026-01-31T24:00:00Z',
    '99999999999999999999',
    'log-2.12',
  ])('is refused when it is neither, or of another log: %s', (text) => {
    expect(() => momentOf(text, 'as_of', 'log-1')).toThrow(`invalid value for as_of: '${text}' is `);
  });

  it('is refused as no time, and not as a position of another log, when it is a time without zone', () => {
    // A position with its log is `LOG.POSITION`, so that this fraction of a second might be taken for a position.
    expect(() => momentOf('2026-03-02T09:58:16.250', 'as_of', 'log-1')).toThrow('is neither a position nor a time');
  });
});
