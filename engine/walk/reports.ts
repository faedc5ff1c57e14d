import { create, type MessageInitShape } from '@bufbuild/protobuf';
import {
  type ExecutionError,
  ExecutionError_ErrorKind as Kind,
  ExecutionErrorSchema,
  NodeExecution_Phase as NodePhase,
  TaskExecution_Phase as TaskPhase,
  WorkflowExecution_Phase as WorkflowPhase,
} from '../../proto/gen/platformidl/core/execution_pb.js';
import { type Identifier } from '../../proto/gen/platformidl/core/identifier_pb.js';
import {
  type NodeExecutionEvent,
  NodeExecutionEventSchema,
  type TaskExecutionEvent,
  TaskExecutionEventSchema,
  WorkflowExecutionEventSchema,
} from '../../proto/gen/platformidl/event/event_pb.js';
import { type Effect, type Walk } from './effects.js';
import { PARENT_ATTEMPT } from './ids.js';
import { type OpenEntities, type OpenNode, type OpenTask, taskKey } from './ledger.js';
import { type Literals } from './values/literal-values.js';
import { type NodeAt, type ExecutionWalk } from './run.js';

/** The producer id of the default engine. The control plane takes others, unless empty, as the name of a cluster. */
const PRODUCER = 'propeller';

type NodeFields = Omit<MessageInitShape<typeof NodeExecutionEventSchema>, '$typeName'>;
type TaskFields = Omit<MessageInitShape<typeof TaskExecutionEventSchema>, '$typeName'>;
type WorkflowFields = Omit<MessageInitShape<typeof WorkflowExecutionEventSchema>, '$typeName'>;

/**
 * Order of the phases in a life cycle. Phases that an earlier walk has reported are neither reported again nor noted
 * in the ledger: the ledger starts with everything that was open, and noting an old phase would reopen what has ended.
 */
const NODE_RANK: Readonly<Partial<Record<NodePhase, number>>> = {
  [NodePhase.UNDEFINED]: 0,
  [NodePhase.QUEUED]: 1,
  [NodePhase.RUNNING]: 2,
  [NodePhase.DYNAMIC_RUNNING]: 3,
  [NodePhase.FAILING]: 4,
};

const TASK_RANK: Readonly<Partial<Record<TaskPhase, number>>> = {
  [TaskPhase.UNDEFINED]: 0,
  [TaskPhase.QUEUED]: 1,
  [TaskPhase.WAITING_FOR_RESOURCES]: 2,
  [TaskPhase.INITIALIZING]: 3,
  [TaskPhase.RUNNING]: 4,
};

const WORKFLOW_RANK: Readonly<Partial<Record<WorkflowPhase, number>>> = {
  [WorkflowPhase.UNDEFINED]: 0,
  // The control plane's own QUEUED does not mean that an engine has taken the execution.
  [WorkflowPhase.QUEUED]: 0,
  [WorkflowPhase.RUNNING]: 2,
  [WorkflowPhase.SUCCEEDING]: 3,
  [WorkflowPhase.FAILING]: 4,
};

const END_RANK = 9;

export const failure = (code: string, message: string, kind: Kind = Kind.USER): ExecutionError =>
  create(ExecutionErrorSchema, { code, message, kind });

export const withInputs = (literals: Literals): Pick<NodeFields & TaskFields, 'inputValue'> => ({
  inputValue: { case: 'inputData', value: { literals } },
});

export const withOutputs = (literals: Literals): Pick<NodeFields & TaskFields & WorkflowFields, 'outputResult'> => ({
  outputResult: { case: 'outputData', value: { literals } },
});

export const withError = (error: ExecutionError): Pick<NodeFields & TaskFields & WorkflowFields, 'outputResult'> => ({
  outputResult: { case: 'error', value: error },
});

/**
 * Reports a phase of the execution, unless this phase or a later one is known. QUEUED is reported until a later phase
 * is known, because the control plane itself begins with QUEUED.
 */
export function* reportWorkflow(run: ExecutionWalk, phase: WorkflowPhase, fields: WorkflowFields = {}): Walk<void> {
  const known = WORKFLOW_RANK[run.known.workflowPhase] ?? 0;
  const rank = phase === WorkflowPhase.QUEUED ? 1 : (WORKFLOW_RANK[phase] ?? END_RANK);
  if (rank <= known) return;
  const event = create(WorkflowExecutionEventSchema, {
    ...fields,
    executionId: run.id,
    producerId: PRODUCER,
    phase,
  });
  yield [{ kind: 'report', report: { kind: 'workflow', event } }];
}

