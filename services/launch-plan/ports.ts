import type { LaunchPlanSpec } from '../../proto/gen/platformidl/admin/launch_plan_pb.js';
import type { TypedInterface } from '../../proto/gen/platformidl/core/interface_pb.js';
import type { Version } from '../kernel/identifier.js';
import type { RpcError } from '../kernel/rpc.js';

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
