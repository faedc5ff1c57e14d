import type { LaunchPlanCreateRequest, LaunchPlanSpec } from '../../proto/gen/platformidl/admin/launch_plan_pb.js';
import type { TypedInterface } from '../../proto/gen/platformidl/core/interface_pb.js';
import type { Version } from '../kernel/identifier.js';
import type { RpcError } from '../kernel/rpc.js';
import type { RegisterLaunchPlan } from './commands.js';
import type { PlannedWorkflow } from './registration/request.js';

/** The projects, as far as a registration asks. */
export interface Projects {
  /** What stands against registering there, ready to be thrown; `undefined` when nothing does. */
  check(project: string, domain: string): Promise<RpcError | undefined>;
}

/** What is registered; `undefined` for a version that is not. Messages are shared: never changed by who asks. */
export interface Definitions {
  workflow(id: Version): Promise<{ readonly interface: TypedInterface | undefined } | undefined>;
  launchPlan(id: Version): Promise<{ readonly spec: LaunchPlanSpec } | undefined>;
}

/** Reads launch plans away from the thread that serves requests. */
export interface LargeLaunchPlans {
  /** What is larger than this is taken so, in bytes. */
  readonly aboveBytes: number;

  /** A request with no more than what names it and its workflow. @throws {RpcError} INVALID_ARGUMENT when it is none. */
  headOf(request: Uint8Array): LaunchPlanCreateRequest;

  /**
   * @throws {RpcError} what is wrong with the launch plan; RESOURCE_EXHAUSTED when too many wait to be read.
   */
  registrationOf(id: Version, request: Uint8Array, workflow: PlannedWorkflow): Promise<RegisterLaunchPlan>;
}
