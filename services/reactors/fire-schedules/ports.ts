import type { ScheduleSettings } from '../../schedule/calendar/annotations.js';
import type { Segment, Span } from '../../schedule/calendar/segments.js';
import type { FireOutcome } from '../../schedule/commands.js';
import type { PlanName } from '../../schedule/events.js';

/** A tick to launch: the version of the launch plan, and the time of the tick. */
export type TickLaunch = {
  readonly plan: PlanName;
  readonly version: string;
  /** Milliseconds since 1970. */
  readonly atMs: number;
  /** The principal that activated the version, or asked for the tick by hand; the execution is launched in this name. */
  readonly principal: string;
};

/** Launches the execution of a tick. */
export interface Launcher {
  /**
   * Launches a tick. The same tick launched again is `fired` again, with the same execution.
   *
   * @throws when time may cure it: the machinery has failed, or is overloaded.
   */
  launch(tick: TickLaunch): Promise<FireOutcome>;
  /** The outcome of a tick whose execution exists; `undefined` for a tick that was not launched. */
  launched(tick: TickLaunch): Promise<FireOutcome | undefined>;
  /** True until the execution of a tick has ended. */
  isRunning(plan: PlanName, execution: string): Promise<boolean>;
}

/** Reads of the activations of launch plans. */
export interface Activated {
  plans(): readonly { readonly plan: PlanName; readonly segments: readonly Segment[] }[];
  of(plan: PlanName): readonly Segment[];
  archived(project: string): readonly Span[];
  /**
   * Waits until everything that was recorded before the call is known.
   *
   * @throws {RpcError} UNAVAILABLE when that takes too long.
   */
  current(): Promise<void>;
  onChange(listener: (plan: PlanName) => void): void;
}

/** Counts ticks by their outcome, and those that were skipped by the reason. */
export type CountTicks = (outcome: FireOutcome['kind'], count: number, reason?: string) => void;

/** Finds the settings of a version of a plan. */
export type SettingsOf = (plan: PlanName, version: string) => Promise<ScheduleSettings>;
