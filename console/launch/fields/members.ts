import { create, type JsonObject, type JsonValue } from '@bufbuild/protobuf';

import { jsonOf } from '../../../interface/values/json-of.js';
import type { Literal } from '../../../proto/gen/platformidl/core/literals_pb.js';
import { type LiteralType, LiteralTypeSchema, SimpleType } from '../../../proto/gen/platformidl/core/types_pb.js';
import { entryOfJson } from './entry.js';
import { ownValue } from './own.js';

/** The members of a struct with their types, and the names of those that must be given. */
export type Members = { readonly types: Readonly<Record<string, LiteralType>>; readonly required: readonly string[] };

type Schema = JsonObject;

const isObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const typeOf = (type: LiteralType['type']): LiteralType => create(LiteralTypeSchema, { type });

const simple = (value: SimpleType): LiteralType => typeOf({ case: 'simple', value });

/**
 * The schema that the reference of a schema, such as `#/definitions/Point`, names in the whole schema; the schema
 * itself without a reference, `{}` where the reference leads nowhere.
 */
const resolved = (schema: Schema, root: Schema): Schema => {
  const { $ref: reference } = schema;
  if (typeof reference !== 'string') return schema;
  const found = reference
    .split('/')
    .slice(1)
    .reduce<JsonValue | undefined>((inner, name) => (isObject(inner) ? inner[name] : undefined), root);
  return isObject(found) ? found : {};
};

/** A struct whose members a part of a schema describes. */
const structOf = (schema: Schema, root: Schema): LiteralType => {
  const { $defs = {}, definitions = {} } = root;
  return create(LiteralTypeSchema, {
    type: { case: 'simple', value: SimpleType.STRUCT },
    metadata: { ...schema, $defs, definitions },
  });
};

const SIMPLE_TYPES: Readonly<Record<string, SimpleType>> = {
  integer: SimpleType.INTEGER,
  number: SimpleType.FLOAT,
  string: SimpleType.STRING,
  boolean: SimpleType.BOOLEAN,
  null: SimpleType.NONE,
};

const unionOf = (variants: readonly LiteralType[]): LiteralType =>
  create(LiteralTypeSchema, { type: { case: 'unionType', value: { variants: [...variants] } } });

/** The type of each value that JSON has; lists in lists are left out. */
const anyValue = (root: Schema): LiteralType => {
  const { STRING, INTEGER, FLOAT, BOOLEAN, NONE } = SimpleType;
  const elements = [...[STRING, INTEGER, FLOAT, BOOLEAN].map(simple), structOf({}, root)];
  const list = typeOf({ case: 'collectionType', value: unionOf(elements) });
  return unionOf([...elements, list, simple(NONE)]);
};

const ofObject = (schema: Schema, root: Schema): LiteralType => {
  const { additionalProperties: values } = schema;
  if (isObject(schema['properties'])) return structOf(schema, root);
  return isObject(values) ? typeOf({ case: 'mapValueType', value: ofSchema(values, root) }) : structOf({}, root);
};

/** The type for a JSON schema. Without a type, a value may be any. */
const ofSchema = (given: Schema, root: Schema): LiteralType => {
  const schema = resolved(given, root);
  const { type, enum: choices, items } = schema;
  const variants = [schema['anyOf'], schema['oneOf']].find(Array.isArray);
  if (variants) {
    return unionOf(variants.filter(isObject).map((each) => ofSchema(each, root)));
  }
  if (Array.isArray(choices) && choices.every((choice) => typeof choice === 'string'))
    return create(LiteralTypeSchema, { type: { case: 'enumType', value: { values: choices } } });
  if (type === 'array') return typeOf({ case: 'collectionType', value: ofSchema(isObject(items) ? items : {}, root) });
  if (Array.isArray(type) && type.length > 0) {
    // Marshmallow writes a member that may be null like this: `["integer", "null"]`.
    return unionOf(type.map((each) => ofSchema({ ...schema, type: each }, root)));
  }
  const known = typeof type === 'string' ? SIMPLE_TYPES[type] : undefined;
  if (known !== undefined) return simple(known);
  const isUntyped =
    type === undefined && ['properties', 'additionalProperties', 'allOf'].every((key) => schema[key] === undefined);
  return isUntyped ? anyValue(root) : ofObject(schema, root);
};

const ofMetadata = (metadata: Schema): Members | undefined => {
  // Marshmallow has the schema of the class among the definitions, and refers to it.
  const schema = resolved(metadata, metadata);
  const { properties, required } = schema;
  if (!isObject(properties) || Object.keys(properties).length === 0) return undefined;
  const types = Object.entries(properties).map(
    ([name, each]) => [name, ofSchema(isObject(each) ? each : {}, metadata)] as const,
  );
  return {
    types: Object.fromEntries(types),
    required: Array.isArray(required) ? required.filter((name) => typeof name === 'string') : [],
  };
};

/**
 * The members of a struct, from the types of a dataclass or from a JSON schema; `undefined` for other types, and where
 * neither is known.
 */
export const membersOf = (type: LiteralType): Members | undefined => {
  if (type.type.case !== 'simple' || type.type.value !== SimpleType.STRUCT) return undefined;
  const types = type.structure?.dataclassType ?? {};
  if (Object.keys(types).length > 0) return { types, required: [] };
  return type.metadata && ofMetadata(type.metadata);
};

/** The values of the members; `undefined` for a literal that is no object in JSON, or has members that do not fit. */
export const memberValues = (
  { types }: Members,
  literal: Literal | undefined,
): Readonly<Record<string, Literal>> | undefined => {
  if (!literal) return {};
  const json = jsonOf(literal);
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return undefined;
  const values: Record<string, Literal> = {};
  for (const [name, value] of Object.entries(json)) {
    const type = ownValue(types, name);
    const entry = type && entryOfJson(type, value);
    if (!entry?.literal) return undefined;
    values[name] = entry.literal;
  }
  return values;
};
