import type { CompiledTask } from '../../proto/gen/platformidl/core/compiler_pb.js';
import type { Identifier } from '../../proto/gen/platformidl/core/identifier_pb.js';
import type { ParameterMap, VariableMap } from '../../proto/gen/platformidl/core/interface_pb.js';
import type { Version } from '../kernel/identifier.js';
import type { RpcError } from '../kernel/rpc.js';
import type { RegisterWorkflow } from './commands.js';

/** Reads of projects that a registration needs. */
export interface Projects {
  /** The error to throw when nothing can be registered there; `undefined` when registering is allowed. */
  check(project: string, domain: string): Promise<RpcError | undefined>;
}

/**
 * The versions that a workflow may refer to; `undefined` for a version that is not registered. The messages are shared:
 * callers must not change them.
 */
export interface Requirements {
  task(id: Identifier): Promise<CompiledTask | undefined>;
  launchPlan(
    id: Identifier,
  ): Promise<{ readonly expectedInputs: ParameterMap; readonly expectedOutputs: VariableMap } | undefined>;
}

/** Compiles workflows on a worker thread. */
export interface LargeWorkflows {
  /**
   * Compiles a request on the thread.
   *
   * @throws {RpcError} the errors of the workflow; RESOURCE_EXHAUSTED when too many requests wait to be compiled.
   * @throws {StoreUnavailable} when the thread has failed.
   */
  registrationOf(id: Version, request: Uint8Array): Promise<RegisterWorkflow>;
}
