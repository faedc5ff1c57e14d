import { invalid, missing } from '../../kernel/rpc.js';
import { type EngineReport, type Entity, instantOf, type TaskId, taskIdOf } from './engine-report.js';
import { type Fields, has, messageIn, numberIn, sizeIn, textIn } from './fields.js';
import { isPhase } from '../phases.js';
import { isTimestamp } from '../../kernel/values/time-range.js';
import type { ExecutionId } from '../../kernel/execution-id.js';

/** One attempt of one task of a node. */
export type TaskAttempt = { readonly nodeId: string; readonly taskId: TaskId; readonly retryAttempt: number };

/** The part of an engine's event that a decision needs, and the event itself as received. */
export type Envelope = Omit<EngineReport, 'message' | 'closed' | 'samePhase'> & {
  readonly execution: ExecutionId;
  readonly message: Uint8Array;
  /** The node that contains this node. */
  readonly parentNodeId: string | undefined;
  /** The task attempt that made this node. */
  readonly parentTask: (TaskAttempt & { readonly execution: ExecutionId }) | undefined;
  /** The execution that a launch plan node has started. */
  readonly child: ExecutionId | undefined;
};

/** The fields that are read from the event itself. */
export type ScannedFields = Omit<Envelope, 'entity' | 'message' | 'messageHash'>;

/** @throws {RpcError} RESOURCE_EXHAUSTED when outputs of this size, in bytes, are too large. */
export type OutputLimit = (bytes: number) => void;

/**
 * Thrown when a field that is no list occurs twice, or when two fields of a oneof occur: the event has to be decoded as
 * a whole, which merges them by the rules of protobuf.
 */
export class RepeatedMessageField extends Error {}

const singular = (fields: Fields): Fields => {
  if (fields.repeated !== 0) throw new RepeatedMessageField();
  return fields;
};

const nested = (fields: Fields, number: number): Fields => singular(messageIn(fields, number));

const executionIdOf = (id: Fields): ExecutionId => ({
  project: textIn(id, 1),
  domain: textIn(id, 2),
  name: textIn(id, 4),
});

const execution = (fields: Fields, number: number): ExecutionId => {
  if (!has(fields, number)) throw missing('execution_id');
  const id = executionIdOf(nested(fields, number));
  if (id.project === '') throw missing('project');
  if (id.domain === '') throw missing('domain');
  if (id.name === '') throw missing('name');
  return id;
};

const occurredAt = (event: Fields, number: number): ReturnType<typeof instantOf> => {
  if (!has(event, number)) throw missing('occurred_at');
  const at = instantOf(nested(event, number));
  if (!isTimestamp(Number(at.seconds), at.nanos)) throw invalid('occurred_at');
  return at;
};

const phaseIn = (entity: Entity, event: Fields, number: number): number => {
  const phase = numberIn(event, number);
  if (!isPhase(entity, phase)) throw invalid('phase', `${phase | 0}`);
  return phase;
};

const node = (id: Fields): { nodeId: string; execution: ExecutionId } => {
  if (!has(id, 2)) throw missing('execution_id');
  const nodeId = textIn(id, 1);
  if (nodeId === '') throw missing('node_id');
  return { nodeId, execution: execution(id, 2) };
};

const TASK = 1;

const task = (event: Fields): TaskId => {
  if (!has(event, 1)) throw missing('task_id');
  const id = taskIdOf(nested(event, 1));
  if (id.resourceType !== TASK) throw invalid('resource_type', 'task_id must be of type TASK');
  for (const part of ['project', 'domain', 'name', 'version'] as const)
    if (id[part] === '') throw missing(`${part} of task_id`);
  return id;
};

/**
 * @throws {RpcError} INVALID_ARGUMENT naming the field of a workflow event that is missing or invalid; the error of
 *   `assertOutputSize`.
 * @throws {Malformed} when a nested message, text or number that is read is not valid protobuf.
 * @throws {RepeatedMessageField} when a nested message has a field twice.
 */
