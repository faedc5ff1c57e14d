import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { ExecutionSpec } from '../../../proto/gen/platformidl/admin/execution_pb.js';
import {
  type CompiledWorkflowClosure,
  CompiledWorkflowClosureSchema,
} from '../../../proto/gen/platformidl/core/compiler_pb.js';
import type { WorkflowExecution_Phase as Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import type { Identifier } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { LiteralMapSchema } from '../../../proto/gen/platformidl/core/literals_pb.js';
import {
  type WorkAbort,
  WorkAbortSchema,
  type WorkContainer,
  WorkContainerSchema,
  type WorkLaunch,
  WorkLaunchSchema,
  type WorkNode,
  WorkNodeSchema,
  type WorkProgress,
  WorkProgressSchema,
  WorkReferenceSchema,
  type WorkSettings,
  WorkSettingsSchema,
} from '../../../proto/gen/platformidl/eventlog/engine_work_pb.js';
import type { ExecutionCreated, EngineSettings } from '../../../proto/gen/platformidl/eventlog/execution_pb.js';
import { containerResources } from '../../compiler/resources/container-resources.js';
import { isTerminal, WORKFLOW } from '../phases.js';
import type { ExecutionState, NodeState } from '../state.js';
import type { ExecutionId } from '../../kernel/execution-id.js';

/** A compiled workflow, decoded, with its sizes in bytes: as it is encoded, and, approximately, in memory. */
export type SizedClosure = {
  readonly closure: CompiledWorkflowClosure;
  readonly bytes: number;
  readonly memoryBytes: number;
};

/** A decoded workflow takes about this many times its encoding. A test measures it. */
const DECODED = 12;

/** The facts that a launch message is composed of, besides the state of its execution. */
export type LaunchFacts = {
  readonly id: ExecutionId;
  readonly created: ExecutionCreated;
  readonly createdAtMs: number;
  /** The time limit of an execution, in milliseconds; 0 is none. */
  readonly timeoutMs: number;
  readonly workflow: SizedClosure;
  /** An encoded `core.LiteralMap`. */
  readonly inputs: Uint8Array;
  /** The workflow, and the inputs, are sent as references where they are larger than this, in bytes. */
  readonly maxInlineBytes: number;
};

/** The fields of a launch that come from the state of its execution. */
export type LaunchState = Pick<WorkLaunch, 'progress' | 'abort'>;

/** The most nodes in a launch; an engine reads further ones with ListNodeExecutions. */
const MAX_NODES = 5_000;

/* oxlint-disable typescript/no-unsafe-enum-assignment -- the state has phases as the plain numbers of the enums */
const workNode = ([nodeId, { phase, tasks }]: readonly [string, NodeState]): WorkNode =>
  create(WorkNodeSchema, {
    nodeId,
    phase,
    tasks: tasks.map(({ id, attempt, phase: taskPhase, version }) => ({
      taskId: id,
      attempt,
      phase: taskPhase,
      phaseVersion: version,
    })),
  });

const progressOf = ({ phase, nodes }: ExecutionState): WorkProgress =>
  create(WorkProgressSchema, {
    phase,
    nodes: Array.from(nodes).slice(0, MAX_NODES).map(workNode),
    isCut: nodes.size > MAX_NODES,
  });

/* oxlint-enable typescript/no-unsafe-enum-assignment */

/**
 * The abort of an execution; `undefined` when it is not ABORTING. Its cause and principal are empty where an engine has
 * reported ABORTING by itself.
 */
export const abortOf = ({ phase, abort, isTimedOut }: ExecutionState): WorkAbort | undefined =>
  phase === WORKFLOW.ABORTING ? create(WorkAbortSchema, { ...abort, timedOut: isTimedOut }) : undefined;

/** The phase in which an execution has ended; `undefined` before. */
export const endedPhase = ({ phase }: ExecutionState): Phase | undefined =>
  // oxlint-disable-next-line typescript/no-unsafe-enum-assignment -- states have phases as plain numbers
  isTerminal('workflow', phase) ? phase : undefined;

/** Copies from a state the fields that a launch has. The launch of the first lease has no progress. */
export const launchState = (state: ExecutionState): LaunchState => {
  const abort = abortOf(state);
  const isFirst = state.lease?.number === 1;
  return { ...(abort && { abort }), ...(!isFirst && { progress: progressOf(state) }) };
};

const containersOf = (
  { tasks }: CompiledWorkflowClosure,
  platform: EngineSettings['taskResources'],
): readonly WorkContainer[] =>
  tasks.flatMap(({ template }) =>
    template?.target.case === 'container' && template.id
      ? [
          create(WorkContainerSchema, {
            taskId: template.id,
            resources: containerResources(template.target.value.resources, platform ?? {}),
          }),
        ]
      : [],
  );

const settingsOf = (engine: EngineSettings): WorkSettings => {
  const { tier, queueingBudget, clusterLabel, clusterAssignment, queue, pluginOverrides, taskResources } = engine;
  return create(WorkSettingsSchema, {
    tier,
    clusterPool: clusterAssignment?.clusterPoolName ?? '',
    ...(queueingBudget && { queueingBudget }),
    ...(clusterLabel && { clusterLabel }),
    ...(queue && { queue }),
    ...(pluginOverrides && { pluginOverrides }),
    ...(taskResources && { taskResources }),
  });
};

const path = (...parts: readonly string[]): string => `/api/v1/${parts.map(encodeURIComponent).join('/')}`;

const workflowPath = ({ project, domain, name, version }: Identifier): string =>
  path('workflows', project, domain, name, version);

const workflowOf = ({ created, workflow, maxInlineBytes }: LaunchFacts): WorkLaunch['workflow'] => {
  if (workflow.bytes <= maxInlineBytes) return { case: 'closure', value: workflow.closure };
  const where = created.workflowId ? workflowPath(created.workflowId) : '';
  const value = create(WorkReferenceSchema, { path: where, sizeBytes: BigInt(workflow.bytes) });
  return { case: 'closureReference', value };
};

const inputOf = ({ id, inputs, maxInlineBytes }: LaunchFacts): WorkLaunch['input'] => {
  if (inputs.length <= maxInlineBytes) return { case: 'inputs', value: fromBinary(LiteralMapSchema, inputs) };
  const where = path('data', 'executions', id.project, id.domain, id.name);
  return {
    case: 'inputsReference',
    value: create(WorkReferenceSchema, { path: where, sizeBytes: BigInt(inputs.length) }),
  };
};

/** The spec without the inputs of the caller: the complete inputs are in the message, or too large for it. */
const withoutInputs = (spec: ExecutionSpec): ExecutionSpec => {
  // oxlint-disable-next-line typescript/no-deprecated -- flyteconsole still sends inputs in the spec
  const { inputs, ...rest } = spec;
  return inputs === undefined ? spec : rest;
};

const timesOf = ({ createdAtMs, timeoutMs }: LaunchFacts) => ({
  createdAt: timestampFromMs(createdAtMs),
  ...(timeoutMs > 0 && { deadline: timestampFromMs(createdAtMs + timeoutMs) }),
});

/** Composes the launch of an execution, without its lease. */
export const launchMessage = (facts: LaunchFacts, state: LaunchState): WorkLaunch => {
  const { workflowId, launchPlanId, taskId, spec, config, engine } = facts.created;
  return create(WorkLaunchSchema, {
    ...(workflowId && { workflowId }),
    ...(launchPlanId && { launchPlanId }),
    ...(taskId && { taskId }),
    workflow: workflowOf(facts),
    input: inputOf(facts),
    ...(spec && { spec: withoutInputs(spec) }),
    ...(config && { config }),
    ...(engine && { settings: settingsOf(engine) }),
    containers: [...containersOf(facts.workflow.closure, engine?.taskResources)],
    ...timesOf(facts),
    ...state,
  });
};

/** Measures a compiled workflow. */
export const sizedClosure = (closure: CompiledWorkflowClosure): SizedClosure => {
  const bytes = toBinary(CompiledWorkflowClosureSchema, closure).length;
  return { closure, bytes, memoryBytes: DECODED * bytes };
};
