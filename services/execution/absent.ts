import { RpcError } from '../kernel/rpc.js';
import type { ExecutionId } from './wire/envelope.js';

/** The id of an execution in error texts, in the words of FlyteAdmin. */
export const executionText = ({ project, domain, name }: ExecutionId): string =>
  `project:${JSON.stringify(project)} domain:${JSON.stringify(domain)} name:${JSON.stringify(name)}`;

/** NOT_FOUND: the execution does not exist. */
export const executionAbsent = (id: ExecutionId): RpcError =>
  new RpcError('NOT_FOUND', `missing entity of type execution with identifier ${executionText(id)}`);

/** NOT_FOUND: the node of the execution does not exist. */
export const nodeAbsent = (id: ExecutionId, nodeId: string): RpcError =>
  new RpcError(
    'NOT_FOUND',
    `missing entity of type node execution with identifier node_id:${JSON.stringify(nodeId)} execution_id:{${executionText(id)}}`,
  );
