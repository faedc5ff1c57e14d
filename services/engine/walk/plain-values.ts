import { type JsonValue } from '@bufbuild/protobuf';
import { type LiteralType, SimpleType } from '../../../proto/gen/platformidl/core/types_pb.js';
import { type Draw, drawInteger } from './draw.js';
import { type Plain } from './msgpack.js';

type Schema = { readonly [key: string]: JsonValue };

const WORDS = ['amber', 'basalt', 'cedar', 'delta', 'ember', 'fjord', 'garnet', 'harbour', 'iris', 'juniper'];

/** Fields of data classes nest this deep at most; a schema may refer to itself. */
const DEEPEST = 8;

export const drawWord = (draw: Draw): string =>
  `${WORDS[drawInteger(draw, WORDS.length)] ?? ''}-${drawInteger(draw, 1000)}`;

/** Two decimals, below 256: small enough to be read, wide enough to fall on both sides of a condition. */
export const drawFloat = (draw: Draw): number => drawInteger(draw, 25_600) / 100;

export const drawCount = (draw: Draw): bigint => BigInt(drawInteger(draw, 100));

const isSchema = (value: JsonValue | undefined): value is Schema =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

const resolveSchema = (schema: Schema, root: Schema): Schema => {
  const reference = schema['$ref'];
  if (typeof reference !== 'string') return schema;
  let here: JsonValue | undefined = root;
  for (const step of reference.replace(/^#\//, '').split('/')) here = isSchema(here) ? here[step] : undefined;
  return isSchema(here) ? here : {};
};

const ofProperties = (draw: Draw, schema: Schema, root: Schema, depth: number): Plain => {
  const properties = isSchema(schema['properties']) ? schema['properties'] : {};
  return Object.fromEntries(
    Object.entries(properties).map(([name, each]) => [
      name,
      isSchema(each) ? ofSchema(draw, each, root, depth + 1) : null,
    ]),
  );
};

const ofItems = (draw: Draw, schema: Schema, root: Schema, depth: number): Plain =>
  isSchema(schema['items']) ? [ofSchema(draw, schema['items'], root, depth + 1)] : [];

/** A value that a JSON schema allows: the first variant, all properties, one item. */
const ofSchema = (draw: Draw, unresolved: Schema, root: Schema, depth: number): Plain => {
  const schema = resolveSchema(unresolved, root);
  const variants = schema['anyOf'];
  if (depth > DEEPEST) return null;
  if (Array.isArray(variants) && isSchema(variants[0])) return ofSchema(draw, variants[0], root, depth + 1);
  if (Array.isArray(schema['enum'])) return String(schema['enum'][0]);
  switch (schema['type']) {
    case 'integer':
      return drawCount(draw);
    case 'number':
      return { $float: drawFloat(draw) };
    case 'boolean':
      return draw() < 0.5;
    case 'array':
      return ofItems(draw, schema, root, depth);
    case 'object':
      return ofProperties(draw, schema, root, depth);
    default:
      return schema['type'] === 'null' ? null : drawWord(draw);
  }
};

const PLAIN_SIMPLE: Readonly<Partial<Record<SimpleType, (draw: Draw) => Plain>>> = {
  [SimpleType.INTEGER]: drawCount,
  [SimpleType.FLOAT]: (draw) => ({ $float: drawFloat(draw) }),
  [SimpleType.BOOLEAN]: (draw) => draw() < 0.5,
  [SimpleType.STRING]: drawWord,
  [SimpleType.DATETIME]: () => '2024-01-01T00:00:00Z',
  [SimpleType.DURATION]: () => 'PT1H',
};

/** The value of a data class, from the types of its fields or else from its JSON schema. */
export const plainStruct = (draw: Draw, type: LiteralType): Plain => {
  const fields = Object.entries(type.structure?.dataclassType ?? {});
  if (fields.length > 0) return Object.fromEntries(fields.map(([name, each]) => [name, plainOf(draw, each)]));
  const schema = resolveSchema(type.metadata ?? {}, type.metadata ?? {});
  return ofProperties(draw, schema, type.metadata ?? {}, 0);
};

/** A value as it lies inside a data class. */
export const plainOf = (draw: Draw, type: LiteralType): Plain => {
  switch (type.type.case) {
    case 'simple':
      return type.type.value === SimpleType.STRUCT
        ? plainStruct(draw, type)
        : (PLAIN_SIMPLE[type.type.value]?.(draw) ?? null);
    case 'collectionType':
      return [plainOf(draw, type.type.value)];
    case 'mapValueType':
      return { [drawWord(draw)]: plainOf(draw, type.type.value) };
    case 'enumType':
      return type.type.value.values[0] ?? '';
    case 'unionType': {
      const [first] = type.type.value.variants;
      return first ? plainOf(draw, first) : null;
    }
    default:
      return null;
  }
};
