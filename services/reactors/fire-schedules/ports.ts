import type { LaunchPlanName } from '../../kernel/identifier.js';
import type { ScheduleSettings } from '../../schedule/calendar/annotations.js';
import type { FireOutcome, TickLaunch } from '../../schedule/commands.js';

/** Launches the executions of ticks, and reads their status. */
export interface Launcher {
  /**
   * Launches a tick. The same tick launched again is `fired` again, with the same execution.
   *
   * @throws {StreamParked} when a stream that the launch reads is parked.
   * @throws when a later attempt may succeed, for example because the log could not be reached, or the process is
   * overloaded.
   */
  launch(tick: TickLaunch): Promise<FireOutcome>;
  /** The outcome of a tick whose execution exists; `undefined` for a tick that was not launched. */
  launched(tick: TickLaunch): Promise<FireOutcome | undefined>;
  /** True for an execution that exists and has not ended. */
  isRunning(plan: LaunchPlanName, execution: string): Promise<boolean>;
}

/** Counts ticks by their outcome, and those that were skipped by the reason. */
export type CountTicks = (outcome: FireOutcome['kind'], count: number, reason?: string) => void;

/** Finds the settings of a version of a plan. */
export type SettingsOf = (plan: LaunchPlanName, version: string) => Promise<ScheduleSettings>;
