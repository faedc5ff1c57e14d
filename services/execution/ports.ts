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
import type { ExecutionId } from './wire/envelope.js';

/** A stream that was read, and how far. `ExecutionCreated` names all that its decision stands on. */
export type StreamPlace = { readonly stream: StreamName; readonly revision: bigint };

/** Whether something may be launched in a project and domain. */
export type ProjectStanding =
  | { readonly kind: 'active'; readonly labels: Readonly<Record<string, string>>; readonly read: StreamPlace }
  | { readonly kind: 'unknown-project' | 'unknown-domain' | 'inactive' };

/** The projects, as far as launching asks. */
export interface Projects {
  standing(project: string, domain: string): Promise<ProjectStanding>;
  /** What stands against launching there, ready to be thrown; `undefined` when nothing does. */
  check(project: string, domain: string): Promise<RpcError | undefined>;
}

/** A registered version of a launch plan, active or not. */
export type LaunchPlanFacts = {
  readonly id: Identifier;
  readonly spec: LaunchPlanSpec;
  readonly expectedInputs: ParameterMap;
  /** Some version of its name limits how many executions there are, so that all of them are counted. */
  readonly limitsConcurrency: boolean;
  readonly read: StreamPlace;
};

/** A registered version of a workflow. */
export type WorkflowFacts = {
  readonly interface: TypedInterface | undefined;
  readonly qualityOfService: QualityOfService | undefined;
};

/** What is registered; `undefined` for a version that is not. Messages are shared: never changed by who asks. */
export interface Definitions {
  launchPlan(id: Identifier): Promise<LaunchPlanFacts | undefined>;
  workflow(id: Identifier): Promise<WorkflowFacts | undefined>;
  task(id: Identifier): Promise<CompiledTask | undefined>;
}

/** The matchable attributes that a new execution is launched with. Messages are shared: never changed by who asks. */
export type LaunchAttributes = {
  /** The most specific first. */
  readonly configs: readonly WorkflowExecutionConfig[];
  readonly taskResources: TaskResourceAttributes | undefined;
  readonly qualityOfService: QualityOfService | undefined;
  readonly clusterLabel: ExecutionClusterLabel | undefined;
  /** Of the project and domain; workflows have none. */
  readonly clusterAssignment: ClusterAssignment | undefined;
  readonly queue: ExecutionQueueAttributes | undefined;
  readonly pluginOverrides: PluginOverrides | undefined;
  /** Where they were read; absent where the project has no attributes. */
  readonly read: StreamPlace | undefined;
};

/** The matchable attributes, as far as launching asks. */
export interface Attributes {
  of(target: {
    readonly project: string;
    readonly domain: string;
    readonly workflow: string;
  }): Promise<LaunchAttributes>;
}

/** What the inputs of an execution are held against. */
export type ExpectedInputs = { readonly expected: ParameterMap; readonly fixed: LiteralMap | undefined };

/** What an execution runs with and what its caller gave, each the bytes of a map; or what is wrong with it. */
export type LaunchInputs =
  { readonly inputs: Uint8Array; readonly userInputs: Uint8Array } | { readonly problem: string };

/** Launches whose inputs are too large to be read between other calls. */
export interface LargeLaunches {
  /** What is larger than this is taken so, in bytes. */
  readonly aboveBytes: number;

  /**
   * The request without its inputs, and those as they came.
   *
   * @throws {RpcError} INVALID_ARGUMENT when it is no request; RESOURCE_EXHAUSTED when it is large without its inputs.
   */
  read(request: Uint8Array): { readonly request: ExecutionCreateRequest; readonly inputs: Uint8Array };

  /**
   * Checks and completes inputs, on a thread of its own.
   *
   * @throws {RpcError} INVALID_ARGUMENT when they are no map; RESOURCE_EXHAUSTED when too many wait.
   */
  inputs(given: Uint8Array, against: ExpectedInputs): Promise<LaunchInputs>;
}

/** Makes a task launchable by itself. */
export interface SingleTasks {
  /**
   * Registers the generated workflow and launch plan `.flytegen.<task>` of the task's version, unless they are there.
   *
   * @returns the id of the workflow, whose compiled closure is as readable as any other.
   */
  singleTask(task: CompiledTask): Promise<Identifier>;
}

/** A slot of a launch plan that limits how many executions there are. */
export type Slot = {
  /** Which attempt has it. */
  readonly attempt: string;
  /** Gives it back after a refusal, unless the execution stands that the same attempt created at another process. */
  readonly release: () => Promise<unknown>;
};

/** The slots of launch plans. */
export interface Slots {
  /**
   * @param max how many executions there may be with this one; without it, the execution is only counted.
   * @returns `undefined` when there are as many as there may be.
   */
  take(plan: Identifier, execution: ExecutionId, max: number | undefined): Promise<Slot | undefined>;
}
