import type { LaunchPlanCreateRequest, LaunchPlanSpec } from '../../proto/gen/platformidl/admin/launch_plan_pb.js';
import type { TypedInterface } from '../../proto/gen/platformidl/core/interface_pb.js';
import type { Version } from '../kernel/identifier.js';
import type { RpcError } from '../kernel/rpc.js';
import type { RegisterLaunchPlan } from './commands.js';
import type { PlannedWorkflow } from './registration/request.js';

/** Reads of projects that a registration needs. */
export interface Projects {
  /** The error to throw when nothing can be registered there; `undefined` when registering is allowed. */
  check(project: string, domain: string): Promise<RpcError | undefined>;
}

/**
 * The registered versions; `undefined` for a version that is not registered. The messages are shared: callers must not
 * change them.
 */
export interface Definitions {
  workflow(id: Version): Promise<{ readonly interface: TypedInterface | undefined } | undefined>;
  launchPlan(id: Version): Promise<{ readonly spec: LaunchPlanSpec } | undefined>;
}

/** Decodes and checks launch plans on a worker thread. */
export interface LargeLaunchPlans {
  /** Requests above this size, in bytes, are handled by this port. */
  readonly aboveBytes: number;

  /**
   * Decodes only the ids of a launch plan and its workflow, so that they can be checked before the whole request is
   * decoded.
   *
   * @throws {RpcError} INVALID_ARGUMENT when they cannot be decoded.
   */
  headOf(request: Uint8Array): LaunchPlanCreateRequest;

  /**
   * Decodes and checks a request on the thread.
   *
   * @throws {RpcError} the error of the launch plan; RESOURCE_EXHAUSTED when too many requests wait.
   * @throws {StoreUnavailable} when the thread has failed.
   */
  registrationOf(id: Version, request: Uint8Array, workflow: PlannedWorkflow): Promise<RegisterLaunchPlan>;
}
