import type { LaunchPlanName } from '../kernel/identifier.js';
import type { DecidedFacts, DecidedTicks } from './calendar/due.js';

/** Decides on the ticks that have become due; `due` is called with the state that the decision is recorded on. */
export type DecideTicks = {
  readonly type: 'DecideTicks';
  readonly due: (decided: DecidedFacts) => DecidedTicks | undefined;
};

/** A tick of a version of the launch plan. */
export type TickId = { readonly atMs: number; readonly version: string };

/** A tick to launch: the version of the launch plan, and the time of the tick. */
export type TickLaunch = {
  readonly plan: LaunchPlanName;
  readonly version: string;
  /** Milliseconds since 1970. */
  readonly atMs: number;
  /** The principal that activated the version, or asked for the tick by hand. The execution is launched in its name. */
  readonly principal: string;
};

/** The outcome of a tick that was to be fired. */
export type FireOutcome =
  | {
      readonly kind: 'fired';
      readonly execution: { readonly project: string; readonly domain: string; readonly name: string };
    }
  | { readonly kind: 'skipped' | 'failed'; readonly reason: string };

export type RecordOutcome = { readonly type: 'RecordOutcome'; readonly tick: TickId; readonly outcome: FireOutcome };

/** Fires a tick that the schedule does not have, now. */
export type FireByHand = {
  readonly type: 'FireByHand';
  readonly tick: TickId;
  readonly principal: string;
  /** A hash of the request's caller and idempotency key; absent where it has no key. */
  readonly request?: string | undefined;
};

/** Skips a tick that is not decided yet. */
export type SkipTick = { readonly type: 'SkipTick'; readonly atMs: number };

export type PauseSchedule = { readonly type: 'PauseSchedule'; readonly atMs: number };
export type ResumeSchedule = { readonly type: 'ResumeSchedule'; readonly atMs: number };

export type ScheduleCommand = DecideTicks | RecordOutcome | FireByHand | SkipTick | PauseSchedule | ResumeSchedule;
