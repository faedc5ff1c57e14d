import {
  createRegistry,
  type DescMessage,
  fromBinary,
  type JsonObject,
  type JsonValue,
  type Message,
  toBinary,
  toJson,
} from '@bufbuild/protobuf';
import { LaunchPlanSpecSchema } from '../../proto/gen/platformidl/admin/launch_plan_pb.js';
import { CompiledTaskSchema, CompiledWorkflowClosureSchema } from '../../proto/gen/platformidl/core/compiler_pb.js';
import { LiteralMapSchema, LiteralSchema } from '../../proto/gen/platformidl/core/literals_pb.js';
import { file_platformidl_eventlog_attributes } from '../../proto/gen/platformidl/eventlog/attributes_pb.js';
import { ContentSchema } from '../../proto/gen/platformidl/eventlog/content_pb.js';
import {
  EngineReported_Entity,
  file_platformidl_eventlog_execution,
  OpenEntitiesSchema,
} from '../../proto/gen/platformidl/eventlog/execution_pb.js';
import { file_platformidl_eventlog_launch_plan } from '../../proto/gen/platformidl/eventlog/launch_plan_pb.js';
import { file_platformidl_eventlog_launch_plan_slots } from '../../proto/gen/platformidl/eventlog/launch_plan_slots_pb.js';
import { file_platformidl_eventlog_log_format } from '../../proto/gen/platformidl/eventlog/log_format_pb.js';
import { file_platformidl_eventlog_named_entity } from '../../proto/gen/platformidl/eventlog/named_entity_pb.js';
import { file_platformidl_eventlog_project } from '../../proto/gen/platformidl/eventlog/project_pb.js';
import { file_platformidl_eventlog_task } from '../../proto/gen/platformidl/eventlog/task_pb.js';
import { file_platformidl_eventlog_workflow } from '../../proto/gen/platformidl/eventlog/workflow_pb.js';
import {
  NodeExecutionEventSchema,
  TaskExecutionEventSchema,
  WorkflowExecutionEventSchema,
} from '../../proto/gen/platformidl/event/event_pb.js';
import { CorruptEvent, CorruptPayload, UnknownEvent } from '../kernel/fault.js';
import type { RecordedEvent } from '../kernel/event.js';
import { type JsonBytes, writeText } from '../kernel/json-bytes.js';
import type { Content, PayloadRef, PayloadStore } from '../kernel/payload-store.js';
import { type Opens, type WireJson, wireJson } from '../kernel/wire-json.js';

/** The messages that events are stored as. */
export const eventRegistry = createRegistry(
  file_platformidl_eventlog_attributes,
  file_platformidl_eventlog_execution,
  file_platformidl_eventlog_launch_plan,
  file_platformidl_eventlog_launch_plan_slots,
  file_platformidl_eventlog_log_format,
  file_platformidl_eventlog_named_entity,
  file_platformidl_eventlog_project,
  file_platformidl_eventlog_task,
  file_platformidl_eventlog_workflow,
);

/** What engines report, by the entity. */
export const REPORTS: Readonly<Record<string, DescMessage>> = {
  [EngineReported_Entity[EngineReported_Entity.WORKFLOW]]: WorkflowExecutionEventSchema,
  [EngineReported_Entity[EngineReported_Entity.NODE]]: NodeExecutionEventSchema,
  [EngineReported_Entity[EngineReported_Entity.TASK]]: TaskExecutionEventSchema,
};

/** What the engine's message is, by the event. */
export const REPORTED: Readonly<Record<string, DescMessage>> = {
  WorkflowPhaseReported: WorkflowExecutionEventSchema,
  NodePhaseReported: NodeExecutionEventSchema,
  TaskPhaseReported: TaskExecutionEventSchema,
};

/** What the bytes in a field are; `undefined` where they are left as they are. */
const contentOf = ({ name }: DescMessage, field: string, data: JsonObject): DescMessage | undefined => {
  if (field === 'message') return typeof data['entity'] === 'string' ? REPORTS[data['entity']] : REPORTED[name];
  if (field === 'compiled') return COMPILED[name];
  return CONTENTS[field];
};

/** What the bytes in a field of events are, by its name in JSON. */
export const CONTENTS: Readonly<Record<string, DescMessage>> = {
  closed: OpenEntitiesSchema,
  inputs: LiteralMapSchema,
  userInputs: LiteralMapSchema,
  spec: LaunchPlanSpecSchema,
  value: LiteralSchema,
};

/** What `compiled` is, by the event. */
export const COMPILED: Readonly<Record<string, DescMessage>> = {
  TaskRegistered: CompiledTaskSchema,
  WorkflowRegistered: CompiledWorkflowClosureSchema,
};

const opened = (schema: DescMessage | undefined, value: JsonValue): JsonValue => {
  const inline = typeof value === 'object' && value !== null && !Array.isArray(value) ? value['inline'] : undefined;
  if (schema === undefined || typeof inline !== 'string') return value;
  return toJson(schema, fromBinary(schema, Buffer.from(inline, 'base64')), { registry: eventRegistry });
};

