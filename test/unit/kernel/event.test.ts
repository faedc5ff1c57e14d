import { describe, expect, it } from 'vitest';

import { metadataOfAny, ownTimeOf } from '../../../services/kernel/event.js';

const OWN = { recordedAtMs: 7, actor: 'a', commandId: '', schema: 1 };

describe('the metadata of any event', () => {
  it.each(['"text"', '["a","b"]', '5', 'null', 'no JSON', ''])('are nothing where they are %s', (metadata) => {
    expect(metadataOfAny({ metadata })).toEqual({});
  });

  it('are the texts and numbers of an object', () => {
    const metadata = JSON.stringify({ ...OWN, schema: 'one', idempotency: { operation: 'a' } });
    expect(metadataOfAny({ metadata })).toEqual({ recordedAtMs: 7, actor: 'a', commandId: '' });
  });
});

describe('the own time of an event', () => {
  it('is that of a control plane, and of no other writer', () => {
    expect(ownTimeOf({ metadata: JSON.stringify(OWN) })).toBe(7);
    expect(ownTimeOf({ metadata: '{"recordedAtMs":7}' })).toBeUndefined();
    expect(ownTimeOf({ metadata: '' })).toBeUndefined();
  });
});
