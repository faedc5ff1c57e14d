import { create, toBinary } from '@bufbuild/protobuf';
import { type BinaryWriter, WireType } from '@bufbuild/protobuf/wire';

import { ContentSchema } from '../../../proto/gen/platformidl/eventlog/content_pb.js';
import { keptWriter } from '../../kernel/encoding/kept-writer.js';
import { delimitedBytes } from '../../kernel/encoding/wire-writer.js';
import type { Content } from '../../kernel/ports/payload-store.js';
import { bytesIn, type Fields, fieldsOf, fixed64In, has, longIn, messageIn, numberIn, textIn } from './fields.js';

/** The kind of entity whose phase an engine reported. */
export type Entity = 'workflow' | 'node' | 'task';

/** The id of a task, as in `core.Identifier`. */
export type TaskId = {
  readonly resourceType: number;
  readonly project: string;
  readonly domain: string;
  readonly name: string;
  readonly version: string;
  readonly org: string;
};

/** A time since 1970 in UTC, as in `google.protobuf.Timestamp`. */
export type Instant = { readonly seconds: bigint; readonly nanos: number };

/** A phase that an engine reported. It is encoded and decoded by hand, for speed: every engine event is one. */
export type EngineReport = {
  readonly entity: Entity;
  /** Empty for a workflow. */
  readonly nodeId: string;
  /** Only of a task. */
  readonly taskId: TaskId | undefined;
  readonly retryAttempt: number;
  readonly phase: number;
  readonly phaseVersion: number;
  readonly occurredAt: Instant;
  readonly producerId: string;
  /** The engine's own message: event.WorkflowExecutionEvent, NodeExecutionEvent or TaskExecutionEvent. */
  readonly message: Content;
  /** A short hash of the message as received, for readers of the log; no decision uses it. */
  readonly messageHash: bigint;
  /** An encoded `eventlog.OpenEntities`; only on the event that ends the execution, and only when some are open. */
  readonly closed: Content | undefined;
  /** The phase was recorded before; only the content is new. */
  readonly samePhase: boolean;
};

const ENTITIES: readonly (Entity | undefined)[] = [undefined, 'workflow', 'node', 'task'];

/** A payload store returns plain objects, but only messages can be encoded. */
const contentBytes = ({ content }: Content): Uint8Array => toBinary(ContentSchema, create(ContentSchema, { content }));

const writeText = (writer: BinaryWriter, number: number, text: string): void => {
  if (text !== '') writer.tag(number, WireType.LengthDelimited).string(text);
};

const writeNumber = (writer: BinaryWriter, number: number, value: number): void => {
  if (value !== 0) writer.tag(number, WireType.Varint).uint32(value);
};

/** Writes the text and number fields of a `core.Identifier`. */
export const writeTaskId = (writer: BinaryWriter, number: number, id: TaskId): void => {
  writer.tag(number, WireType.LengthDelimited).fork();
  writeNumber(writer, 1, id.resourceType);
  writeText(writer, 2, id.project);
  writeText(writer, 3, id.domain);
  writeText(writer, 4, id.name);
  writeText(writer, 5, id.version);
  writeText(writer, 6, id.org);
  writer.join();
};

const writeInstant = (writer: BinaryWriter, number: number, { seconds, nanos }: Instant): void => {
  writer.tag(number, WireType.LengthDelimited).fork();
  if (seconds !== 0n) writer.tag(1, WireType.Varint).int64(seconds);
  if (nanos !== 0) writer.tag(2, WireType.Varint).int32(nanos);
  writer.join();
};

const writeContent = (writer: BinaryWriter, number: number, { content }: Content): void => {
  writer.tag(number, WireType.LengthDelimited);
  if (content.case !== 'inline') {
    writer.bytes(contentBytes({ content }));
    return;
  }
  // The length is known. A fork would copy the whole message to insert the length before it.
  const { length } = content.value;
  writer.uint32(delimitedBytes(length));
  writer.tag(1, WireType.LengthDelimited).bytes(content.value);
};