const nodeEvent = (run: ExecutionWalk, node: OpenNode, phase: NodePhase, fields: NodeFields): NodeExecutionEvent =>
  create(NodeExecutionEventSchema, {
    ...fields,
    id: { executionId: run.id, nodeId: node.id },
    producerId: PRODUCER,
    phase,
    specNodeId: node.specNodeId,
    retryGroup: node.retryGroup,
    eventVersion: 1,
    ...(node.parent ? { parentNodeMetadata: { nodeId: node.parent } } : {}),
  });

/** Reports a phase of a node, unless an earlier walk has reported this phase or a later one. */
export function* reportNode(run: ExecutionWalk, at: NodeAt, phase: NodePhase, fields: NodeFields = {}): Walk<void> {
  const { parent, isInDynamic } = at.position;
  const open = { id: at.id, specNodeId: at.node.id, parent, retryGroup: parent ? String(PARENT_ATTEMPT) : '' };
  const nodeName = at.node.metadata?.name ?? '';
  const event = nodeEvent(run, open, phase, { ...fields, nodeName, isInDynamicChain: isInDynamic });
  const known = run.known.nodes.get(at.id);
  if (known && (NODE_RANK[phase] ?? END_RANK) <= (NODE_RANK[known.phase] ?? END_RANK)) return;
  run.ledger.noteNode(event);
  yield [{ kind: 'report', report: { kind: 'node', event } }];
}

/** One attempt of a node's task. */
export type AttemptAt = {
  readonly at: NodeAt;
  readonly taskId: Identifier;
  readonly attempt: number;
  readonly taskType: string;
  /** The plugin that runs the task, by the name that clients know. */
  readonly plugin: string;
};

const taskEvent = (run: ExecutionWalk, task: OpenTask, phase: TaskPhase, fields: TaskFields): TaskExecutionEvent =>
  create(TaskExecutionEventSchema, {
    ...fields,
    taskId: task.taskId,
    parentNodeExecutionId: { executionId: run.id, nodeId: task.nodeId },
    retryAttempt: task.attempt,
    phase,
    producerId: PRODUCER,
    eventVersion: 1,
  });

/** Reports a phase of a task attempt, unless an earlier walk has reported this phase or a later one. */
export function* reportTask(
  run: ExecutionWalk,
  attemptRef: AttemptAt,
  phase: TaskPhase,
  fields: TaskFields = {},
): Walk<void> {
  const { at, taskId, taskType, plugin, attempt } = attemptRef;
  const metadata = {
    generatedName: `${run.id.name}-${at.id}-${attempt}`,
    pluginIdentifier: plugin,
    ...fields.metadata,
  };
  const event = taskEvent(run, { nodeId: at.id, taskId, attempt }, phase, { ...fields, taskType, metadata });
  const known = run.known.tasks.get(taskKey(at.id, attempt));
  if (known !== undefined && (TASK_RANK[phase] ?? END_RANK) <= (TASK_RANK[known] ?? END_RANK)) return;
  run.ledger.noteTask(event);
  yield [{ kind: 'report', report: { kind: 'task', event } }];
}

/** Aborts open entities of an execution or of a graph: the child executions and tasks first, then the nodes. */
export function* abortOpen(
  run: ExecutionWalk,
  { children, tasks, nodes }: OpenEntities,
  error: ExecutionError,
): Walk<void> {
  const taskEvents = tasks.map((each) => taskEvent(run, each, TaskPhase.ABORTED, withError(error)));
  const nodeEvents = nodes.map((each) => nodeEvent(run, each, NodePhase.ABORTED, withError(error)));
  const first: Effect[] = [
    ...children.map((child): Effect => ({ kind: 'terminate', child, cause: error.message })),
    ...taskEvents.map((event): Effect => ({ kind: 'report', report: { kind: 'task', event } })),
  ];
  if (first.length > 0) yield first;
  if (nodeEvents.length > 0) yield nodeEvents.map((event) => ({ kind: 'report', report: { kind: 'node', event } }));
  taskEvents.forEach((event) => run.ledger.noteTask(event));
  nodeEvents.forEach((event) => run.ledger.noteNode(event));
}
