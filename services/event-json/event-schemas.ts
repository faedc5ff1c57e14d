import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { ContentSchema } from '../../proto/gen/platformidl/eventlog/content_pb.js';
import { ENGINE_REPORTED, REPORT_TYPES } from '../execution/events.js';
import { EVENT_PACKAGE, jsonSchemaOf } from '../reactors/export-to-kafka/cloud-events/cloud-event.js';
import type { EventType } from './event-types.js';
import { COMPILED, CONTENTS, REPORTED } from './readable.js';
import { EXECUTION_CATEGORY } from '../kernel/execution-id.js';

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

/** Messages that have a special form in the JSON mapping of protobuf. */
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

/** The description of a message or a field, by its full name. */
export type Descriptions = ReadonlyMap<string, string>;

/** The messages that a schema refers to, each once, and the descriptions to use. */
type Definitions = Map<string, Schema> & { readonly descriptions: Descriptions };

const described = (name: string, { descriptions }: Definitions): Schema => {
  const description = descriptions.get(name);
  return description === undefined ? {} : { description };
};

const refTo = (message: DescMessage, definitions: Definitions): Schema => {
  const known = WELL_KNOWN[message.typeName];
  if (known) return known;
  if (!definitions.has(message.typeName)) {
    definitions.set(message.typeName, {}); // set first, because messages can refer to each other in cycles
    definitions.set(message.typeName, objectOf(message, definitions));
  }
  return { $ref: `#/$defs/${message.typeName}` };
};

type Kind = Pick<DescField, 'scalar' | 'enum' | 'message'>;

const valueOf = ({ scalar, enum: named, message }: Kind, definitions: Definitions): Schema => {
  if (message) return refTo(message, definitions);
  // An enum value that a newer release has added is written as its number.
  if (named) return { anyOf: [{ enum: named.values.map(({ name }) => name) }, WHOLE] };
  return (scalar === undefined ? undefined : SCALARS[scalar]) ?? WHOLE;
};

const fieldOf = (field: DescField, definitions: Definitions): Schema => {
  if (field.fieldKind === 'list') return { type: 'array', items: valueOf(field, definitions) };
  if (field.fieldKind === 'map') return { type: 'object', additionalProperties: valueOf(field, definitions) };
  return valueOf(field, definitions);
};

const describedField = (field: DescField, schema: Schema, definitions: Definitions): [string, Schema] => [
  field.jsonName,
  { ...described(`${field.parent.typeName}.${field.name}`, definitions), ...schema },
];

const objectOf = (message: DescMessage, definitions: Definitions): Schema => ({
  ...described(message.typeName, definitions),
  type: 'object',
  properties: Object.fromEntries(
    message.fields.map((field) => describedField(field, fieldOf(field, definitions), definitions)),
  ),
});

/** The message that the bytes of a content field hold; empty where it is not known. */
const openedOf = ({ name }: DescMessage, field: string): readonly DescMessage[] => {
  const message = field === 'message' ? REPORTED[name] : field === 'compiled' ? COMPILED[name] : CONTENTS[field];
  return message ? [message] : [];
};

const propertyOf = (event: DescMessage, field: DescField, definitions: Definitions): Schema => {
  if (field.message?.typeName !== ContentSchema.typeName) return fieldOf(field, definitions);
  const opened = openedOf(event, field.jsonName).map((message) => refTo(message, definitions));
  return { anyOf: [...opened, refTo(ContentSchema, definitions)] };
};

/** Fields that identify the execution; they come first in the events of an execution. */
const FLAT_FIELDS: Schema = {
  project: { type: 'string', description: 'The project of the execution.' },
  domain: { type: 'string', description: 'The domain of the execution.' },
  execution: {
    type: 'string',
    description: 'The name of the execution; absent where the name of the stream has only its hash.',
  },
};

/** The phase that an event brings its execution to, for events whose message has no phase field. */
const IMPLIED_PHASE: Readonly<Record<string, Schema>> = {
  ExecutionCreated: { phase: { const: 'QUEUED', description: 'The phase that the execution is in.' } },
  TerminationRequested: { phase: { const: 'ABORTING', description: 'The phase that the execution is in.' } },
};

const idOf = (name: string): string => jsonSchemaOf(name, 1);

const headOf = (message: DescMessage, definitions: Definitions): Schema => ({
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  $id: idOf(message.name),
  title: `${EVENT_PACKAGE}.${message.name}`,
  ...described(message.typeName, definitions),
});

/** The schema of the older report event: its events are written with the fields of the types that replaced it. */
const olderReports = (message: DescMessage, definitions: Definitions): Schema => ({
  ...headOf(message, definitions),
  anyOf: Object.values(REPORT_TYPES).map((name) => ({ $ref: idOf(name) })),
});

const schemaOf = ({ category, message }: EventType, descriptions: Descriptions): Schema => {
  const definitions: Definitions = Object.assign(new Map<string, Schema>(), { descriptions });
  if (message.name === ENGINE_REPORTED) return olderReports(message, definitions);
  const properties = message.fields.map((field) =>
    describedField(field, propertyOf(message, field, definitions), definitions),
  );
  return {
    ...headOf(message, definitions),
    type: 'object',
    properties: {
      ...(category === EXECUTION_CATEGORY && { ...FLAT_FIELDS, ...IMPLIED_PHASE[message.name] }),
      ...Object.fromEntries(properties),
    },
    $defs: Object.fromEntries([...definitions].sort(([one], [other]) => (one < other ? -1 : 1))),
  };
};

/** The JSON schema of the data of each event type, by its file name. No field is required. */
export const eventSchemas = (types: readonly EventType[], descriptions: Descriptions): ReadonlyMap<string, Schema> =>
  new Map(types.map((type) => [`${type.message.name}.v1.json`, schemaOf(type, descriptions)]));
