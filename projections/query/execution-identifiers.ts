import { missing, RpcError } from '../../services/kernel/rpc.js';
import type { StreamName } from '../../services/kernel/stream.js';
import { documentKey } from './document-key.js';
import { type ExecutionId, executionStream, executionText } from '../../services/kernel/execution-id.js';

/** Identifies a node of an execution. The shape of `core.NodeExecutionIdentifier`. */
export type NodeId<Execution = ExecutionId> = { readonly nodeId: string; readonly executionId: Execution };

/** Identifies an attempt of a task of a node, within an execution. */
export type TaskAttemptId = {
  readonly nodeId: string;
  readonly taskId?: TaskVersion | undefined;
  readonly retryAttempt: number;
};

/** Identifies a version of a task. The shape of `core.Identifier`. */
export type TaskVersion = {
  readonly project: string;
  readonly domain: string;
  readonly name: string;
  readonly version: string;
};

const PARTS = ['project', 'domain', 'name'] as const;

/** Name prefix of the streams of the executions of a project and domain. */
export const executionStreamPrefix = (project: string, domain: string): string =>
  executionStream({ project, domain, name: '' });

/** The key of a node execution's document. */
export const nodeExecutionKey = (stream: StreamName, nodeId: string): string => documentKey(stream, nodeId);

/** The key of a task execution's document; the key of its node is a prefix of it. */
export const taskExecutionKey = (stream: StreamName, { taskId, nodeId, retryAttempt }: TaskAttemptId): string => {
  const { project = '', domain = '', name = '', version = '' } = taskId ?? {};
  return documentKey(stream, nodeId, project, domain, name, version, String(retryAttempt));
};

/**
 * Checks that an execution's identifier is complete.
 *
 * @throws {RpcError} INVALID_ARGUMENT naming the missing field, with its path from `field`, or by itself where `field`
 * is `id`.
 */
export const completeExecutionId = (id: ExecutionId | undefined, field = 'id'): ExecutionId => {
  if (id === undefined) throw missing(field);
  const empty = PARTS.find((part) => id[part] === '');
  if (empty !== undefined) throw missing(field === 'id' ? empty : `${field}.${empty}`);
  return { project: id.project, domain: id.domain, name: id.name };
};

/**
 * Checks that a node's identifier is complete.
 *
 * @throws {RpcError} as `completeExecutionId`.
 */
export const nodeIdOf = (id: Partial<NodeId<ExecutionId | undefined>> | undefined, field = 'id'): NodeId => {
  const inField = (part: string): string => (field === 'id' ? part : `${field}.${part}`);
  if (id === undefined) throw missing(field);
  if (id.executionId === undefined) throw missing(inField('execution_id'));
  if (id.nodeId === undefined || id.nodeId === '') throw missing(inField('node_id'));
  return { nodeId: id.nodeId, executionId: completeExecutionId(id.executionId, inField('execution_id')) };
};

/** A node's identifier as messages show it. */
export const nodeText = ({ nodeId, executionId }: NodeId): string =>
  `node_id:${JSON.stringify(nodeId)} execution_id:{${executionText(executionId)}}`;

/** The error for an execution, node or task that does not exist: NOT_FOUND. */
export const executionNotFound = (kind: 'execution' | 'node execution' | 'task execution', text: string): RpcError =>
  new RpcError('NOT_FOUND', `missing entity of type ${kind} with identifier ${text}`);
