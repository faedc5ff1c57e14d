import {
  NodeExecution_Phase,
  TaskExecution_Phase,
  WorkflowExecution_Phase,
} from '../../proto/gen/platformidl/core/execution_pb.js';
import { capitalEnumText } from './enum-text.js';

/** The name of a phase, as the interface spells it: `TIMED_OUT`. */
export type PhaseName =
  | keyof typeof WorkflowExecution_Phase
  | keyof typeof NodeExecution_Phase
  | keyof typeof TaskExecution_Phase;

/** A group of phases that people tell apart at a glance; each group has a colour and a sign of its own. */
export type Tone = 'waiting' | 'running' | 'good' | 'bad' | 'stopped' | 'skipped';

const TONES: Readonly<Record<PhaseName, Tone>> = {
  UNDEFINED: 'waiting',
  QUEUED: 'waiting',
  INITIALIZING: 'waiting',
  WAITING_FOR_RESOURCES: 'waiting',
  RUNNING: 'running',
  DYNAMIC_RUNNING: 'running',
  SUCCEEDING: 'running',
  FAILING: 'bad',
  ABORTING: 'stopped',
  SUCCEEDED: 'good',
  RECOVERED: 'good',
  FAILED: 'bad',
  RETRYABLE_FAILED: 'bad',
  TIMED_OUT: 'bad',
  ABORTED: 'stopped',
  SKIPPED: 'skipped',
};

/** The tone of a phase; `waiting` for a name that this page does not know. */
export const toneOf = (phase: string): Tone =>
  (TONES as Readonly<Record<string, Tone | undefined>>)[phase] ?? 'waiting';

export const executionPhase = (phase: WorkflowExecution_Phase | undefined): PhaseName =>
  WorkflowExecution_Phase[phase ?? 0] as PhaseName;

export const nodePhase = (phase: NodeExecution_Phase | undefined): PhaseName =>
  NodeExecution_Phase[phase ?? 0] as PhaseName;

export const taskPhase = (phase: TaskExecution_Phase | undefined): PhaseName =>
  TaskExecution_Phase[phase ?? 0] as PhaseName;

const ENDED: ReadonlySet<PhaseName> = new Set([
  'SUCCEEDED',
  'FAILED',
  'ABORTED',
  'TIMED_OUT',
  'SKIPPED',
  'RECOVERED',
  'RETRYABLE_FAILED',
]);

/** True when a phase is the last one. */
export const hasEnded = (phase: PhaseName): boolean => ENDED.has(phase);

/** The phase in words: `Timed out`; `Pending` for one that is not known yet. */
export const phaseText = (phase: string): string =>
  phase === 'UNDEFINED' || phase === '' ? 'Pending' : capitalEnumText(phase);
