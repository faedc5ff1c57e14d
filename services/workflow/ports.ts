import type { CompiledTask } from '../../proto/gen/platformidl/core/compiler_pb.js';
import type { Identifier } from '../../proto/gen/platformidl/core/identifier_pb.js';
import type { ParameterMap, VariableMap } from '../../proto/gen/platformidl/core/interface_pb.js';
import type { Version } from '../kernel/identifier.js';
import type { RpcError } from '../kernel/rpc.js';
import type { RegisterWorkflow } from './commands.js';

/** The projects, as far as a registration asks. */
export interface Projects {
  /** What stands against registering there, ready to be thrown; `undefined` when nothing does. */
  check(project: string, domain: string): Promise<RpcError | undefined>;
}

/** What a workflow may be made of; `undefined` for what is not registered. Messages are shared: never changed. */
export interface Requirements {
  task(id: Identifier): Promise<CompiledTask | undefined>;
  launchPlan(
    id: Identifier,
  ): Promise<{ readonly expectedInputs: ParameterMap; readonly expectedOutputs: VariableMap } | undefined>;
}

/** Compiles workflows away from the thread that serves requests. */
export interface LargeWorkflows {
  /**
   * @throws {RpcError} what is wrong with the workflow; RESOURCE_EXHAUSTED when too many wait to be compiled.
   */
  registrationOf(id: Version, request: Uint8Array): Promise<RegisterWorkflow>;
}
