import type { Segment, Span } from './calendar/segments.js';
import type { FireOutcome } from './commands.js';
import type { PlanName } from './events.js';

/** A launch plan that was ever active, and the periods in which each of its versions was. */
export type ScheduledPlan = { readonly plan: PlanName; readonly segments: readonly Segment[] };

/** The activations of launch plans and the archivals of projects. */
export interface Activations {
  /** All launch plans that were ever active, in no order. */
  plans(): readonly ScheduledPlan[];
  /** The segments of a launch plan; empty when it was never active. */
  of(plan: PlanName): readonly Segment[];
  /** The periods in which a project was archived; the last may not have ended. */
  archived(project: string): readonly Span[];
  /**
   * Waits until everything that was recorded before the call is known.
   *
   * @throws {RpcError} UNAVAILABLE when that takes too long.
   */
  current(): Promise<void>;
}

/** Launches the execution of a tick. */
export interface Launcher {
  /** Launches a tick. The same tick launched again is `fired` again, with the same execution. */
  launch(tick: {
    readonly plan: PlanName;
    readonly version: string;
    readonly atMs: number;
    readonly principal: string;
  }): Promise<FireOutcome>;
}