export const scanWorkflow = (event: Fields, assertOutputSize: OutputLimit): ScannedFields => {
  const id = execution(event, 1);
  const phase = phaseIn('workflow', event, 3);
  if (phase === 0) throw invalid('phase', 'UNDEFINED');
  const at = occurredAt(event, 4);
  assertOutputSize(sizeIn(event, 7));
  return {
    execution: id,
    nodeId: '',
    taskId: undefined,
    retryAttempt: 0,
    phase,
    phaseVersion: 0,
    occurredAt: at,
    producerId: textIn(event, 2),
    parentNodeId: undefined,
    parentTask: undefined,
    child: undefined,
  };
};

const parentTaskOf = (event: Fields): ScannedFields['parentTask'] => {
  const id = nested(nested(event, 9), 1);
  const parent = nested(id, 2);
  return {
    nodeId: textIn(parent, 1),
    execution: executionIdOf(nested(parent, 2)),
    taskId: taskIdOf(nested(id, 1)),
    retryAttempt: numberIn(id, 3),
  };
};

/** Checks the workflow that a dynamic node has compiled: without a template the workflow could not be shown. */
const checkDynamicWorkflow = (event: Fields): void => {
  const metadata = nested(event, 14);
  if (!has(metadata, 16)) return;
  const dynamic = nested(metadata, 16);
  if (!has(dynamic, 1)) throw missing('id of dynamic_workflow');
  if (!has(dynamic, 2)) throw missing('compiled dynamic workflow');
  // The closure is read without the check for repeated fields, because it has lists.
  const primary = messageIn(messageIn(dynamic, 2), 1);
  if (primary.present === 0) throw missing('primary dynamic workflow');
  if (!has(primary, 1)) throw missing('primary dynamic workflow template');
};

/**
 * @throws {RpcError} INVALID_ARGUMENT naming the field of a node event that is missing or invalid; the error of
 *   `assertOutputSize`.
 * @throws {Malformed} when a nested message, text or number that is read is not valid protobuf.
 * @throws {RepeatedMessageField} when a nested message has a field twice.
 */
export const scanNode = (event: Fields, assertOutputSize: OutputLimit): ScannedFields => {
  if (!has(event, 1)) throw missing('id');
  const id = node(nested(event, 1));
  if (has(event, 14)) checkDynamicWorkflow(event);
  const phase = phaseIn('node', event, 3);
  const at = occurredAt(event, 4);
  const child = has(event, 8) ? execution(nested(event, 8), 1) : undefined;
  assertOutputSize(sizeIn(event, 15));
  return {
    execution: id.execution,
    nodeId: id.nodeId,
    taskId: undefined,
    retryAttempt: 0,
    phase,
    phaseVersion: 0,
    occurredAt: at,
    producerId: textIn(event, 2),
    parentNodeId: has(event, 10) ? textIn(nested(event, 10), 1) : undefined,
    parentTask: has(event, 9) ? parentTaskOf(event) : undefined,
    child,
  };
};

/**
 * @throws {RpcError} INVALID_ARGUMENT naming the field of a task event that is missing or invalid; the error of
 *   `assertOutputSize`.
 * @throws {Malformed} when a nested message, text or number that is read is not valid protobuf.
 * @throws {RepeatedMessageField} when a nested message has a field twice.
 */
export const scanTask = (event: Fields, assertOutputSize: OutputLimit): ScannedFields => {
  const at = occurredAt(event, 7);
  assertOutputSize(sizeIn(event, 17));
  if (!has(event, 2)) throw missing('node_execution_id');
  const parent = node(nested(event, 2));
  return {
    execution: parent.execution,
    nodeId: parent.nodeId,
    taskId: task(event),
    retryAttempt: numberIn(event, 3),
    phase: phaseIn('task', event, 4),
    phaseVersion: numberIn(event, 12),
    occurredAt: at,
    producerId: textIn(event, 5),
    parentNodeId: undefined,
    parentTask: undefined,
    child: undefined,
  };
};
