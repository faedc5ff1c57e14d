import { type JsonValue } from '@bufbuild/protobuf';
import { type LiteralType, SimpleType } from '../../../proto/gen/platformidl/core/types_pb.js';
import { type RandomSource, drawInteger } from './random.js';
import { type PlainValue } from './msgpack.js';

type Schema = Readonly<Record<string, JsonValue>>;

const WORDS = ['amber', 'basalt', 'cedar', 'delta', 'ember', 'fjord', 'garnet', 'harbour', 'iris', 'juniper'];

/** Depth limit of a value by a JSON schema, which may refer to itself. */
const DEEPEST = 8;

export const randomWord = (draw: RandomSource): string =>
  `${WORDS[drawInteger(draw, WORDS.length)] ?? ''}-${drawInteger(draw, 1000)}`;

/**
 * A number with two decimals, from 0 to below 256: short to read, and wide enough to fall on both sides of a condition.
 */
export const drawFloat = (draw: RandomSource): number => drawInteger(draw, 25_600) / 100;

/** An integer from 0 to 99. */
export const drawCount = (draw: RandomSource): bigint => BigInt(drawInteger(draw, 100));

const isSchema = (value: JsonValue | undefined): value is Schema =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

const resolveSchema = (schema: Schema, root: Schema): Schema => {
  const reference = schema['$ref'];
  if (typeof reference !== 'string') return schema;
  let current: JsonValue | undefined = root;
  for (const step of reference.replace(/^#\//, '').split('/')) current = isSchema(current) ? current[step] : undefined;
  return isSchema(current) ? current : {};
};

const ofProperties = (draw: RandomSource, schema: Schema, root: Schema, depth: number): PlainValue => {
  const properties = isSchema(schema['properties']) ? schema['properties'] : {};
  return Object.fromEntries(
    Object.entries(properties).map(([name, each]) => [
      name,
      isSchema(each) ? ofSchema(draw, each, root, depth + 1) : null,
    ]),
  );
};

const ofItems = (draw: RandomSource, schema: Schema, root: Schema, depth: number): PlainValue =>
  isSchema(schema['items']) ? [ofSchema(draw, schema['items'], root, depth + 1)] : [];

type OfSchema = (draw: RandomSource, schema: Schema, root: Schema, depth: number) => PlainValue;

const OF_TYPE: Readonly<Record<string, OfSchema>> = {
  integer: drawCount,
  number: (draw) => ({ $float: drawFloat(draw) }),
  boolean: (draw) => draw() < 0.5,
  null: () => null,
  array: ofItems,
  object: ofProperties,
};

/** A value by a JSON schema: the first variant or enum text, all properties, one item. */
const ofSchema: OfSchema = (draw, unresolved, root, depth) => {
  const schema = resolveSchema(unresolved, root);
  const [variant] = Array.isArray(schema['anyOf']) ? schema['anyOf'] : [];
  const [value] = Array.isArray(schema['enum']) ? schema['enum'] : [];
  if (depth > DEEPEST) return null;
  if (isSchema(variant)) return ofSchema(draw, variant, root, depth + 1);
  if (typeof value === 'string') return value;
  return (OF_TYPE[typeof schema['type'] === 'string' ? schema['type'] : ''] ?? randomWord)(draw, schema, root, depth);
};

const PLAIN_SIMPLE: Readonly<Partial<Record<SimpleType, (draw: RandomSource) => PlainValue>>> = {
  [SimpleType.INTEGER]: drawCount,
  [SimpleType.FLOAT]: (draw) => ({ $float: drawFloat(draw) }),
  [SimpleType.BOOLEAN]: (draw) => draw() < 0.5,
  [SimpleType.STRING]: randomWord,
  [SimpleType.DATETIME]: () => '2024-01-01T00:00:00Z',
  [SimpleType.DURATION]: () => 'PT1H',
};

/** A value of a data class, by the types of its fields or otherwise by its JSON schema. */
export const plainStruct = (draw: RandomSource, type: LiteralType): PlainValue => {
  const fields = Object.entries(type.structure?.dataclassType ?? {});
  if (fields.length > 0) return Object.fromEntries(fields.map(([name, each]) => [name, plainOf(draw, each)]));
  const schema = resolveSchema(type.metadata ?? {}, type.metadata ?? {});
  return ofProperties(draw, schema, type.metadata ?? {}, 0);
};

const firstOf = (draw: RandomSource, [first]: readonly LiteralType[]): PlainValue =>
  first ? plainOf(draw, first) : null;

/** A value of a type, in the form that it has inside a data class. */
const plainOf = (draw: RandomSource, type: LiteralType): PlainValue => {
  const kind = type.type;
  switch (kind.case) {
    case 'simple':
      return kind.value === SimpleType.STRUCT ? plainStruct(draw, type) : (PLAIN_SIMPLE[kind.value]?.(draw) ?? null);
    case 'collectionType':
      return [plainOf(draw, kind.value)];
    case 'mapValueType':
      return { [randomWord(draw)]: plainOf(draw, kind.value) };
    case 'enumType':
      return kind.value.values[0] ?? '';
    case 'unionType':
      return firstOf(draw, kind.value.variants);
    default:
      return null;
  }
};
