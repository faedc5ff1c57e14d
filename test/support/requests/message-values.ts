import { create, type DescField, type DescMessage, type Message, ScalarType } from '@bufbuild/protobuf';
import fc from 'fast-check';

type Draw = fc.GeneratorValue;

/** The number of levels below which no more messages are generated. */
const MAX_DEPTH = 6;

const texts = fc.oneof(
  fc.constantFrom('', 'n0', 'flytesnacks', 'größe', '"\\/\b\n', '\u0000', '\u007f', '💥', '\ufeffa', '__proto__'),
  fc.string({ maxLength: 80 }),
  fc.string({ maxLength: 10, unit: 'grapheme' }),
);
const reals = fc.oneof(fc.constantFrom(0, -0, 1.5, Infinity, -Infinity, NaN), fc.double());
const small = fc.oneof(fc.constantFrom(0, 1, -1), fc.integer());
const positive = fc.oneof(fc.constantFrom(0, 1), fc.nat(), fc.constant(0xffff_ffff));
const long = fc.oneof(fc.constantFrom(0n, 1n, -1n), fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }));
const positiveLong = fc.oneof(fc.constantFrom(0n, 1n), fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }));

const SCALARS: Readonly<Record<ScalarType, fc.Arbitrary<unknown>>> = {
  [ScalarType.STRING]: texts,
  [ScalarType.BYTES]: fc.uint8Array({ maxLength: 20 }),
  [ScalarType.BOOL]: fc.boolean(),
  [ScalarType.DOUBLE]: reals,
  [ScalarType.FLOAT]: reals.map(Math.fround),
  [ScalarType.INT32]: small,
  [ScalarType.SINT32]: small,
  [ScalarType.SFIXED32]: small,
  [ScalarType.UINT32]: positive,
  [ScalarType.FIXED32]: positive,
  [ScalarType.INT64]: long,
  [ScalarType.SINT64]: long,
  [ScalarType.SFIXED64]: long,
  [ScalarType.UINT64]: positiveLong,
  [ScalarType.FIXED64]: positiveLong,
};

const nanos = fc.constantFrom(0, 1, 1_000, 120_000_000, 999_999_999);
/** Seconds of a timestamp: those of the years 1 to 9999, among them both ends and those around 32 bits. */
const seconds = fc.oneof(
  fc.constantFrom(0n, 1_767_225_600n, 2n ** 32n - 1n, 2n ** 32n, -62_135_596_800n, 253_402_300_799n),
  fc.bigInt({ min: -62_135_596_800n, max: 253_402_300_799n }),
);

/** Values of messages that have JSON only within limits, as `create` takes them. */
const LIMITED: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  'google.protobuf.Timestamp': fc.record({ seconds, nanos }),
  'google.protobuf.Duration': fc.record({ seconds: fc.bigInt({ min: 0n, max: 315_576_000_000n }), nanos }),
  'google.protobuf.Struct': fc
    .dictionary(fc.string({ maxLength: 5 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 })
    .map((json) => JSON.parse(JSON.stringify(json)) as unknown),
};

/** The value of a message field; of types that `LIMITED` names, within their limits. */
const messageIn = (draw: Draw, schema: DescMessage, depth: number): unknown => {
  const limited = LIMITED[schema.typeName];
  if (!limited) return messageOf(draw, schema, depth);
  const value = draw(() => limited);
  return schema.typeName === 'google.protobuf.Struct' ? value : create(schema, value as Partial<Message>);
};

/** One value of a field, or of an element of it. */
const single = (draw: Draw, field: DescField, depth: number): unknown => {
  if (field.message) return messageIn(draw, field.message, depth + 1);
  if (!field.enum) return draw(() => SCALARS[field.scalar]);
  const numbers = field.enum.values.map(({ number }) => number);
  return draw(() => fc.constantFrom(...numbers, 9_999)); // no enum has 9,999
};

/** Up to two elements of a list or map. */
const several = (draw: Draw, field: DescField, depth: number): unknown[] =>
  Array.from({ length: draw(() => fc.nat(2)) }, () => single(draw, field, depth));

const valueOf = (draw: Draw, field: DescField, depth: number): unknown => {
  if (field.fieldKind === 'list') return several(draw, field, depth);
  if (field.fieldKind !== 'map') return single(draw, field, depth);
  const key = SCALARS[field.mapKey];
  return Object.fromEntries(several(draw, field, depth).map((value) => [String(draw(() => key)), value]));
};

/** True when a field is to be set, which is less likely at greater depths. */
const isDrawn = (draw: Draw, field: DescField, depth: number): boolean =>
  (depth < MAX_DEPTH || !field.message) && draw(() => fc.nat(depth + 1)) <= 1;

/**
 * Generates a message as if it were `depth` levels deep in another one: at depth 0 each field is set, and of each oneof
 * the last; at greater depths only some are.
 */
export const messageOf = (draw: Draw, schema: DescMessage, depth = 0): Message => {
  const init: Record<string, unknown> = {};
  for (const field of schema.fields) {
    if (!isDrawn(draw, field, depth)) continue;
    const value = valueOf(draw, field, depth);
    if (field.oneof) init[field.oneof.localName] = { case: field.localName, value };
    else init[field.localName] = value;
  }
  return create(schema, init as Partial<Message>);
};
