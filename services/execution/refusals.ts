import type { LiteralType } from '../../proto/gen/platformidl/core/types_pb.js';
import type { Entity, TaskId } from './wire/engine-report.js';
import type { TaskAttempt } from './wire/envelope.js';

/** The reasons for refusing a command. */
export type ExecutionRefusal =
  | { readonly kind: 'execution-exists' }
  | { readonly kind: 'execution-voided' }
  | { readonly kind: 'execution-not-found' }
  | { readonly kind: 'node-not-found'; readonly nodeId: string }
  | { readonly kind: 'task-not-found'; readonly task: TaskAttempt }
  | { readonly kind: 'child-not-found' }
  | { readonly kind: 'phase-recorded'; readonly entity: Entity; readonly phase: number; readonly version: number }
  | { readonly kind: 'phase-stale'; readonly from: number; readonly to: number }
  | { readonly kind: 'already-terminal'; readonly entity: Entity; readonly current: number; readonly to: number }
  | { readonly kind: 'cannot-abort'; readonly current: number }
  | { readonly kind: 'back-to-queued' }
  | { readonly kind: 'aborting'; readonly to: number }
  | { readonly kind: 'incompatible-cluster'; readonly cluster: string; readonly stored: string }
  | { readonly kind: 'signal-not-found'; readonly signalId: string }
  | { readonly kind: 'signal-type-differs'; readonly signalId: string; readonly type: LiteralType }
  | { readonly kind: 'signal-not-castable'; readonly signalId: string; readonly type: LiteralType }
  | { readonly kind: 'too-many-signals'; readonly limit: number }
  | { readonly kind: 'execution-ended'; readonly current: number }
  | { readonly kind: 'lease-held'; readonly engine: string }
  | { readonly kind: 'lease-lost'; readonly producer: string; readonly engine: string }
  | { readonly kind: 'runs-without-lease' };

/** The refusal of an event that names a parent task attempt that does not exist. */
export const taskNotFound = (nodeId: string, taskId: TaskId, retryAttempt: number): ExecutionRefusal => ({
  kind: 'task-not-found',
  task: { nodeId, taskId, retryAttempt },
});

/**
 * Tells for each kind whether the refusal is permanent, so that no later event can undo it: what exists continues to
 * exist, a workflow never moves backwards, and what has ended stays ended. A missing entity may still be created, and
 * another cluster may take an execution over.
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

export const isPermanent = ({ kind }: ExecutionRefusal): boolean => IS_PERMANENT[kind];
