import { type DescEnum, type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';

import { comments } from '../../../proto/gen/comments.js';
import { OWN_PACKAGE } from '../rpc-status.js';

/** A JSON Schema or another object of an OpenAPI 3.1 document: https://json-schema.org/draft/2020-12 */
export type OpenApiSchema = Readonly<Record<string, unknown>>;

const WHOLE = { type: ['string', 'integer'], pattern: '^-?[0-9]+$' };
const NUMBER = { type: ['number', 'string'] };
const INT32 = { type: 'integer', format: 'int32', minimum: -(2 ** 31), maximum: 2 ** 31 - 1 };
const UINT32 = { type: 'integer', minimum: 0, maximum: 2 ** 32 - 1 };

const SCALARS: Readonly<Record<ScalarType, OpenApiSchema>> = {
  [ScalarType.DOUBLE]: { ...NUMBER, format: 'double' },
  [ScalarType.FLOAT]: { ...NUMBER, format: 'float' },
  [ScalarType.INT64]: { ...WHOLE, format: 'int64' },
  [ScalarType.SINT64]: { ...WHOLE, format: 'int64' },
  [ScalarType.SFIXED64]: { ...WHOLE, format: 'int64' },
  [ScalarType.UINT64]: { ...WHOLE, format: 'uint64' },
  [ScalarType.FIXED64]: { ...WHOLE, format: 'uint64' },
  [ScalarType.INT32]: INT32,
  [ScalarType.SINT32]: INT32,
  [ScalarType.SFIXED32]: INT32,
  [ScalarType.UINT32]: UINT32,
  [ScalarType.FIXED32]: UINT32,
  [ScalarType.BOOL]: { type: 'boolean' },
  [ScalarType.STRING]: { type: 'string' },
  [ScalarType.BYTES]: { type: 'string', contentEncoding: 'base64' },
};

/** The types whose JSON form does not list their fields: https://protobuf.dev/programming-guides/json/ */
const WELL_KNOWN: Readonly<Record<string, OpenApiSchema>> = {
  Timestamp: { type: 'string', format: 'date-time' },
  Duration: { type: 'string', pattern: '^-?[0-9]+(\\.[0-9]{1,9})?s$', examples: ['1.5s'] },
  FieldMask: { type: 'string' },
  Struct: { type: 'object' },
  Value: {},
  ListValue: { type: 'array' },
  Empty: { type: 'object' },
  Any: { type: 'object', properties: { '@type': { type: 'string' } } },
};

const wellKnown = ({ typeName, fields }: DescMessage): OpenApiSchema | undefined => {
  const name = /^google\.protobuf\.(\w+)$/.exec(typeName)?.[1];
  if (name === undefined) return undefined;
  const known = WELL_KNOWN[name];
  if (known) return known;
  const wrapped = name.endsWith('Value') ? fields[0]?.scalar : undefined;
  return wrapped === undefined ? { type: 'object' } : SCALARS[wrapped];
};

const schemaName = (typeName: string): string =>
  typeName.startsWith(`${OWN_PACKAGE}.`) ? typeName.slice(OWN_PACKAGE.length + 1) : typeName;

const described = (schema: OpenApiSchema, ...texts: readonly (string | undefined)[]): OpenApiSchema => {
  const description = texts.filter((text) => text !== undefined && text !== '').join('\n\n');
  return description === '' ? schema : { ...schema, description };
};

const reference = (name: string): OpenApiSchema => ({ $ref: `#/components/schemas/${name}` });

const enumSchema = (type: DescEnum): OpenApiSchema => {
  const values = type.values.map(({ name, number }) => {
    const comment = comments[`${type.typeName}.${name}`];
    return `- \`${name}\` (${number})${comment === undefined ? '' : `: ${comment}`}`;
  });
  return described(
    { type: 'string', enum: type.values.map(({ name }) => name) },
    comments[type.typeName],
    values.join('\n'),
  );
};

/** Collects the schemas of the messages and enums that are asked for. */
export interface Schemas {
  /**
   * Returns a reference to the schema of a message, and collects it and the schemas that it uses; for a type of
   * `google.protobuf`, returns the schema itself.
   */
  ofMessage(message: DescMessage): OpenApiSchema;
  /** Returns the schema of one value of a field, without the description of the field. */
  ofValue(field: DescField): OpenApiSchema;
  /** Returns the collected schemas, by name, sorted. */
  readonly all: () => Readonly<Record<string, OpenApiSchema>>;
}

const oneofText = (field: DescField): string | undefined => {
  const others = field.oneof?.fields.filter((other) => other !== field) ?? [];
  return others.length === 0
    ? undefined
    : `At most one of this and ${others.map(({ name }) => `\`${name}\``).join(', ')}.`;
};

/** Starts an empty collection. Fields have their snake_case names; requests may use lowerCamelCase as well. */
export const gatherSchemas = (): Schemas => {
  const gathered = new Map<string, OpenApiSchema>();

  const named = (typeName: string, schema: () => OpenApiSchema): OpenApiSchema => {
    const name = schemaName(typeName);
    if (!gathered.has(name)) {
      gathered.set(name, {}); // set before its fields, because types may contain themselves
      gathered.set(name, schema());
    }
    return reference(name);
  };

  const messageSchema = (message: DescMessage): OpenApiSchema => {
    const properties = message.fields.map((field) => [field.name, fieldSchema(field)] as const);
    return described({ type: 'object', properties: Object.fromEntries(properties) }, comments[message.typeName]);
  };
  const ofMessage = (message: DescMessage): OpenApiSchema =>
    wellKnown(message) ?? named(message.typeName, () => messageSchema(message));

  const ofValue = (field: DescField): OpenApiSchema => {
    if (field.message) return ofMessage(field.message);
    const { enum: type } = field;
    if (type) return named(type.typeName, () => enumSchema(type));
    return SCALARS[field.scalar];
  };

  const shapeOf = (field: DescField): OpenApiSchema => {
    const value = ofValue(field);
    if (field.fieldKind === 'list') return { type: 'array', items: value };
    if (field.fieldKind === 'map') return { type: 'object', additionalProperties: value };
    return field.message ? { anyOf: [value, { type: 'null' }] } : value;
  };
  const fieldSchema = (field: DescField): OpenApiSchema =>
    described(shapeOf(field), comments[`${field.parent.typeName}.${field.name}`], oneofText(field));

  return {
    ofMessage,
    ofValue,
    all: () => Object.fromEntries([...gathered].sort(([a], [b]) => (a < b ? -1 : 1))),
  };
};
