import {
  NodeExecution_Phase,
  TaskExecution_Phase,
  WorkflowExecution_Phase,
} from '../../proto/gen/platformidl/core/execution_pb.js';
import type { Entity } from './wire/engine-report.js';

type Numbers<Phases> = Readonly<Record<Exclude<keyof Phases, number>, number>>;

/** The phases as plain numbers, as on the wire. */
export const WORKFLOW: Numbers<typeof WorkflowExecution_Phase> = WorkflowExecution_Phase;
export const NODE: Numbers<typeof NodeExecution_Phase> = NodeExecution_Phase;
export const TASK: Numbers<typeof TaskExecution_Phase> = TaskExecution_Phase;

const names: Readonly<Record<Entity, Readonly<Record<number, string>>>> = {
  workflow: WorkflowExecution_Phase,
  node: NodeExecution_Phase,
  task: TaskExecution_Phase,
};

const maskOf = (...phases: readonly number[]): number => phases.reduce((mask, phase) => mask | (1 << phase), 0);

/** Bit masks of the terminal phases. A task that may be retried has not ended. */
const terminal: Readonly<Record<Entity, number>> = {
  workflow: maskOf(WORKFLOW.SUCCEEDED, WORKFLOW.FAILED, WORKFLOW.ABORTED, WORKFLOW.TIMED_OUT),
  node: maskOf(NODE.SUCCEEDED, NODE.FAILED, NODE.ABORTED, NODE.SKIPPED, NODE.TIMED_OUT, NODE.RECOVERED),
  task: maskOf(TASK.SUCCEEDED, TASK.ABORTED, TASK.FAILED),
};

export const isPhase = (entity: Entity, phase: number): boolean => names[entity][phase] !== undefined;

/** The name of a phase, for example `RUNNING`; for an unknown phase its number. */
export const phaseName = (entity: Entity, phase: number): string => names[entity][phase] ?? String(phase);

export const isTerminal = (entity: Entity, phase: number): boolean => (terminal[entity] & (1 << phase)) !== 0;
