import {
  createRegistry,
  type DescField,
  type DescMessage,
  fromBinary,
  type Message,
  toBinary,
} from '@bufbuild/protobuf';
import { LaunchPlanSpecSchema } from '../../proto/gen/platformidl/admin/launch_plan_pb.js';
import { CompiledTaskSchema, CompiledWorkflowClosureSchema } from '../../proto/gen/platformidl/core/compiler_pb.js';
import { LiteralMapSchema, LiteralSchema } from '../../proto/gen/platformidl/core/literals_pb.js';
import { file_platformidl_eventlog_attributes } from '../../proto/gen/platformidl/eventlog/attributes_pb.js';
import { ContentSchema } from '../../proto/gen/platformidl/eventlog/content_pb.js';
import { file_platformidl_eventlog_dead_letter } from '../../proto/gen/platformidl/eventlog/dead_letter_pb.js';
import { file_platformidl_eventlog_parked_stream } from '../../proto/gen/platformidl/eventlog/parked_stream_pb.js';
import { file_platformidl_eventlog_engine_session } from '../../proto/gen/platformidl/eventlog/engine_session_pb.js';
import {
  file_platformidl_eventlog_execution,
  OpenEntitiesSchema,
} from '../../proto/gen/platformidl/eventlog/execution_pb.js';
import { file_platformidl_eventlog_launch_plan } from '../../proto/gen/platformidl/eventlog/launch_plan_pb.js';
import { file_platformidl_eventlog_schedule } from '../../proto/gen/platformidl/eventlog/schedule_pb.js';
import { file_platformidl_eventlog_launch_plan_slots } from '../../proto/gen/platformidl/eventlog/launch_plan_slots_pb.js';
import { file_platformidl_eventlog_log_format } from '../../proto/gen/platformidl/eventlog/log_format_pb.js';
import { file_platformidl_eventlog_named_entity } from '../../proto/gen/platformidl/eventlog/named_entity_pb.js';
import { file_platformidl_eventlog_notification } from '../../proto/gen/platformidl/eventlog/notification_pb.js';
import { file_platformidl_eventlog_project } from '../../proto/gen/platformidl/eventlog/project_pb.js';
import { file_platformidl_eventlog_role_binding } from '../../proto/gen/platformidl/eventlog/role_binding_pb.js';
import { file_platformidl_eventlog_task } from '../../proto/gen/platformidl/eventlog/task_pb.js';
import { file_platformidl_eventlog_workflow } from '../../proto/gen/platformidl/eventlog/workflow_pb.js';
import {
  NodeExecutionEventSchema,
  TaskExecutionEventSchema,
  WorkflowExecutionEventSchema,
} from '../../proto/gen/platformidl/event/event_pb.js';
import { reportedEntity, flatFields, REPORT_TYPES } from '../execution/events.js';
import { CorruptEvent, CorruptPayload, UnknownEvent } from '../kernel/fault.js';
import type { RecordedEvent } from '../kernel/event.js';
import { copyOf, type JsonBytes, openJson } from '../kernel/encoding/json-bytes.js';
import type { Content, PayloadRef, PayloadStore } from '../kernel/ports/payload-store.js';
import { type ContentSchemaOf, type WireJson, wireJson } from './wire-json.js';

/** The messages that events are stored as. */
export const eventRegistry = createRegistry(
  file_platformidl_eventlog_attributes,
  file_platformidl_eventlog_dead_letter,
  file_platformidl_eventlog_parked_stream,
  file_platformidl_eventlog_engine_session,
  file_platformidl_eventlog_execution,
  file_platformidl_eventlog_launch_plan,
  file_platformidl_eventlog_launch_plan_slots,
  file_platformidl_eventlog_schedule,
  file_platformidl_eventlog_log_format,
  file_platformidl_eventlog_named_entity,
  file_platformidl_eventlog_notification,
  file_platformidl_eventlog_project,
  file_platformidl_eventlog_role_binding,
  file_platformidl_eventlog_task,
  file_platformidl_eventlog_workflow,
);

