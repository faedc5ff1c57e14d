import type { NodeExecution } from '../../proto/gen/platformidl/admin/node_execution_pb.js';
import type { NodeExecutionIdentifier } from '../../proto/gen/platformidl/core/identifier_pb.js';
import type { LiteralMap } from '../../proto/gen/platformidl/core/literals_pb.js';
import type { Fault } from '../kernel/fault.js';
import type { Call } from '../kernel/rpc.js';
import type { UploadStore } from '../kernel/ports/uploads.js';

/** Inputs and outputs: absent when they are in none of the configured stores, a fault when they cannot be read. */
export type InputsAndOutputs = { readonly fullInputs?: LiteralMap | Fault; readonly fullOutputs?: LiteralMap | Fault };

/** Reads the data of executions. */
export interface RunData {
  /** @throws {RpcError} NOT_FOUND. */
  node(id: NodeExecutionIdentifier, call: Call): Promise<NodeExecution>;
  /** @throws {RpcError} NOT_FOUND. */
  ofNode(id: NodeExecutionIdentifier, call: Call): Promise<InputsAndOutputs>;
  /** The data of the node's oldest task execution with that attempt; `undefined` when there is none. */
  ofAttempt(id: NodeExecutionIdentifier, attempt: number, call: Call): Promise<InputsAndOutputs | undefined>;
}

export type DataProxyServices = {
  readonly uploads: UploadStore;
  readonly runs: RunData;
  readonly random: (bytes: number) => Uint8Array;
  /** The current time, in milliseconds since 1970. */
  readonly now: () => number;
};
