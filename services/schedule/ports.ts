import type { Segment, Span } from './calendar/segments.js';
import type { PlanName } from './events.js';

/** A launch plan that was ever active, and when which of its versions were. */
export type ScheduledPlan = { readonly plan: PlanName; readonly segments: readonly Segment[] };

/** The activations of launch plans and the archivals of projects. */
export interface Activations {
  /** In no order. */
  plans(): readonly ScheduledPlan[];
  /** When a project was archived; the last span may go on. */
  archived(project: string): readonly Span[];
  /**
   * Waits until everything that was recorded before the call is known.
   *
   * @throws {RpcError} UNAVAILABLE when that takes too long.
   */
  current(): Promise<void>;
}
