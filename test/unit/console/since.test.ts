import { afterEach, describe, expect, it, vi } from 'vitest';

import { sinceMs } from '../../../console/audit/since.js';

afterEach(() => vi.unstubAllEnvs());

const NOW = Date.parse('2026-03-02T12:00:00Z');

describe('the moment from which the audit trail is searched, at 12:00 on 2 March 2026', () => {
  it.each([
    ['24h', '2026-03-01T12:00:00Z'],
    ['90m', '2026-03-02T10:30:00Z'],
    [' 7 d ', '2026-02-23T12:00:00Z'],
    ['2026-03-01T00:00:00Z', '2026-03-01T00:00:00Z'],
    [' 2026-03-01 ', '2026-03-01T00:00:00Z'],
  ])('of “%s” is %s', (text, moment) => {
    expect(sinceMs(text, NOW)).toBe(Date.parse(moment));
  });

  it('is a date in UTC also when spaces are around it and the computer is in another zone', () => {
    vi.stubEnv('TZ', 'Asia/Tokyo');
    expect(new Date(NOW).getHours()).toBe(21);
    expect(sinceMs(' 2026-03-01 ', NOW)).toBe(Date.UTC(2026, 2, 1));
  });

  it.each(['', '0h', 'yesterday', '5 weeks', 'last 7', '1'])('is undefined for “%s”', (text) => {
    expect(sinceMs(text, NOW)).toBeUndefined();
  });
});
