import type { Schedule } from '../../proto/gen/platformidl/admin/schedule_pb.js';
import type { Version } from '../kernel/identifier.js';

/** Registers one version of a launch plan. */
export type RegisterLaunchPlan = {
  readonly type: 'RegisterLaunchPlan';
  readonly id: Version;
  /** `admin.LaunchPlanSpec`, with the expected inputs as its default inputs. */
  readonly spec: Uint8Array;
  /** `core.ParameterMap`. */
  readonly expectedInputs: Uint8Array;
  /** `core.VariableMap`. */
  readonly expectedOutputs: Uint8Array;
  /** True when the plan's policy limits concurrent executions. */
  readonly limitsConcurrency: boolean;
  /** The digest of id, spec, expected inputs and outputs in canonical form. */
  readonly digest: Uint8Array;
};

/** Makes a version the active one of its name. */
export type ActivateLaunchPlan = {
  readonly type: 'ActivateLaunchPlan';
  readonly id: Version;
  /** The schedule of the version; it is recorded with the activation. */
  readonly schedule: Schedule | undefined;
};

export type DeactivateLaunchPlan = { readonly type: 'DeactivateLaunchPlan'; readonly id: Version };

export type LaunchPlanCommand = RegisterLaunchPlan | ActivateLaunchPlan | DeactivateLaunchPlan;