/** The message of the engine that a report event carries, by the event's type. */
export const REPORTED: Readonly<Record<string, DescMessage>> = {
  WorkflowPhaseReported: WorkflowExecutionEventSchema,
  NodePhaseReported: NodeExecutionEventSchema,
  TaskPhaseReported: TaskExecutionEventSchema,
};

/** The message in a content field of an event, by the field's name in JSON. */
export const CONTENTS: Readonly<Record<string, DescMessage>> = {
  closed: OpenEntitiesSchema,
  inputs: LiteralMapSchema,
  userInputs: LiteralMapSchema,
  spec: LaunchPlanSpecSchema,
  value: LiteralSchema,
};

/** The message in the field `compiled`, by the event's type. */
export const COMPILED: Readonly<Record<string, DescMessage>> = {
  TaskRegistered: CompiledTaskSchema,
  WorkflowRegistered: CompiledWorkflowClosureSchema,
};

/**
 * Finds the message in a content field by the field alone, for an event of any schema; `undefined` where it is not
 * known.
 */
export const contentSchemaOf: ContentSchemaOf = ({ jsonName, parent }) => {
  if (jsonName === 'compiled') return COMPILED[parent.name];
  return jsonName === 'message' ? REPORTED[parent.name] : CONTENTS[jsonName];
};

/** Fields that the message writer leaves out, because they are among the flat fields in JSON already. */
const FLAT: Readonly<Partial<Record<string, ReadonlySet<string>>>> = {
  WorkflowPhaseReported: new Set(['phase']),
  NodePhaseReported: new Set(['node', 'phase']),
  TaskPhaseReported: new Set(['node', 'attempt', 'phase']),
  ExecutionExpired: new Set(['phase']),
};

const isNotFlat = ({ jsonName, parent }: DescField): boolean => FLAT[parent.name]?.has(jsonName) !== true;

const schemaOf = (type: string): DescMessage => {
  const schema = eventRegistry.getMessage(`platformidl.eventlog.${type}`);
  if (schema === undefined) throw new UnknownEvent(`event type ${type} is unknown`);
  return schema;
};

/** In JSON, an event of an older type has the fields of the type that replaced it. */
const writtenAs = ({ type, data }: RecordedEvent): string => {
  try {
    const entity = reportedEntity(type, data);
    return entity === undefined ? type : REPORT_TYPES[entity];
  } catch (error) {
    throw new CorruptEvent(`${type} cannot be decoded`, error);
  }
};

const writers = new Map<string, WireJson>();

const writerOf = (event: RecordedEvent): WireJson => {
  const type = writtenAs(event);
  const writer = writers.get(type) ?? wireJson(schemaOf(type), eventRegistry, contentSchemaOf, isNotFlat);
  writers.set(type, writer);
  return writer;
};

const headOf = (event: RecordedEvent): string => {
  let head = '';
  for (const [name, value] of Object.entries(flatFields(event))) head += `"${name}":${JSON.stringify(value)},`;
  return head;
};

type Fetch = (ref: PayloadRef) => Promise<Uint8Array | undefined>;

/** Encodes the message again, in the usual way; bytes that are not such a message stay as they are. */
const canonical = (schema: DescMessage | undefined, value: Uint8Array): Uint8Array => {
  try {
    return schema ? toBinary(schema, fromBinary(schema, value)) : value;
  } catch {
    return value;
  }
};

/** Puts the payloads that the message refers to inline; a payload that is not found stays a reference. */
const bringIn = async (schema: DescMessage, message: Message, fetch: Fetch): Promise<void> => {
  const fields = message as unknown as Readonly<Record<string, unknown>>;
  for (const { message: type, localName } of schema.fields) {
    const part = type?.typeName === ContentSchema.typeName ? (fields[localName] as Content | undefined) : undefined;
    if (part?.content.case !== 'ref') continue;
    const value = await fetch(part.content.value);
    if (value !== undefined) part.content = { case: 'inline', value };
  }
};

