import { ExecutionState as Archival } from '../../proto/gen/platformidl/admin/execution_pb.js';
import type { EngineReport, TaskId } from './wire/engine-report.js';
import type { ExecutionEvent } from './events.js';
import { isTerminal, NODE, TASK, WORKFLOW } from './phases.js';
import { NONE, noteReport, type Reports } from './state/reports.js';
import { evolveSignalCreated, evolveSignalSet, SIGNAL_BYTES, type Signals } from './state/signals.js';

/** What is remembered of anything that engines report phases of. */
export type Reported = {
  phase: number;
  /** A bit for each phase that an engine has reported. */
  seen: number;
  /** The revision of its last report; those before are found from there. */
  last: number;
  /** ABORTED because the execution ended, which the engine's own word may replace once. */
  isInferred: boolean;
};

export type TaskState = Reported & {
  readonly id: TaskId;
  readonly attempt: number;
  /** The version last seen of the current phase. */
  version: number;
  /** The highest version of each phase, -1 for a phase that was not seen. */
  readonly highest: number[];
};

export type NodeState = Reported & { tasks: readonly TaskState[] };

/** What decisions need of an execution; changed in place by `evolve`. */
export type ExecutionState = Reported &
  Reports &
  Signals & {
    exists: boolean;
    /** The attempts that can no more create it. */
    voided: readonly string[];
    /** The attempt that created it with a slot of its launch plan; empty where it has none. */
    slotAttempt: string;
    /** How many events have been folded. */
    events: number;
    /** The producer that the execution belongs to; empty until one that is not the default takes it. */
    cluster: string;
    /** The producer of the last QUEUED. */
    queuedBy: string | undefined;
    abort: { readonly cause: string; readonly principal: string } | undefined;
    /** It has outlived its limit, and is being ended for that. */
    isTimedOut: boolean;
    archival: Archival;
    tags: readonly string[];
    readonly nodes: Map<string, NodeState>;
    /** One object for each task, shared by all of its attempts. */
    readonly taskIds: Map<string, TaskId>;
    tasks: number;
  };

// An array that grows takes room for sixteen more: with thousands of nodes, one that is replaced is smaller.
const NO_ATTEMPTS: readonly string[] = [];
const NO_TASKS: readonly TaskState[] = [];

export const initialState = (): ExecutionState => ({
  phase: 0,
  seen: 0,
  last: NONE,
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
  nodes: new Map(),
  taskIds: new Map(),
  tasks: 0,
  reports: [],
  signals: undefined,
  signalTypeBytes: 0,
});

const isSameTask = (a: TaskId, b: TaskId): boolean =>
  a.name === b.name && a.version === b.version && a.project === b.project && a.domain === b.domain;

/** Searched from the latest: engines report attempts in order. */
export const findTask = (node: NodeState | undefined, id: TaskId, attempt: number): TaskState | undefined =>
  node?.tasks.findLast((task) => task.attempt === attempt && isSameTask(task.id, id));

/** The producer that stands for "no cluster of its own". */
export const isDefaultProducer = (producer: string): boolean => producer === '' || producer === 'propeller';

const enter = (reported: Reported, phase: number): void => {
  reported.phase = phase;
  reported.isInferred = false;
};

/** Before an event is counted, the count of events is its revision. */
const note = (state: ExecutionState, reported: Reported, report: EngineReport): void => {
  enter(reported, report.phase);
  reported.seen |= 1 << report.phase;
  noteReport(state, state.events, reported.last, report);
  reported.last = state.events;
};

const sharedId = (state: ExecutionState, id: TaskId): TaskId => {
  // No character is left to part them by: names are what clients say they are.
  const key = JSON.stringify([id.project, id.domain, id.name, id.version]);
  const known = state.taskIds.get(key);
  if (known === undefined) state.taskIds.set(key, id);
  return known ?? id;
};

// Nodes and tasks are written out, because objects that are spread together take more room and time.
const nodeOf = (state: ExecutionState, id: string): NodeState => {
  const known = state.nodes.get(id);
  if (known !== undefined) return known;
  const node: NodeState = {
    phase: 0,
    seen: 0,
    last: NONE,
    isInferred: false,
    tasks: NO_TASKS,
  };
  state.nodes.set(id, node);
  return node;
};

const newTask = (state: ExecutionState, node: NodeState, id: TaskId, attempt: number): TaskState => {
  const task: TaskState = {
    phase: 0,
    seen: 0,
    last: NONE,
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
  const task = findTask(node, id, report.retryAttempt) ?? newTask(state, node, id, report.retryAttempt);
  const isSamePhase = task.seen !== 0 && !task.isInferred && task.phase === report.phase;
  task.version = isSamePhase ? Math.max(task.version, report.phaseVersion) : report.phaseVersion;
  task.highest[report.phase] = Math.max(task.highest[report.phase] ?? -1, report.phaseVersion);
  note(state, task, report);
};

const abort = (reported: Reported, phase: number): void => {
  enter(reported, phase);
  reported.isInferred = true;
};

/** What has not ended is ABORTED with its execution. */
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

/** What each event did. */
const rows: { readonly [Type in ExecutionEvent['type']]: (state: ExecutionState, data: DataOf<Type>) => void } = {
  ExecutionCreated: (state, { spec, slotAttempt }) => {
    state.exists = true;
    state.slotAttempt = slotAttempt;
    state.phase = WORKFLOW.QUEUED;
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- clients still send tags, and lists filter by them
    state.tags = spec?.tags ?? [];
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
  // For who follows terminations; what the engine reported says the rest.
  TerminationAnnounced: () => undefined,
  ExecutionExpired: (state, { phase }) => {
    enter(state, phase);
    closeAll(state);
  },
  ExecutionStateChanged: (state, change) => {
    state.archival = change.state;
  },
  ExecutionTagged: (state, { tags }) => {
    state.tags = tags;
  },
  SignalCreated: evolveSignalCreated,
  SignalSet: evolveSignalSet,
};

export const evolve = (state: ExecutionState, event: ExecutionEvent): ExecutionState => {
  // The table's row for a type takes exactly the data of that type; the compiler cannot follow.
  const row = rows[event.type] as (state: ExecutionState, data: unknown) => void;
  row(state, event.data);
  state.events += 1;
  return state;
};

// Held against the heap by a test, here and in all aggregates.
const EMPTY_BYTES = 850;
const NODE_BYTES = 150;
const TASK_BYTES = 360;
/** Of a number, with what an array has to spare. */
const NUMBER_BYTES = 10;

/** Roughly what a state takes, in bytes. */
export const sizeOfState = (state: ExecutionState): number =>
  EMPTY_BYTES +
  state.nodes.size * NODE_BYTES +
  state.tasks * TASK_BYTES +
  state.reports.length * NUMBER_BYTES +
  (state.signals?.size ?? 0) * SIGNAL_BYTES +
  state.signalTypeBytes;
