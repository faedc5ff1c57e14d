import type { NodeExecution } from '../../proto/gen/platformidl/admin/node_execution_pb.js';
import type { NodeExecutionIdentifier } from '../../proto/gen/platformidl/core/identifier_pb.js';
import type { LiteralMap } from '../../proto/gen/platformidl/core/literals_pb.js';
import type { Fault } from '../kernel/fault.js';
import type { Call } from '../kernel/rpc.js';

/** What a node or an attempt of a task has worked on: unset where it is not here, a fault where it cannot be read. */
export type WorkedOn = { readonly fullInputs?: LiteralMap | Fault; readonly fullOutputs?: LiteralMap | Fault };

/** What is read of runs. */
export interface RunData {
  /** @throws {RpcError} NOT_FOUND. */
  node(id: NodeExecutionIdentifier, call: Call): Promise<NodeExecution>;
  /** @throws {RpcError} NOT_FOUND. */
  ofNode(id: NodeExecutionIdentifier, call: Call): Promise<WorkedOn>;
  /** Of the first task of the node at that attempt; `undefined` when there is none. */
  ofAttempt(id: NodeExecutionIdentifier, attempt: number, call: Call): Promise<WorkedOn | undefined>;
}
