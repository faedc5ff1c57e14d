import { RpcError } from '../kernel/rpc.js';
import type { ExecutionId } from './wire/envelope.js';

export const executionText = ({ project, domain, name }: ExecutionId): string =>
  `project:${JSON.stringify(project)} domain:${JSON.stringify(domain)} name:${JSON.stringify(name)}`;

export const executionAbsent = (id: ExecutionId): RpcError =>
  new RpcError('NOT_FOUND', `missing entity of type execution with identifier ${executionText(id)}`);

export const nodeAbsent = (id: ExecutionId, nodeId: string): RpcError =>
  new RpcError(
    'NOT_FOUND',
    `missing entity of type node execution with identifier node_id:${JSON.stringify(nodeId)} execution_id:{${executionText(id)}}`,
  );