const withCanonicalContents = (as: DescMessage, data: Uint8Array): Uint8Array => {
  const message = fromBinary(as, data);
  const fields = message as unknown as Readonly<Record<string, unknown>>;
  for (const field of as.fields) {
    const part = field.message?.typeName === ContentSchema.typeName ? (fields[field.localName] as Content) : undefined;
    if (part?.content.case !== 'inline') continue;
    part.content = { case: 'inline', value: canonical(contentSchemaOf(field, data), part.content.value) };
  }
  return toBinary(as, message);
};

const decoded = ({ type, data }: RecordedEvent): readonly [DescMessage, Message] => {
  const schema = schemaOf(type);
  try {
    return [schema, fromBinary(schema, data)];
  } catch (error) {
    throw new CorruptEvent(`${type} cannot be decoded`, error);
  }
};

/** Encodes events for consumers outside this process. */
export type EventEncoder = {
  /** Appends the JSON of the event to `json`: before it returns, or else before the promise resolves. */
  readonly json: (event: RecordedEvent, json: JsonBytes) => Promise<void> | undefined;
  /** The stored message in protobuf, with the payloads beside the log put inline. */
  readonly message: (event: RecordedEvent) => Promise<Uint8Array>;
};

/**
 * Makes the JSON of events, the same for every consumer: the flat fields of {@link flatFields} first, then the stored
 * message in the JSON mapping of protobuf. The messages that it carries are decoded, also those that are stored beside
 * the log. Enums are names; numbers, booleans and enums are present also where they are zero.
 */
const presenting = (fetch: Fetch): EventEncoder => {
  const whole = async (event: RecordedEvent): Promise<Uint8Array> => {
    const [schema, message] = decoded(event);
    await bringIn(schema, message, fetch);
    return toBinary(schema, message);
  };
  /** For events in an unusual encoding, and for those with payloads beside the log. */
  const slowly = async (event: RecordedEvent, json: JsonBytes): Promise<void> => {
    const data = withCanonicalContents(schemaOf(writtenAs(event)), await whole(event));
    if (!writerOf(event)(data, json, { head: headOf(event), isLenient: true }))
      throw new CorruptEvent(`${event.type} has no form in JSON`);
  };
  return {
    json: (event, json) => {
      const { length } = json;
      if (writerOf(event)(event.data, json, { head: headOf(event) })) return undefined;
      json.length = length;
      return slowly(event, json);
    },
    message: whole,
  };
};

/**
 * Treats a damaged payload like a missing one, so that it stays a reference. Other errors pass through: a payload that
 * cannot be read now is tried again later by the consumer.
 */
const intact =
  (payloads: PayloadStore): Fetch =>
  (ref) =>
    payloads.get(ref).catch((error: unknown) => {
      if (error instanceof CorruptPayload) return undefined;
      throw error;
    });

/**
 * Encodes events for programs: an event is whole, but for payloads that are lost or damaged, or it is an error.
 *
 * @throws {UnknownEvent} when this release does not know the event's type.
 * @throws {CorruptEvent} when the data cannot be decoded as the event's type.
 * @throws {StoreUnavailable} when a payload beside the log cannot be read now.
 */
export const wholeEventEncoder = (payloads: PayloadStore): EventEncoder => presenting(intact(payloads));

/**
 * Encodes events as JSON for people and never fails: a payload that cannot be read stays a reference, and data that
 * this release cannot decode is a JSON string in base64.
 */
export const readable = (payloads: PayloadStore): ((event: RecordedEvent) => Promise<Buffer>) => {
  const { json: write } = presenting((ref) => payloads.get(ref).catch(() => undefined));
  return async (event) => {
    const json = openJson();
    try {
      await write(event, json);
      return copyOf(json);
    } catch {
      return Buffer.from(JSON.stringify(Buffer.from(event.data).toString('base64')));
    }
  };
};
