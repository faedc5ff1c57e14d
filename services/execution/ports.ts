import type { LaunchPlanSpec } from '../../proto/gen/platformidl/admin/launch_plan_pb.js';
import type { ExecutionCreateRequest } from '../../proto/gen/platformidl/admin/execution_pb.js';
import type { ClusterAssignment } from '../../proto/gen/platformidl/admin/cluster_assignment_pb.js';
import type {
  ExecutionClusterLabel,
  ExecutionQueueAttributes,
  PluginOverrides,
  TaskResourceAttributes,
  WorkflowExecutionConfig,
} from '../../proto/gen/platformidl/admin/matchable_resource_pb.js';
import type { CompiledTask } from '../../proto/gen/platformidl/core/compiler_pb.js';
import type { QualityOfService } from '../../proto/gen/platformidl/core/execution_pb.js';
import type { Identifier } from '../../proto/gen/platformidl/core/identifier_pb.js';
import type { LiteralMap } from '../../proto/gen/platformidl/core/literals_pb.js';
import type { ParameterMap, TypedInterface } from '../../proto/gen/platformidl/core/interface_pb.js';
import type { RpcError } from '../kernel/rpc.js';
import type { StreamName } from '../kernel/stream.js';
import type { ExecutionId } from '../kernel/execution-id.js';

/** A stream that a launch has read, and the revision; recorded in `ExecutionCreated`. */
export type StreamRevision = { readonly stream: StreamName; readonly revision: bigint };

/** The status of a project and domain: executions can be launched only where it is `active`. */
export type ProjectStatus =
  | { readonly kind: 'active'; readonly labels: Readonly<Record<string, string>>; readonly read: StreamRevision }
  | { readonly kind: 'unknown-project' | 'unknown-domain' | 'inactive' };

/** Reads of projects that a launch needs. */
export interface Projects {
  statusOf(project: string, domain: string): Promise<ProjectStatus>;
  /** The error to throw when nothing can be launched there; `undefined` when launching is allowed. */
  check(project: string, domain: string): Promise<RpcError | undefined>;
}

/** A registered version of a launch plan, active or not. */
export type LaunchPlanFacts = {
  readonly id: Identifier;
  readonly spec: LaunchPlanSpec;
  readonly expectedInputs: ParameterMap;
  /** True when any version of the launch plan limits concurrency; then the executions of all versions are counted. */
  readonly limitsConcurrency: boolean;
  readonly read: StreamRevision;
};

/** A registered version of a workflow. */
export type WorkflowFacts = {
  readonly interface: TypedInterface | undefined;
  readonly qualityOfService: QualityOfService | undefined;
};

/**
 * The registered versions; `undefined` for a version that is not registered. The messages are shared: callers must not
 * change them.
 */
export interface Definitions {
  launchPlan(id: Identifier): Promise<LaunchPlanFacts | undefined>;
  workflow(id: Identifier): Promise<WorkflowFacts | undefined>;
  task(id: Identifier): Promise<CompiledTask | undefined>;
}

/** The matchable attributes for a new execution. The messages are shared: callers must not change them. */
export type LaunchAttributes = {
  /** The most specific first. */
  readonly configs: readonly WorkflowExecutionConfig[];
  readonly taskResources: TaskResourceAttributes | undefined;
  readonly qualityOfService: QualityOfService | undefined;
  readonly clusterLabel: ExecutionClusterLabel | undefined;
  /** Of the domain or the project; attributes of a workflow do not count. */
  readonly clusterAssignment: ClusterAssignment | undefined;
  readonly queue: ExecutionQueueAttributes | undefined;
  readonly pluginOverrides: PluginOverrides | undefined;
  /** The stream and revision of the attributes that were read; absent where the project has none. */
  readonly read: StreamRevision | undefined;
};

/** Reads of matchable attributes that a launch needs. */
export interface Attributes {
  of(target: {
    readonly project: string;
    readonly domain: string;
    readonly workflow: string;
  }): Promise<LaunchAttributes>;
}

/** The expected parameters and the fixed inputs that the inputs of an execution are checked against. */
export type ExpectedInputs = { readonly expected: ParameterMap; readonly fixed: LiteralMap | undefined };

/** The complete inputs and those that the caller gave, each an encoded `core.LiteralMap`; or the problem found. */
export type LaunchInputs =
  | { readonly inputs: Uint8Array; readonly userInputs: Uint8Array }
  | { readonly problem: string };

/** Launch requests whose inputs are too large to decode on the main thread. */
export interface LargeLaunches {
  /** The size in bytes above which this port handles requests and inputs. */
  readonly aboveBytes: number;

  /**
   * Separates a request from its inputs, which stay encoded.
   *
   * @throws {RpcError} INVALID_ARGUMENT when the bytes are not a request; RESOURCE_EXHAUSTED when the request is large
   *   even without its inputs.
   */
  read(request: Uint8Array): { readonly request: ExecutionCreateRequest; readonly inputs: Uint8Array };

  /**
   * Checks and completes inputs on a worker thread.
   *
   * @throws {RpcError} INVALID_ARGUMENT when the bytes are not a literal map; RESOURCE_EXHAUSTED when too many launches
   *   wait.
   * @throws {StoreUnavailable} when the thread has failed.
   */
  inputs(given: Uint8Array, against: ExpectedInputs): Promise<LaunchInputs>;
}

/** Makes it possible to launch a single task. */
export interface SingleTasks {
  /**
   * Registers the generated workflow and launch plan `.flytegen.<task>` with the task's version, unless they exist.
   *
   * @returns the id of the workflow, whose compiled closure can be read like any other.
   */
  singleTask(task: CompiledTask): Promise<Identifier>;
}

/** A slot of a launch plan that limits its concurrent executions. */
export type Slot = {
  /** The id of the launch attempt that holds the slot; repeats of one request, at any process, are one attempt. */
  readonly attempt: string;
  /**
   * Gives the slot back when the creation of the execution is refused, unless a repeat of the request has created it
   * through another process.
   */
  readonly release: () => Promise<unknown>;
};

/** The slots of launch plans. */
export interface Slots {
  /**
   * Takes a slot for an execution.
   *
   * @param max the most concurrent executions, this one included; when absent, the execution is counted but never
   *   refused.
   * @returns `undefined` when the limit is reached, or other requests took each slot that became free.
   */
  take(plan: Identifier, execution: ExecutionId, max: number | undefined): Promise<Slot | undefined>;
}
