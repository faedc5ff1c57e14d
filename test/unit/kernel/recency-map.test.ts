import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RecencyMap } from '../../../services/kernel/recency-map.js';

const step = fc.record({
  call: fc.constantFrom('set' as const, 'use' as const, 'get' as const, 'delete' as const, 'drop oldest' as const),
  key: fc.nat(8),
});

/** The same as `RecencyMap.use` with a `Map`, whose order is that of insertion. */
const used = <Key, Value>(map: Map<Key, Value>, key: Key): Value | undefined => {
  const value = map.get(key);
  if (map.delete(key)) map.set(key, value as Value);
  return value;
};

describe('a map in the order of use', () => {
  it('answers like a map whose entries are inserted again at each use', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const map = new RecencyMap<number, number>();
        const model = new Map<number, number>();
        for (const [value, { call, key }] of steps.entries()) {
          if (call === 'set') {
            map.set(key, value);
            model.delete(key);
            model.set(key, value);
          }
          if (call === 'use') expect(map.use(key)).toBe(used(model, key));
          if (call === 'get') expect(map.get(key)).toBe(model.get(key));
          if (call === 'delete') expect(map.delete(key)).toBe(model.delete(key));
          if (call === 'drop oldest') {
            const oldest = map.oldest();
            const [expected] = model;
            expect(oldest && [oldest.key, oldest.value]).toEqual(expected);
            if (oldest) map.delete(oldest.key);
            if (expected) model.delete(expected[0]);
          }
          expect(map.size).toBe(model.size);
          expect([...map.keys()]).toEqual([...model.keys()]);
        }
      }),
    );
  });
});
