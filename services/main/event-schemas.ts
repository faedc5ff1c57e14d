import type { DescField, DescMessage } from '@bufbuild/protobuf';
import { ScalarType } from '@bufbuild/protobuf';
import { ContentSchema } from '../../proto/gen/platformidl/eventlog/content_pb.js';
import { EVENT_PACKAGE, jsonSchemaOf } from '../reactors/export-to-kafka/cloud-event.js';
import { type EventType, eventTypes } from './event-types.js';
import { COMPILED, CONTENTS, REPORTED, REPORTS } from './readable.js';

/** A JSON schema. */
export type Schema = Readonly<Record<string, unknown>>;

const LONG: Schema = { type: 'string', pattern: '^-?[0-9]+$' };
const WHOLE: Schema = { type: 'integer' };
const REAL: Schema = { anyOf: [{ type: 'number' }, { enum: ['NaN', 'Infinity', '-Infinity'] }] };
const BASE64: Schema = { type: 'string', contentEncoding: 'base64' };

const SCALARS: Readonly<Partial<Record<ScalarType, Schema>>> = {
  [ScalarType.BOOL]: { type: 'boolean' },
  [ScalarType.STRING]: { type: 'string' },
  [ScalarType.BYTES]: BASE64,
  [ScalarType.DOUBLE]: REAL,
  [ScalarType.FLOAT]: REAL,
  [ScalarType.INT64]: LONG,
  [ScalarType.UINT64]: LONG,
  [ScalarType.FIXED64]: LONG,
  [ScalarType.SFIXED64]: LONG,
  [ScalarType.SINT64]: LONG,
};

/** Messages that the JSON mapping writes in a form of their own. */
const WELL_KNOWN: Readonly<Record<string, Schema>> = {
  'google.protobuf.Timestamp': { type: 'string', format: 'date-time' },
  'google.protobuf.Duration': { type: 'string', pattern: '^-?[0-9]+(\\.[0-9]+)?s$' },
  'google.protobuf.Struct': { type: 'object' },
  'google.protobuf.Value': {},
  'google.protobuf.ListValue': { type: 'array' },
  'google.protobuf.Any': { type: 'object' },
  'google.protobuf.BoolValue': { type: 'boolean' },
  'google.protobuf.StringValue': { type: 'string' },
  'google.protobuf.BytesValue': BASE64,
  'google.protobuf.Int32Value': WHOLE,
  'google.protobuf.UInt32Value': WHOLE,
  'google.protobuf.Int64Value': LONG,
  'google.protobuf.UInt64Value': LONG,
  'google.protobuf.DoubleValue': REAL,
  'google.protobuf.FloatValue': REAL,
};

/** The messages that a schema refers to, each once. */
type Definitions = Map<string, Schema>;

const refTo = (message: DescMessage, definitions: Definitions): Schema => {
  const known = WELL_KNOWN[message.typeName];
  if (known) return known;
  if (!definitions.has(message.typeName)) {
    definitions.set(message.typeName, {}); // messages refer to each other in circles
    definitions.set(message.typeName, objectOf(message, definitions));
  }
  return { $ref: `#/$defs/${message.typeName}` };
};

type Kind = Pick<DescField, 'scalar' | 'enum' | 'message'>;

const valueOf = ({ scalar, enum: named, message }: Kind, definitions: Definitions): Schema => {
  if (message) return refTo(message, definitions);
  // A value that a newer release has added is written as its number.
  if (named) return { anyOf: [{ enum: named.values.map(({ name }) => name) }, WHOLE] };
  return (scalar === undefined ? undefined : SCALARS[scalar]) ?? WHOLE;
};

const fieldOf = (field: DescField, definitions: Definitions): Schema => {
  if (field.fieldKind === 'list') return { type: 'array', items: valueOf(field, definitions) };
  if (field.fieldKind === 'map') return { type: 'object', additionalProperties: valueOf(field, definitions) };
  return valueOf(field, definitions);
};

const objectOf = (message: DescMessage, definitions: Definitions): Schema => ({
  type: 'object',
  properties: Object.fromEntries(message.fields.map((field) => [field.jsonName, fieldOf(field, definitions)])),
});

/** What may stand where the log has bytes: the messages that they are, or, where those cannot be had, the bytes. */
const openedOf = ({ name }: DescMessage, field: string): readonly DescMessage[] => {
  if (field === 'message') return REPORTED[name] ? [REPORTED[name]] : Object.values(REPORTS);
  const message = field === 'compiled' ? COMPILED[name] : CONTENTS[field];
  return message ? [message] : [];
};

const propertyOf = (event: DescMessage, field: DescField, definitions: Definitions): Schema => {
  if (field.message?.typeName !== ContentSchema.typeName) return fieldOf(field, definitions);
  const opened = openedOf(event, field.jsonName).map((message) => refTo(message, definitions));
  return { anyOf: [...opened, refTo(ContentSchema, definitions)] };
};

const schemaOf = ({ message }: EventType): Schema => {
  const definitions: Definitions = new Map();
  const properties = message.fields.map((field) => [field.jsonName, propertyOf(message, field, definitions)] as const);
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $id: jsonSchemaOf(message.name, 1),
    title: `${EVENT_PACKAGE}.${message.name}`,
    type: 'object',
    properties: Object.fromEntries(properties),
    $defs: Object.fromEntries([...definitions].sort(([one], [other]) => (one < other ? -1 : 1))),
  };
};

/** The schema of the data of every type of event, by the name of its file. Fields that are absent are not required. */
export const eventSchemas = (): ReadonlyMap<string, Schema> =>
  new Map(eventTypes().map((type) => [`${type.message.name}.v1.json`, schemaOf(type)]));
