import { describe, expect, it } from 'vitest';

import { metadataOf, metadataOfAny, ownTimeOf, schemaOf } from '../../../services/kernel/event.js';
import { CorruptEvent } from '../../../services/kernel/fault.js';

/** The metadata that a control plane records. */
const OWN = { recordedAtMs: 7, actor: 'a', commandId: '', schema: 1 };

describe('the metadata of an event of a control plane', () => {
  it('are read as they were recorded', () => {
    const own = { ...OWN, $correlationId: 'c', idempotency: { operation: 'a', target: 'b', content: 'c' } };
    expect(metadataOf({ metadata: JSON.stringify(own) })).toEqual(own);
  });

  it.each([
    ...['null', '[]', '"text"', '5', 'no JSON', '', '{}'],
    ...[{ schema: 'one' }, { schema: null }, { actor: 5 }, { commandId: null }].map((wrong) =>
      JSON.stringify({ ...OWN, ...wrong }),
    ),
    ...['-5', '1.5', '1e300', '"7"', 'null'].map((ms) => `{"recordedAtMs":${ms},"actor":"","commandId":"","schema":1}`),
  ])('are corrupt where they are %s', (metadata) => {
    expect(() => metadataOf({ metadata })).toThrow(CorruptEvent);
  });

  it('are corrupt where they have no schema', () => {
    for (const metadata of ['null', '{}', 'no JSON']) expect(() => schemaOf({ metadata })).toThrow(CorruptEvent);
    expect(schemaOf({ metadata: JSON.stringify(OWN) })).toBe(1);
  });
});

describe('the metadata of any event', () => {
  it.each(['"text"', '["a","b"]', '5', 'null', 'no JSON', ''])('are an empty object where they are %s', (metadata) => {
    expect(metadataOfAny({ metadata })).toEqual({});
  });

  it('are the fields of an object whose values have the right types', () => {
    const metadata = JSON.stringify({ ...OWN, schema: 'one', idempotency: { operation: 'a' } });
    expect(metadataOfAny({ metadata })).toEqual({ recordedAtMs: 7, actor: 'a', commandId: '' });
  });
});

describe('the own time of an event', () => {
  it('is known for one of a control plane, and not for one of another writer', () => {
    expect(ownTimeOf({ metadata: JSON.stringify(OWN) })).toBe(7);
    expect(ownTimeOf({ metadata: '{"recordedAtMs":7}' })).toBeUndefined();
    expect(ownTimeOf({ metadata: '' })).toBeUndefined();
  });
});
