import { type DescMessage, fromBinary, toBinary } from '@bufbuild/protobuf';

import {
  NodeExecutionEventSchema,
  TaskExecutionEventSchema,
  WorkflowExecutionEventSchema,
} from '../../../proto/gen/platformidl/event/event_pb.js';
import { shortHash } from '../../kernel/encoding/hash.js';
import { missing, RpcError } from '../../kernel/rpc.js';
import type { Entity } from './engine-report.js';
import {
  type Envelope,
  type OutputLimit,
  RepeatedMessageField,
  type ScannedFields,
  scanNode,
  scanTask,
  scanWorkflow,
} from './envelope.js';
import { bits, bytesIn, type Fields, fieldsOf, has, isPlain } from './fields.js';
import { NODE_ONEOFS } from './node-event-fields.js';
import { DELIMITED, Malformed, readLength, readTag, skipValue } from '../../kernel/encoding/wire-cursor.js';

/** The layout of an entity's event, by field number. */
type Layout = {
  readonly entity: Entity;
  readonly event: DescMessage;
  /** A bit mask of the fields that are lists. */
  readonly lists: number;
  /** A bit mask of the fields of each oneof. */
  readonly oneofs: readonly number[];
  readonly scan: (event: Fields, assertOutputSize: OutputLimit) => ScannedFields;
};

const layouts: Readonly<Record<Entity, Layout>> = {
  workflow: {
    entity: 'workflow',
    event: WorkflowExecutionEventSchema,
    lists: 0,
    oneofs: [bits(5, 6, 7)],
    scan: scanWorkflow,
  },
  node: {
    entity: 'node',
    event: NodeExecutionEventSchema,
    lists: 0,
    oneofs: NODE_ONEOFS,
    scan: scanNode,
  },
  task: {
    entity: 'task',
    event: TaskExecutionEventSchema,
    lists: bits(6, 21),
    oneofs: [bits(8, 19), bits(9, 10, 17)],
    scan: scanTask,
  },
};

/** The field of a request that has the event. */
const EVENT_FIELD = 2;

/** Concatenates all occurrences of the event, which is how protobuf merges them. */
const mergedEvent = (request: Uint8Array): Uint8Array => {
  const parts: Uint8Array[] = [];
  const cursor = { bytes: request, pos: 0 };
  while (cursor.pos < request.length) {
    const tag = readTag(cursor, request.length);
    if (tag !== ((EVENT_FIELD << 3) | DELIMITED)) {
      skipValue(cursor, request.length, tag);
      continue;
    }
    const end = readLength(cursor, request.length);
    parts.push(request.subarray(cursor.pos, end));
    cursor.pos = end;
  }
  return Buffer.concat(parts);
};

const eventOf = (request: Uint8Array): Uint8Array => {
  const fields = fieldsOf(request, 0, request.length);
  if (!has(fields, EVENT_FIELD)) throw missing('event');
  return (fields.repeated & bits(EVENT_FIELD)) === 0 ? bytesIn(fields, EVENT_FIELD) : mergedEvent(request);
};

const scan = (layout: Layout, event: Uint8Array, assertOutputSize: OutputLimit): ScannedFields => {
  const fields = fieldsOf(event, 0, event.length);
  if (!isPlain(fields, layout.oneofs, layout.lists)) throw new RepeatedMessageField();
  return layout.scan(fields, assertOutputSize);
};

/**
 * Decodes and encodes an event, so that each singular field occurs once. Unknown fields are dropped, because they may
 * be lists.
 */
const normalised = ({ event: schema }: Layout, event: Uint8Array): Uint8Array => {
  try {
    return toBinary(schema, fromBinary(schema, event, { readUnknownFields: false }));
  } catch (error) {
    throw new Malformed(error instanceof Error ? error.message : 'not a message', 0);
  }
};

/**
 * Scans an event. When a singular field is repeated, or two fields of a oneof are there, the event is first merged as
 * protobuf would merge it.
 */
const scanAny = (layout: Layout, event: Uint8Array, assertOutputSize: OutputLimit): ScannedFields => {
  try {
    return scan(layout, event, assertOutputSize);
  } catch (error) {
    if (!(error instanceof RepeatedMessageField)) throw error;
    return scan(layout, normalised(layout, event), assertOutputSize);
  }
};

const limitOf =
  (maxBytes: number): OutputLimit =>
  (bytes) => {
    if (bytes <= maxBytes) return;
    const sizes = `${bytes} > ${maxBytes}`;
    throw new RpcError('RESOURCE_EXHAUSTED', `Output data size exceeds platform configured threshold (${sizes})`);
  };

/** Makes the envelope of a scanned event. Fields are copied singly, because a spread costs more than the whole scan. */
const envelope = (entity: Entity, scanned: ScannedFields, message: Uint8Array): Envelope => ({
  entity,
  execution: scanned.execution,
  nodeId: scanned.nodeId,
  taskId: scanned.taskId,
  retryAttempt: scanned.retryAttempt,
  phase: scanned.phase,
  phaseVersion: scanned.phaseVersion,
  occurredAt: scanned.occurredAt,
  producerId: scanned.producerId,
  parentNodeId: scanned.parentNodeId,
  parentTask: scanned.parentTask,
  child: scanned.child,
  message,
  messageHash: shortHash(message),
});

const scanRequest = (layout: Layout, request: Uint8Array, assertOutputSize: OutputLimit): Envelope => {
  const message = eventOf(request);
  return envelope(layout.entity, scanAny(layout, message, assertOutputSize), message);
};

/**
 * Makes a scanner of event requests that reads only what a decision needs. The scan is not a full check: accepted bytes
 * may still contain a nested message that cannot be decoded.
 *
 * @throws {RpcError} the scanner: INVALID_ARGUMENT naming the field, or RESOURCE_EXHAUSTED for outputs above the limit.
 */
export const envelopeScan = (entity: Entity, maxOutputBytes: number): ((request: Uint8Array) => Envelope) => {
  const layout = layouts[entity];
  const assertOutputSize = limitOf(maxOutputBytes);
  return (request) => {
    try {
      return scanRequest(layout, request, assertOutputSize);
    } catch (error) {
      if (!(error instanceof Malformed)) throw error;
      throw new RpcError('INVALID_ARGUMENT', `malformed ${entity} event: ${error.message} at byte ${error.at}`);
    }
  };
};
