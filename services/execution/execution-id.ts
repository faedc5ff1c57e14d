import type { WorkflowExecutionIdentifier } from '../../proto/gen/platformidl/core/identifier_pb.js';
import { missing } from '../kernel/rpc.js';
import type { ExecutionId } from './wire/envelope.js';

/**
 * Checks that an execution id is complete.
 *
 * @param path the field of the request that has the id, for the error text; absent when it is the request's own id.
 * @throws {RpcError} INVALID_ARGUMENT when a part is missing.
 */
export const executionIdOf = (id: WorkflowExecutionIdentifier | undefined, path?: string): ExecutionId => {
  const place = path === undefined ? '' : ` of ${path}`;
  if (id === undefined) throw missing(`id${place}`);
  const { project, domain, name } = id;
  const empty = Object.entries({ project, domain, name }).find(([, value]) => value === '')?.[0];
  if (empty !== undefined) throw missing(`${empty}${place}`);
  return { project, domain, name };
};
