import { ExecutionState as Archival } from '../../proto/gen/platformidl/admin/execution_pb.js';
import type { EngineReport, TaskId } from './wire/engine-report.js';
import type { ExecutionEvent } from './events.js';
import { isTerminal, NODE, TASK, WORKFLOW } from './phases.js';
import { evolveLeased, evolveReturned, LEASE_BYTES, type Leasing } from './state/lease.js';
import { NO_REVISION, addReport, type Reports } from './state/reports.js';
import { evolveSignalCreated, evolveSignalSet, SIGNAL_BYTES, type Signals } from './state/signals.js';
import { setTags, type Texts } from './state/texts.js';

/** The state of an entity whose phases engines report: the execution, a node or a task attempt. */
export type Reported = {
  phase: number;
  /** The revision of its last report, from which the earlier ones are found; {@link NO_REVISION} when there is none. */
  last: number;
  /**
   * ABORTED was inferred from the end of the execution; a terminal phase that the engine reports may replace it once.
   */
  isInferred: boolean;
};

export type TaskAttemptState = Reported & {
  readonly id: TaskId;
  readonly attempt: number;
  /** The highest version that was reported since the attempt came into its current phase. */
  version: number;
  /** The highest version of each phase; -1 for a phase that was not reported. */
  readonly highest: number[];
};

export type NodeState = Reported & { tasks: readonly TaskAttemptState[] };

/** The state of an execution that decisions need; `evolveExecution` changes it in place. */
export type ExecutionState = Reported &
  Reports &
  Signals &
  Texts &
  Leasing & {
    exists: boolean;
    /** The ids of launch attempts that may no longer create the execution. */
    voided: readonly string[];
    /** The id of the launch attempt that took a slot of its launch plan for the execution; empty when none did. */
    slotAttempt: string;
    /** The number of events that have been folded. */
    events: number;
    /**
     * The producer that the execution belongs to: it has reported QUEUED, or got the last lease. Empty before, and
     * after a lease of a default producer.
     */
    cluster: string;
    /** The producer of the last QUEUED. */
    queuedBy: string | undefined;
    abort: { readonly cause: string; readonly principal: string } | undefined;
    /** Terminated because it has run longer than `execution.timeout`. */
    isTimedOut: boolean;
    archival: Archival;
    readonly nodes: Map<string, NodeState>;
    /** One object for each task, shared by all of its attempts. */
    readonly taskIds: Map<string, TaskId>;
    /** The number of task attempts. */
    tasks: number;
  };

// The first arrays of states, which are replaced and never grow: V8 reserves space for sixteen more elements when an
// array grows, so with thousands of nodes, replacing the array takes less memory.
const NO_ATTEMPTS: readonly string[] = [];
const NO_TASKS: readonly TaskAttemptState[] = [];

export const initialState = (): ExecutionState => ({
  phase: 0,
  last: NO_REVISION,
  isInferred: false,
  exists: false,
  voided: NO_ATTEMPTS,
  slotAttempt: '',
  events: 0,
  cluster: '',
  queuedBy: undefined,
  abort: undefined,
  isTimedOut: false,
  archival: Archival.EXECUTION_ACTIVE,
  tags: [],
  textBytes: 0,
  nodes: new Map(),
  taskIds: new Map(),
  tasks: 0,
  reports: [],
  signals: undefined,
  signalTypeBytes: 0,
  lease: undefined,
});

const isSameTask = (a: TaskId, b: TaskId): boolean =>
  a.name === b.name && a.version === b.version && a.project === b.project && a.domain === b.domain;

/** Searched from the latest: engines report attempts in order. */
export const taskAttemptIn = (node: NodeState | undefined, id: TaskId, attempt: number): TaskAttemptState | undefined =>
  node?.tasks.findLast((task) => task.attempt === attempt && isSameTask(task.id, id));

/** True for a producer id that means "no cluster of its own". */
export const isDefaultProducer = (producer: string): boolean => producer === '' || producer === 'propeller';

const enter = (reported: Reported, phase: number): void => {
  reported.phase = phase;
  reported.isInferred = false;
};

/** Notes a report. `state.events` does not count its event yet, so it equals the revision of that event. */
const note = (state: ExecutionState, reported: Reported, report: EngineReport): void => {
  enter(reported, report.phase);
  addReport(state, state.events, reported.last, report);
  reported.last = state.events;
};

const sharedId = (state: ExecutionState, id: TaskId): TaskId => {
  // Names may contain any character, so no separator would make the key unambiguous.
  const key = JSON.stringify([id.project, id.domain, id.name, id.version]);
  const known = state.taskIds.get(key);
  if (known !== undefined) return known;
  state.taskIds.set(key, id);
  state.textBytes += 2 * key.length; // the key and the texts of the id
  return id;
};

// Nodes and tasks are object literals, because objects that are made with a spread take more memory and time.
const nodeOf = (state: ExecutionState, id: string): NodeState => {
  const known = state.nodes.get(id);
  if (known !== undefined) return known;
  const node: NodeState = {
    phase: 0,
    last: NO_REVISION,
    isInferred: false,
    tasks: NO_TASKS,
  };
  state.nodes.set(id, node);
  state.textBytes += id.length;
  return node;
};

