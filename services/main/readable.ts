import {
  createRegistry,
  type DescMessage,
  fromBinary,
  type JsonObject,
  type JsonValue,
  type Message,
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
import { file_platformidl_eventlog_named_entity } from '../../proto/gen/platformidl/eventlog/named_entity_pb.js';
import { file_platformidl_eventlog_project } from '../../proto/gen/platformidl/eventlog/project_pb.js';
import { file_platformidl_eventlog_task } from '../../proto/gen/platformidl/eventlog/task_pb.js';
import { file_platformidl_eventlog_workflow } from '../../proto/gen/platformidl/eventlog/workflow_pb.js';
import {
  NodeExecutionEventSchema,
  TaskExecutionEventSchema,
  WorkflowExecutionEventSchema,
} from '../../proto/gen/platformidl/event/event_pb.js';
import type { Content, PayloadStore } from '../kernel/payload-store.js';

const registry = createRegistry(
  file_platformidl_eventlog_attributes,
  file_platformidl_eventlog_execution,
  file_platformidl_eventlog_launch_plan,
  file_platformidl_eventlog_launch_plan_slots,
  file_platformidl_eventlog_named_entity,
  file_platformidl_eventlog_project,
  file_platformidl_eventlog_task,
  file_platformidl_eventlog_workflow,
);

const REPORTS: Readonly<Record<string, DescMessage>> = {
  [EngineReported_Entity[EngineReported_Entity.WORKFLOW]]: WorkflowExecutionEventSchema,
  [EngineReported_Entity[EngineReported_Entity.NODE]]: NodeExecutionEventSchema,
  [EngineReported_Entity[EngineReported_Entity.TASK]]: TaskExecutionEventSchema,
};

/** What the bytes in a field are; `undefined` where they are left as they are. */
const contentOf = (field: string, data: JsonObject): DescMessage | undefined => {
  if (field === 'message') return typeof data['entity'] === 'string' ? REPORTS[data['entity']] : undefined;
  return CONTENTS[field];
};

const CONTENTS: Readonly<Record<string, DescMessage>> = {
  closed: OpenEntitiesSchema,
  inputs: LiteralMapSchema,
  userInputs: LiteralMapSchema,
  spec: LaunchPlanSpecSchema,
  value: LiteralSchema,
};

const COMPILED: Readonly<Record<string, DescMessage>> = {
  TaskRegistered: CompiledTaskSchema,
  WorkflowRegistered: CompiledWorkflowClosureSchema,
};

const opened = (schema: DescMessage | undefined, value: JsonValue): JsonValue => {
  const inline = typeof value === 'object' && value !== null && !Array.isArray(value) ? value['inline'] : undefined;
  if (schema === undefined || typeof inline !== 'string') return value;
  return toJson(schema, fromBinary(schema, Buffer.from(inline, 'base64')), { registry });
};

/** What lies beside the event takes its place in it; what cannot be had stays a reference. */
const bringIn = async (schema: DescMessage, message: Message, payloads: PayloadStore): Promise<void> => {
  const fields = message as unknown as Readonly<Record<string, unknown>>;
  for (const { message: type, localName } of schema.fields) {
    const part = type?.typeName === ContentSchema.typeName ? (fields[localName] as Content | undefined) : undefined;
    if (part?.content.case !== 'ref') continue;
    const value = await payloads.get(part.content.value).catch(() => undefined);
    if (value !== undefined) part.content = { case: 'inline', value };
  }
};

const jsonOf = async (schema: DescMessage, data: Uint8Array, payloads: PayloadStore): Promise<JsonValue> => {
  const message = fromBinary(schema, data);
  await bringIn(schema, message, payloads);
  const json = toJson(schema, message, { registry }) as JsonObject;
  const open = ([field, value]: [string, JsonValue]): [string, JsonValue] => [
    field,
    opened(field === 'compiled' ? COMPILED[schema.name] : contentOf(field, json), value),
  ];
  return Object.fromEntries(Object.entries(json).map(open));
};

/**
 * An event's data for people: in the interface's JSON, with the messages that it carries opened, those beside the log
 * included. Bytes that this release cannot read are shown as they are, in base64.
 */
export const readable = async (type: string, data: Uint8Array, payloads: PayloadStore): Promise<JsonValue> => {
  const schema = registry.getMessage(`platformidl.eventlog.${type}`);
  const asTheyAre = (): JsonValue => Buffer.from(data).toString('base64');
  return schema === undefined ? asTheyAre() : jsonOf(schema, data, payloads).catch(asTheyAre);
};
