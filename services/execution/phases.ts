import {
  NodeExecution_Phase,
  TaskExecution_Phase,
  WorkflowExecution_Phase,
} from '../../proto/gen/platformidl/core/execution_pb.js';
import { invalid } from '../kernel/rpc.js';
import type { Entity } from './wire/engine-report.js';

/** The most characters of an unknown name that a refusal repeats. */
const SHOWN = 100;

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

const ALL_NAMES: readonly string[] = [
  ...new Set(Object.values(names).flatMap((own) => Object.values(own).filter((name) => typeof name === 'string'))),
];

/**
 * Refuses names in the field `phases` that no execution, node or task has as its phase: nothing would ever match them.
 *
 * @throws {RpcError} INVALID_ARGUMENT with the names that there are.
 */
export const assertPhaseNames = (phases: readonly string[]): void => {
  const wrong = phases.find((phase) => !ALL_NAMES.includes(phase));
  if (wrong === undefined) return;
  throw invalid('phases', `'${wrong.slice(0, SHOWN)}' is not one of ${ALL_NAMES.join(', ')}`);
};

export const isTerminal = (entity: Entity, phase: number): boolean => (terminal[entity] & (1 << phase)) !== 0;
