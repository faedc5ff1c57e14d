import { type DescMessage, fromBinary, type MessageShape } from '@bufbuild/protobuf';
import type { Timestamp } from '@bufbuild/protobuf/wkt';

import { ExecutionErrorSchema } from '../../../proto/gen/platformidl/core/execution_pb.js';
import { NodeExecutionIdentifierSchema } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { LiteralMapSchema } from '../../../proto/gen/platformidl/core/literals_pb.js';
import {
  type NodeExecutionEvent,
  NodeExecutionEventSchema,
  ParentNodeExecutionMetadataSchema,
  ParentTaskExecutionMetadataSchema,
  TaskNodeMetadataSchema,
  WorkflowNodeMetadataSchema,
} from '../../../proto/gen/platformidl/event/event_pb.js';
import { bits, bytesIn, type Fields, fieldsOf, has, isPlain, longIn, messageIn, numberIn, textIn } from './fields.js';

/** The part of an engine's node event that projections read. */
export type NodeEventFields = Pick<
  NodeExecutionEvent,
  | 'phase'
  | 'occurredAt'
  | 'reportedAt'
  | 'inputValue'
  | 'outputResult'
  | 'targetMetadata'
  | 'parentTaskMetadata'
  | 'parentNodeMetadata'
  | 'isParent'
  | 'isDynamic'
  | 'isArray'
  | 'isEager'
  | 'deckUri'
> & {
  /** Reads the fields that are needed only from a node's first event. */
  readonly first: () => Pick<NodeExecutionEvent, 'id' | 'retryGroup' | 'specNodeId'>;
};

/** The oneofs of `NodeExecutionEvent`, each as a bit mask of its fields. */
export const NODE_ONEOFS: readonly number[] = [bits(5, 20), bits(6, 7, 15), bits(8, 14)];

const decoded = <Desc extends DescMessage>(schema: Desc, fields: Fields, number: number): MessageShape<Desc> =>
  fromBinary(schema, bytesIn(fields, number));

const given = <Desc extends DescMessage>(
  schema: Desc,
  fields: Fields,
  number: number,
): MessageShape<Desc> | undefined => (has(fields, number) ? decoded(schema, fields, number) : undefined);

const timeIn = (fields: Fields, number: number): Timestamp | undefined => {
  if (!has(fields, number)) return undefined;
  const time = messageIn(fields, number);
  return { $typeName: 'google.protobuf.Timestamp', seconds: longIn(time, 1), nanos: numberIn(time, 2) | 0 };
};

const inputIn = (fields: Fields): NodeEventFields['inputValue'] => {
  if (has(fields, 5)) return { case: 'inputUri', value: textIn(fields, 5) };
  return has(fields, 20) ? { case: 'inputData', value: decoded(LiteralMapSchema, fields, 20) } : { case: undefined };
};

const outputIn = (fields: Fields): NodeEventFields['outputResult'] => {
  if (has(fields, 6)) return { case: 'outputUri', value: textIn(fields, 6) };
  if (has(fields, 7)) return { case: 'error', value: decoded(ExecutionErrorSchema, fields, 7) };
  return has(fields, 15) ? { case: 'outputData', value: decoded(LiteralMapSchema, fields, 15) } : { case: undefined };
};

const targetIn = (fields: Fields): NodeEventFields['targetMetadata'] => {
  if (has(fields, 8)) return { case: 'workflowNodeMetadata', value: decoded(WorkflowNodeMetadataSchema, fields, 8) };
  if (has(fields, 14)) return { case: 'taskNodeMetadata', value: decoded(TaskNodeMetadataSchema, fields, 14) };
  return { case: undefined };
};

const nodeEventIn = (fields: Fields): NodeEventFields => ({
  // oxlint-disable-next-line typescript/no-unsafe-enum-assignment -- what is on the wire, known here or not
  phase: numberIn(fields, 3) | 0,
  occurredAt: timeIn(fields, 4),
  reportedAt: timeIn(fields, 21),
  inputValue: inputIn(fields),
  outputResult: outputIn(fields),
  targetMetadata: targetIn(fields),
  parentTaskMetadata: given(ParentTaskExecutionMetadataSchema, fields, 9),
  parentNodeMetadata: given(ParentNodeExecutionMetadataSchema, fields, 10),
  isParent: numberIn(fields, 17) !== 0,
  isDynamic: numberIn(fields, 18) !== 0,
  isArray: numberIn(fields, 22) !== 0,
  isEager: numberIn(fields, 25) !== 0,
  deckUri: textIn(fields, 19),
  first: () => ({
    id: given(NodeExecutionIdentifierSchema, fields, 1),
    retryGroup: textIn(fields, 11),
    specNodeId: textIn(fields, 12),
  }),
});

/**
 * Reads an engine's node message by the positions of its fields. Most events of an execution are node events, and
 * decoding the whole message costs several times as much. A message in which a field is repeated, or a oneof has two
 * fields, is decoded by protobuf.
 *
 * @throws {Error} when the bytes are not a message, or a field that is read is not valid; `first` throws for the fields
 *   that it reads.
 */
export const readNodeEvent = (message: Uint8Array): NodeEventFields => {
  const fields = fieldsOf(message, 0, message.length);
  if (isPlain(fields, NODE_ONEOFS)) return nodeEventIn(fields);
  const event = fromBinary(NodeExecutionEventSchema, message);
  return { ...event, first: () => event };
};
