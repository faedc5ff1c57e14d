import {
  NodeExecution_Phase,
  TaskExecution_Phase,
  WorkflowExecution_Phase,
} from '../../proto/gen/platformidl/core/execution_pb.js';
import type { Entity } from './engine-report.js';

const names: Readonly<Record<Entity, Readonly<Record<number, string>>>> = {
  workflow: WorkflowExecution_Phase,
  node: NodeExecution_Phase,
  task: TaskExecution_Phase,
};

const maskOf = (...phases: readonly number[]): number => phases.reduce((mask, phase) => mask | (1 << phase), 0);

/** Bit masks of the phases that nothing leaves. A task that may be retried has not ended. */
const terminal: Readonly<Record<Entity, number>> = {
  workflow: maskOf(
    WorkflowExecution_Phase.SUCCEEDED,
    WorkflowExecution_Phase.FAILED,
    WorkflowExecution_Phase.ABORTED,
    WorkflowExecution_Phase.TIMED_OUT,
  ),
  node: maskOf(
    NodeExecution_Phase.SUCCEEDED,
    NodeExecution_Phase.FAILED,
    NodeExecution_Phase.ABORTED,
    NodeExecution_Phase.SKIPPED,
    NodeExecution_Phase.TIMED_OUT,
    NodeExecution_Phase.RECOVERED,
  ),
  task: maskOf(TaskExecution_Phase.SUCCEEDED, TaskExecution_Phase.ABORTED, TaskExecution_Phase.FAILED),
};

export const isPhase = (entity: Entity, phase: number): boolean => names[entity][phase] !== undefined;

/** `RUNNING`. */
export const phaseName = (entity: Entity, phase: number): string => names[entity][phase] ?? String(phase);

export const isTerminal = (entity: Entity, phase: number): boolean => (terminal[entity] & (1 << phase)) !== 0;
