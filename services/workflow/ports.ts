import type { CompiledTask } from '../../proto/gen/platformidl/core/compiler_pb.js';
import type { Identifier } from '../../proto/gen/platformidl/core/identifier_pb.js';
import type { ParameterMap, VariableMap } from '../../proto/gen/platformidl/core/interface_pb.js';
import type { RpcError } from '../kernel/rpc.js';

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