const newTask = (state: ExecutionState, node: NodeState, id: TaskId, attempt: number): TaskAttemptState => {
  const task: TaskAttemptState = {
    phase: 0,
    last: NO_REVISION,
    isInferred: false,
    id: sharedId(state, id),
    attempt,
    version: 0,
    highest: [-1, -1, -1, -1, -1, -1, -1, -1, -1],
  };
  node.tasks = [...node.tasks, task];
  state.tasks += 1;
  return task;
};

const evolveTask = (state: ExecutionState, report: EngineReport, id: TaskId): void => {
  const node = nodeOf(state, report.nodeId);
  const task = taskAttemptIn(node, id, report.retryAttempt) ?? newTask(state, node, id, report.retryAttempt);
  const isSamePhase = !task.isInferred && task.phase === report.phase;
  task.version = isSamePhase ? Math.max(task.version, report.phaseVersion) : report.phaseVersion;
  task.highest[report.phase] = Math.max(task.highest[report.phase] ?? -1, report.phaseVersion);
  note(state, task, report);
};

const abort = (reported: Reported, phase: number): void => {
  enter(reported, phase);
  reported.isInferred = true;
};

/** Sets every open node and task to ABORTED when the execution ends. */
const closeAll = (state: ExecutionState): void => {
  for (const node of state.nodes.values()) {
    if (!isTerminal('node', node.phase)) abort(node, NODE.ABORTED);
    for (const task of node.tasks) if (!isTerminal('task', task.phase)) abort(task, TASK.ABORTED);
  }
};

const evolveWorkflow = (state: ExecutionState, report: EngineReport): void => {
  if (report.phase === WORKFLOW.QUEUED) state.queuedBy = report.producerId;
  if (report.phase === WORKFLOW.QUEUED && !isDefaultProducer(report.producerId)) state.cluster = report.producerId;
  note(state, state, report);
  if (!report.samePhase && isTerminal('workflow', report.phase)) closeAll(state);
};

type DataOf<Type> = Extract<ExecutionEvent, { readonly type: Type }>['data'];

/** The effect of each event on the state. */
const rows: { readonly [Type in ExecutionEvent['type']]: (state: ExecutionState, data: DataOf<Type>) => void } = {
  ExecutionCreated: (state, { spec, slotAttempt }) => {
    state.exists = true;
    state.slotAttempt = slotAttempt;
    state.phase = WORKFLOW.QUEUED;
    // oxlint-disable-next-line typescript/no-deprecated -- clients still send tags, and lists filter by them
    setTags(state, spec?.tags ?? []);
  },
  ExecutionVoided: (state, { attempt }) => {
    state.voided = [...state.voided, attempt];
  },
  WorkflowPhaseReported: evolveWorkflow,
  NodePhaseReported: (state, report) => {
    note(state, nodeOf(state, report.nodeId), report);
  },
  TaskPhaseReported: (state, report) => {
    if (report.taskId !== undefined) evolveTask(state, report, report.taskId);
  },
  TerminationRequested: (state, { cause, principal, timedOut }) => {
    enter(state, WORKFLOW.ABORTING);
    state.abort = { cause, principal };
    state.isTimedOut ||= timedOut;
  },
  // Recorded for the reactor that follows terminations; the state comes from the engine's report.
  TerminationAnnounced: () => undefined,
  ExecutionExpired: (state, { phase }) => {
    enter(state, phase);
    closeAll(state);
  },
  ExecutionStateChanged: (state, change) => {
    state.archival = change.state;
  },
  ExecutionTagged: (state, { tags }) => {
    setTags(state, tags);
  },
  SignalCreated: evolveSignalCreated,
  SignalSet: evolveSignalSet,
  WorkLeased: (state, leased) => {
    evolveLeased(state, leased);
    state.cluster = isDefaultProducer(leased.producerId) ? '' : leased.producerId;
  },
  WorkReturned: evolveReturned,
};

export const evolveExecution = (state: ExecutionState, event: ExecutionEvent): ExecutionState => {
  // The row of a type takes exactly the data of that type, which TypeScript cannot infer.
  const row = rows[event.type] as (state: ExecutionState, data: unknown) => void;
  row(state, event.data);
  state.events += 1;
  return state;
};

// A test compares these sizes with the heap, and those of all other aggregates that have many streams.
const EMPTY_BYTES = 850;
const NODE_BYTES = 150;
const TASK_BYTES = 360;
/** Of a number in an array, spare capacity included. */
const NUMBER_BYTES = 10;

/** The approximate memory of a state, in bytes. */
export const sizeOfState = (state: ExecutionState): number =>
  EMPTY_BYTES +
  state.nodes.size * NODE_BYTES +
  state.tasks * TASK_BYTES +
  state.reports.length * NUMBER_BYTES +
  (state.signals?.size ?? 0) * SIGNAL_BYTES +
  (state.lease === undefined ? 0 : LEASE_BYTES) +
  (state.abort?.cause.length ?? 0) +
  state.signalTypeBytes +
  state.textBytes;
