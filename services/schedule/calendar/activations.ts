import type { LaunchPlanName } from '../../kernel/identifier.js';
import type { ScheduledPlan, Segment, Span } from './segments.js';

/** The activations of launch plans and the archivals of projects. */
export interface Activations {
  /** All launch plans that were ever active, in no particular order. */
  plans(): readonly ScheduledPlan[];
  /**
   * The segments of a launch plan, in the order of time; empty when it was never active. Only the last one may be of a
   * version without a schedule.
   */
  of(plan: LaunchPlanName): readonly Segment[];
  /** The periods in which a project was archived; the last may not have ended. */
  archived(project: string): readonly Span[];
  /**
   * Waits until everything that was recorded before the call is known.
   *
   * @throws {RpcError} UNAVAILABLE when that takes too long; RESOURCE_EXHAUSTED when too many calls wait.
   * @throws {Fault} when the log cannot be read.
   */
  current(): Promise<void>;
}
