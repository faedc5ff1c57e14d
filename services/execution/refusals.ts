import type { LiteralType } from '../../proto/gen/platformidl/core/types_pb.js';
import type { Entity, TaskId } from './wire/engine-report.js';
import type { TaskAttempt } from './wire/envelope.js';

/** The reasons for refusing a command. */
export type ExecutionRefusal =
  /** The execution was created before, by another command. */
  | { readonly kind: 'execution-exists' }
  /** The attempt to create the execution has lost its slot. */
  | { readonly kind: 'execution-voided' }
  /** No execution has this id. */
  | { readonly kind: 'execution-not-found' }
  /** The node of a task report, or the parent node of a node report, was never reported. */
  | { readonly kind: 'node-not-found'; readonly nodeId: string }
  /** The parent task attempt of a report was never reported. */
  | { readonly kind: 'task-not-found'; readonly task: TaskAttempt }
  /** The child execution that a node report names does not exist. */
  | { readonly kind: 'child-not-found' }
  /** The phase of a report is recorded already, for a task with the same version or a higher one. */
  | { readonly kind: 'phase-recorded'; readonly entity: Entity; readonly phase: number; readonly version: number }
  /** The workflow cannot go back to the phase of a report, or from failing to success. */
  | { readonly kind: 'phase-stale'; readonly from: number; readonly to: number }
  /** The entity of a report has ended, or an open one is first reported after its execution has ended. */
  | { readonly kind: 'already-terminal'; readonly entity: Entity; readonly current: number; readonly to: number }
  /** The execution to terminate has ended. */
  | { readonly kind: 'cannot-abort'; readonly current: number }
  /** A running workflow is reported as queued. */
  | { readonly kind: 'back-to-queued' }
  /** The workflow is aborting, and a report has a phase that does not end it. */
  | { readonly kind: 'aborting'; readonly to: number }
  /** The report comes from `cluster`; the execution belongs to the cluster `stored`, or to none when that is empty. */
  | { readonly kind: 'incompatible-cluster'; readonly cluster: string; readonly stored: string }
  /** The signal to set was never created. */
  | { readonly kind: 'signal-not-found'; readonly signalId: string }
  /** The signal exists with another type, which is `type`. */
  | { readonly kind: 'signal-type-differs'; readonly signalId: string; readonly type: LiteralType }
  /** The value cannot be cast to the type of the signal, which is `type`. */
  | { readonly kind: 'signal-not-castable'; readonly signalId: string; readonly type: LiteralType }
  /** The execution has as many signals as it may have. */
  | { readonly kind: 'too-many-signals'; readonly limit: number }
  /** The execution of a new signal, of a value for a signal, or of a lease has ended. */
  | { readonly kind: 'execution-ended'; readonly current: number }
  /** An engine has the lease of the execution. */
  | { readonly kind: 'lease-held'; readonly engine: string }
  /** The sender of a report, or of a return of the work, does not have the lease; it may never have had it. */
  | { readonly kind: 'lease-lost'; readonly producer: string; readonly engine: string }
  /** The execution has no lease, but reports: an engine that takes none runs it. */
  | { readonly kind: 'runs-without-lease' };

/** The refusal of a report whose parent is a task attempt that was never reported. */
export const taskNotFound = (nodeId: string, taskId: TaskId, retryAttempt: number): ExecutionRefusal => ({
  kind: 'task-not-found',
  task: { nodeId, taskId, retryAttempt },
});

/**
 * True for refusals that are permanent, because no later event can undo them: entities and signals are never removed, a
 * workflow never moves backwards or leaves its end, and a voided attempt stays voided. A missing entity may still be
 * created, another cluster may take an execution over, and a lease may pass to another engine.
 */
const IS_PERMANENT: Readonly<Record<ExecutionRefusal['kind'], boolean>> = {
  'execution-exists': true,
  'execution-voided': true,
  'execution-not-found': false,
  'node-not-found': false,
  'task-not-found': false,
  'child-not-found': false,
  'phase-recorded': true,
  'phase-stale': true,
  'already-terminal': true,
  'cannot-abort': true,
  'back-to-queued': true,
  aborting: true,
  'incompatible-cluster': false,
  'signal-not-found': false,
  'signal-type-differs': true,
  'signal-not-castable': true,
  'too-many-signals': true,
  'execution-ended': true,
  'lease-held': false,
  'lease-lost': false,
  'runs-without-lease': true,
};

export const isPermanentRefusal = ({ kind }: ExecutionRefusal): boolean => IS_PERMANENT[kind];