type Fetch = (ref: PayloadRef) => Promise<Uint8Array | undefined>;

/** What lies beside the event takes its place in it; what cannot be had stays a reference. */
const bringIn = async (schema: DescMessage, message: Message, fetch: Fetch): Promise<void> => {
  const fields = message as unknown as Readonly<Record<string, unknown>>;
  for (const { message: type, localName } of schema.fields) {
    const part = type?.typeName === ContentSchema.typeName ? (fields[localName] as Content | undefined) : undefined;
    if (part?.content.case !== 'ref') continue;
    const value = await fetch(part.content.value);
    if (value !== undefined) part.content = { case: 'inline', value };
  }
};

type Open = typeof opened;

const jsonOf = async (schema: DescMessage, message: Message, fetch: Fetch, open: Open): Promise<JsonValue> => {
  await bringIn(schema, message, fetch);
  const json = toJson(schema, message, { registry: eventRegistry }) as JsonObject;
  const openField = ([field, value]: [string, JsonValue]): [string, JsonValue] => [
    field,
    open(contentOf(schema, field, json), value),
  ];
  return Object.fromEntries(Object.entries(json).map(openField));
};

/**
 * An event's data for people: in the interface's JSON, with the messages that it carries opened, those beside the log
 * included. Bytes that this release cannot read are shown as they are, in base64.
 */
export const readable = async (type: string, data: Uint8Array, payloads: PayloadStore): Promise<JsonValue> => {
  const schema = eventRegistry.getMessage(`platformidl.eventlog.${type}`);
  const asTheyAre = (): JsonValue => Buffer.from(data).toString('base64');
  const fetch: Fetch = (ref) => payloads.get(ref).catch(() => undefined);
  if (schema === undefined) return asTheyAre();
  try {
    return await jsonOf(schema, fromBinary(schema, data), fetch, opened);
  } catch {
    return asTheyAre();
  }
};

/** An object that is damaged stays a reference, as one that is gone does; one that cannot be had now is waited for. */
const intact =
  (payloads: PayloadStore): Fetch =>
  (ref) =>
    payloads.get(ref).catch((error: unknown) => {
      if (error instanceof CorruptPayload) return undefined;
      throw error;
    });

/** Content that has no JSON is given as it is. */
const openedIfPossible: Open = (schema, value) => {
  try {
    return opened(schema, value);
  } catch {
    return value;
  }
};

const schemaOf = (type: string): DescMessage => {
  const schema = eventRegistry.getMessage(`platformidl.eventlog.${type}`);
  if (schema === undefined) throw new UnknownEvent(`event type ${type} is unknown`);
  return schema;
};

/** The entity stands first in what is recorded of a report; its number is one byte. */
const ENTITY_TAG = 8;

const entityIn = ([tag, number]: Uint8Array): string | undefined =>
  tag === ENTITY_TAG && number !== undefined ? EngineReported_Entity[number] : undefined;

/** The same as {@link contentOf} and {@link COMPILED} say, of an event that is not decoded. */
export const contentIn: Opens = ({ jsonName, parent }, event) => {
  if (jsonName === 'compiled') return COMPILED[parent.name];
  if (jsonName !== 'message') return CONTENTS[jsonName];
  return REPORTED[parent.name] ?? REPORTS[entityIn(event) ?? ''];
};

const writers = new Map<string, WireJson>();

const writerOf = (type: string): WireJson => {
  const writer = writers.get(type) ?? wireJson(schemaOf(type), eventRegistry, contentIn);
  writers.set(type, writer);
  return writer;
};

/** Gives events to programs. */
export type PresentingWhole = {
  /** Writes it at the end of what is given; where that is not done at once, resolves when it is. */
  readonly json: (event: RecordedEvent, json: JsonBytes) => Promise<void> | undefined;
  readonly message: (event: RecordedEvent) => Promise<Uint8Array>;
};

/**
 * Gives events to programs: whole, or not at all.
 *
 * @throws {UnknownEvent} of a type that this release does not know.
 * @throws {CorruptEvent} when the data is not what the type says.
 * @throws {StoreUnavailable} when what lies beside the log cannot be had now.
 */
export const presentingWhole = (payloads: PayloadStore): PresentingWhole => {
  const fetch = intact(payloads);
  const checked = (type: string, data: Uint8Array): readonly [DescMessage, Message] => {
    const schema = schemaOf(type);
    try {
      return [schema, fromBinary(schema, data)];
    } catch (error) {
      throw new CorruptEvent(`${type} cannot be decoded`, error);
    }
  };
  const slowly = async ({ type, data }: RecordedEvent, json: JsonBytes): Promise<void> =>
    writeText(json, JSON.stringify(await jsonOf(...checked(type, data), fetch, openedIfPossible)));

  return {
    json: (event, json) => {
      const { length } = json;
      if (writerOf(event.type)(event.data, json)) return undefined;
      json.length = length;
      return slowly(event, json);
    },
    message: async ({ type, data }) => {
      const [schema, message] = checked(type, data);
      await bringIn(schema, message, fetch);
      return toBinary(schema, message);
    },
  };
};