const write = (writer: BinaryWriter, report: EngineReport): void => {
  writeText(writer, 2, report.nodeId);
  if (report.taskId !== undefined) writeTaskId(writer, 3, report.taskId);
  writeNumber(writer, 4, report.retryAttempt);
  writeNumber(writer, 5, report.phase);
  writeNumber(writer, 6, report.phaseVersion);
  writeInstant(writer, 7, report.occurredAt);
  writeText(writer, 8, report.producerId);
  writeContent(writer, 9, report.message);
  if (report.messageHash !== 0n) writer.tag(10, WireType.Bit64).fixed64(report.messageHash);
  if (report.closed !== undefined) writeContent(writer, 11, report.closed);
  if (report.samePhase) writeNumber(writer, 12, 1);
};

const encodeWith = keptWriter();

/** Encodes a report as `WorkflowPhaseReported`, `NodePhaseReported` or `TaskPhaseReported`. */
export const encodeReport = (report: EngineReport): Uint8Array => encodeWith((writer) => write(writer, report));

/** Encodes a report as `EngineReported`: the entity in field 1, and otherwise the same fields. */
export const encodeEngineReported = (report: EngineReport): Uint8Array =>
  encodeWith((writer) => {
    writeNumber(writer, 1, ENTITIES.indexOf(report.entity));
    write(writer, report);
  });

/** Reads a `core.Identifier`. */
export const taskIdOf = (id: Fields): TaskId => ({
  resourceType: numberIn(id, 1),
  project: textIn(id, 2),
  domain: textIn(id, 3),
  name: textIn(id, 4),
  version: textIn(id, 5),
  org: textIn(id, 6),
});

/** Reads a `google.protobuf.Timestamp`. */
export const instantOf = (timestamp: Fields): Instant => ({
  seconds: longIn(timestamp, 1),
  nanos: numberIn(timestamp, 2) | 0,
});

const contentOf = (content: Fields): Content => {
  if (has(content, 1)) return { content: { case: 'inline', value: bytesIn(content, 1) } };
  const ref = messageIn(content, 2);
  const sizeBytes = BigInt.asUintN(64, longIn(ref, 3));
  const value = { scope: textIn(ref, 1), sha256: textIn(ref, 2), sizeBytes, keyId: textIn(ref, 4) };
  return { content: { case: 'ref', value } };
};

const reportOf = (fields: Fields, entity: Entity): EngineReport => ({
  entity,
  nodeId: textIn(fields, 2),
  taskId: has(fields, 3) ? taskIdOf(messageIn(fields, 3)) : undefined,
  retryAttempt: numberIn(fields, 4),
  phase: numberIn(fields, 5),
  phaseVersion: numberIn(fields, 6),
  occurredAt: instantOf(messageIn(fields, 7)),
  producerId: textIn(fields, 8),
  message: contentOf(messageIn(fields, 9)),
  messageHash: fixed64In(fields, 10),
  closed: has(fields, 11) ? contentOf(messageIn(fields, 11)) : undefined,
  samePhase: numberIn(fields, 12) !== 0,
});

const ENTITY_OF: Readonly<Partial<Record<string, Entity>>> = {
  WorkflowPhaseReported: 'workflow',
  NodePhaseReported: 'node',
  TaskPhaseReported: 'task',
};

/** The entity of a report of any stored type; `undefined` for other events. */
export const reportedEntity = (type: string, data: Uint8Array): Entity | undefined => {
  if (type !== 'EngineReported') return ENTITY_OF[type];
  return ENTITIES[numberIn(fieldsOf(data, 0, data.length), 1)] ?? 'workflow';
};

/**
 * Decodes a report of any stored type; `undefined` for other events. The engine's message is not decoded; it is a view
 * of the given bytes.
 */
export const reportIn = (type: string, data: Uint8Array): EngineReport | undefined => {
  const entity = ENTITY_OF[type];
  if (entity !== undefined) return decodeReport(data, entity);
  return type === 'EngineReported' ? decodeEngineReported(data) : undefined;
};

/** Decodes a `WorkflowPhaseReported`, `NodePhaseReported` or `TaskPhaseReported`. */
export const decodeReport = (data: Uint8Array, entity: Entity): EngineReport =>
  reportOf(fieldsOf(data, 0, data.length), entity);

/** Decodes an `EngineReported`. */
export const decodeEngineReported = (data: Uint8Array): EngineReport => {
  const fields = fieldsOf(data, 0, data.length);
  return reportOf(fields, ENTITIES[numberIn(fields, 1)] ?? 'workflow');
};
