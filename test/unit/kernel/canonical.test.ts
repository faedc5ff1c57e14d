import { create, fromJson, type JsonValue, toBinary, toJson } from '@bufbuild/protobuf';
import { WireType } from '@bufbuild/protobuf/wire';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { type LaunchPlanSpec, LaunchPlanSpecSchema } from '../../../proto/gen/platformidl/admin/launch_plan_pb.js';
import { type Literal, LiteralSchema } from '../../../proto/gen/platformidl/core/literals_pb.js';
import { canonicalBytes } from '../../../services/kernel/encoding/canonical.js';

const SAME = 0;

/** Sorts the members of an object by name, recursively, as far as objects keep an order. */
const inOrder = (value: JsonValue): JsonValue => {
  if (Array.isArray(value)) return value.map(inOrder);
  if (typeof value !== 'object' || value === null) return value;
  const names = Object.keys(value).sort((a, b) => (a === b ? SAME : a < b ? -1 : 1));
  return Object.fromEntries(names.map((name) => [name, inOrder(value[name]!)]));
};

/** The canonical form, computed in a simple and slow way. */
const slowly = (message: LaunchPlanSpec): Buffer => {
  const json = inOrder(toJson(LaunchPlanSpecSchema, message));
  return Buffer.from(toBinary(LaunchPlanSpecSchema, fromJson(LaunchPlanSpecSchema, json)));
};

/** Map keys, among them numbers, which objects put first, and characters whose UTF-8 and UTF-16 sort differently. */
const key = fc.oneof(
  fc.constantFrom('0', '7', '10', '9', '01', '4294967294', '4294967295', '-1', '1e3', 'é', 'z', 'Z', '🦊', '\uffff'),
  fc.string({ maxLength: 3, unit: 'grapheme' }).filter((name) => name !== '__proto__'),
);
const entriesOf = <Value>(value: fc.Arbitrary<Value>): fc.Arbitrary<Record<string, Value>> =>
  fc
    .uniqueArray(fc.tuple(key, value), { maxLength: 6, selector: ([name]) => name })
    .map((entries) => Object.fromEntries(entries));

const structs = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.string({ maxLength: 3 }),
    fc.array(tie('value'), { maxLength: 3 }),
    entriesOf(tie('value')),
  ),
}));
const { literal } = fc.letrec<{ literal: Literal }>((tie) => ({
  literal: fc.oneof(
    { maxDepth: 4 },
    entriesOf(structs.value).map((value) =>
      create(LiteralSchema, { value: { case: 'scalar', value: { value: { case: 'generic', value } } } }),
    ),
    entriesOf(tie('literal')).map((literals) => create(LiteralSchema, { value: { case: 'map', value: { literals } } })),
    fc
      .array(tie('literal'), { maxLength: 3 })
      .map((literals) => create(LiteralSchema, { value: { case: 'collection', value: { literals } } })),
  ),
}));

describe('the canonical form of a message', () => {
  it('has the entries of every map in order, as a simple computation has them', () => {
    fc.assert(
      fc.property(entriesOf(literal), entriesOf(fc.string({ maxLength: 3 })), (literals, labels) => {
        const spec = create(LaunchPlanSpecSchema, { fixedInputs: { literals }, labels: { values: labels }, role: 'x' });
        expect(slowly(spec).compare(canonicalBytes(LaunchPlanSpecSchema, spec))).toBe(SAME);
      }),
      { numRuns: 100 },
    );
  });

  it('keeps unknown fields as they are, and does not change the message', () => {
    const spec = create(LaunchPlanSpecSchema, { labels: { values: { b: '1', a: '2' } } });
    spec.$unknown = [{ no: 900, wireType: WireType.LengthDelimited, data: Uint8Array.of(1, 2) }];
    const before = toBinary(LaunchPlanSpecSchema, spec);
    const canonical = canonicalBytes(LaunchPlanSpecSchema, spec);
    expect(toBinary(LaunchPlanSpecSchema, spec)).toEqual(before);
    expect(canonical).toHaveLength(before.length);
    expect(canonical.subarray(-4)).toEqual(before.subarray(-4));
    expect(canonical).not.toEqual(before);
  });
});
