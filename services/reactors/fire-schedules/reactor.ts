import type { ParkedStreams } from '../../kernel/log-readers/parked-streams.js';
import type { Timers } from '../../kernel/ports/timers.js';
import type { DueTick } from '../../schedule/calendar/due.js';
import type { Segment } from '../../schedule/calendar/segments.js';
import { tickKey } from '../../schedule/decider.js';
import type { LaunchPlanName } from '../../kernel/identifier.js';
import { scheduleStream } from '../../schedule/events.js';
import { retryDelayMs } from '../frame/retry.js';
import type { MeasuredReactor } from '../frame/when-due.js';
import { type WorkFigures, type WorkResult, type WorkQueue, workQueue } from '../frame/work-queue.js';
import { decidePlan, type DecideOptions } from './decide.js';
import { type FireOptions, fireTick, type OpenTick, recordOutcome } from './fire.js';
import { paced } from './paced.js';
import type { Activations } from '../../schedule/calendar/activations.js';
import { errorText } from '../../kernel/error-text.js';

export type FireSchedulesOptions = FireOptions &
  DecideOptions & {
    readonly activations: Activations & {
      /**
       * Calls `listener` with each plan whose activation changes, or whose project is archived or restored.
       *
       * @returns a function that ends the calls.
       */
      onChange(listener: (plan: LaunchPlanName) => void): () => void;
      /** Rejects when the log can no longer be followed. */
      readonly ended: Promise<void>;
    };
    readonly timers: Timers;
    /** Maximum number of missed ticks that are launched in a second. */
    readonly maxStartsPerSecond: number;
    /** A tick whose launch still fails this long after its first failure is recorded as failed, in milliseconds. */
    readonly giveUpAfterMs: number;
    /** Called with every failure. */
    readonly onFailure: (error: unknown) => void;
    /** The ticks of plans that met a parked stream are decided again when a stream is resumed. */
    readonly parked: Pick<ParkedStreams, 'onResumed'>;
    readonly random?: () => number;
  };

const RETRY = { firstMs: 1_000, maxMs: 60_000 };
const PLANS_AT_ONCE = 32;
const LAUNCHES_AT_ONCE = 64;

/** Called with a plan when work for it meets a parked stream, be it its own, its schedule's or an execution's. */
type OnParked = (plan: LaunchPlanName) => void;

/** Launches ticks when they are due, and missed ticks at a limited rate. */
const firing = (options: FireSchedulesOptions, onParked: OnParked) => {
  const { timers, maxStartsPerSecond, giveUpAfterMs } = options;
  /** The keys of the ticks that wait or are being launched. */
  const known = new Set<string>();
  const keyOf = ({ plan, tick }: OpenTick): string => `${scheduleStream(plan)} ${tickKey(tick)}`;
  const queue = workQueue<OpenTick>({
    ...options,
    work: fireTick(options),
    onDone: (open) => known.delete(keyOf(open)),
    onParked: (open) => {
      known.delete(keyOf(open)); // the next decision on the plan adds the tick again
      onParked(open.plan);
      return Promise.resolve();
    },
    retry: { ...RETRY, giveUpAfterMs },
    giveUp: async (open, error) => {
      const launched = await options.launcher.launched({ plan: open.plan, ...open.tick });
      await recordOutcome(options, open, launched ?? { kind: 'failed', reason: errorText(error) });
    },
    concurrency: LAUNCHES_AT_ONCE,
  });
  const missed = paced<OpenTick & { readonly dueMs: number }>(timers, {
    perSecond: maxStartsPerSecond,
    release: (open) => queue.add(open, timers.now()),
  });
  return {
    queue,
    missed,
    /** Adds a tick, unless it is known. */
    add: (plan: LaunchPlanName, tick: DueTick): void => {
      const open = { plan, tick, dueMs: tick.atMs };
      if (known.has(keyOf(open))) return;
      known.add(keyOf(open));
      if (tick.isMissed) missed.add(open);
      else queue.add(open, tick.atMs);
    },
  };
};

/** A request to decide the ticks of a plan; one with a higher number replaces it. */
type DecisionRequest = { readonly plan: LaunchPlanName; readonly number: number };

/**
 * Decides the ticks of each plan at the start, when one of them is due, and when that is requested: after a change of
 * its activation or its project, or when a stream is resumed.
 */
const deciding = (
  options: FireSchedulesOptions,
  {
    fire,
    onAll,
    onParked,
  }: {
    readonly fire: (plan: LaunchPlanName, tick: DueTick) => void;
    readonly onAll: () => void;
    readonly onParked: OnParked;
  },
) => {
  const { timers } = options;
  const decide = decidePlan(options);
  const latest = new Map<string, number>();
  /** The plans of the start for which no decision was attempted yet. */
  const first = new Set<string>();

  const decideLatest = async ({ plan, number }: DecisionRequest): Promise<WorkResult> => {
    if (latest.get(scheduleStream(plan)) !== number) return undefined;
    const { open, nextMs } = await decide(plan);
    for (const tick of open) fire(plan, tick);
    return nextMs === undefined ? undefined : { againAtMs: nextMs };
  };
  const queue: WorkQueue<DecisionRequest> = workQueue<DecisionRequest>({
    ...options,
    work: (request) =>
      decideLatest(request).finally(() => {
        if (first.delete(scheduleStream(request.plan)) && first.size === 0) onAll();
      }),
    onParked: ({ plan }) => {
      onParked(plan);
      return Promise.resolve();
    },
    retry: RETRY,
    concurrency: PLANS_AT_ONCE,
  });
  const requestDecision = (plan: LaunchPlanName): void => {
    const number = (latest.get(scheduleStream(plan)) ?? 0) + 1;
    latest.set(scheduleStream(plan), number);
    queue.add({ plan, number }, timers.now());
  };
  return {
    queue,
    requestDecision,
    begin: (plans: readonly LaunchPlanName[]): void => {
      for (const plan of plans) first.add(scheduleStream(plan));
      plans.forEach(requestDecision);
      if (plans.length === 0) onAll();
    },
  };
};

/** False for a plan that never had a schedule, as most launch plans: there is nothing to decide. */
const hasSchedule = (segments: readonly Segment[]): boolean => segments.some(({ schedule }) => schedule !== undefined);

const joined = (plans: WorkFigures, fires: WorkFigures, missed: number): WorkFigures => ({
  waiting: fires.waiting + missed,
  retrying: plans.retrying + fires.retrying,
  dead: fires.dead,
  lagMs: Math.max(plans.lagMs, fires.lagMs),
});

/**
 * Fires the schedules of launch plans. The decision to fire or skip a tick is recorded first, in the stream of the
 * plan's schedule; then its execution is launched, under a name that the tick gives it, and the outcome recorded. So
 * any number of processes may do this, and each may be stopped anywhere. It needs no checkpoint: the streams of
 * schedules say what is decided, and those of launch plans what is due.
 */
export const fireSchedules = (options: FireSchedulesOptions): MeasuredReactor => {
  const { activations, timers, onFailure, random = Math.random } = options;
  /** The plans that met a parked stream since a stream was last resumed, by the names of their streams. */
  const parked = new Map<string, LaunchPlanName>();
  const onParked: OnParked = (plan) => void parked.set(scheduleStream(plan), plan);
  const { queue: fires, missed, add } = firing(options, onParked);
  // Missed ticks are launched in the order of time over all plans, so the first one waits until the decision on each
  // plan was attempted. A plan whose decision fails holds up no other: its ticks come later.
  const decisions = deciding(options, { fire: add, onAll: () => missed.open(), onParked });
  const { queue: plans, requestDecision, begin } = decisions;
  const state = { isClosed: false, endPause: (): void => undefined, endChanges: (): void => undefined };

  /** Waits, at most until the reactor is closed. */
  const pause = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const cancel = timers.after(ms, resolve);
      state.endPause = () => {
        cancel();
        resolve();
      };
      if (state.isClosed) state.endPause();
    });

  /** Waits until the activations are read, with as many attempts as that takes. */
  const read = async (): Promise<void> => {
    for (let attempts = 1; !state.isClosed; attempts += 1) {
      try {
        await activations.current();
        return;
      } catch (error) {
        onFailure(error);
        await pause(retryDelayMs(RETRY, attempts, random()));
      }
    }
  };

  const start = async (): Promise<void> => {
    await read();
    if (state.isClosed) return;
    state.endChanges = activations.onChange((plan) => {
      if (hasSchedule(activations.of(plan))) requestDecision(plan);
    });
    const scheduled = activations.plans().filter(({ segments }) => hasSchedule(segments));
    begin(scheduled.map(({ plan }) => plan));
  };

  const endResumed = options.parked.onResumed(() => {
    const resumed = [...parked.values()];
    parked.clear();
    resumed.forEach(requestDecision);
  });
  const started = start();
  return {
    ended: activations.ended,
    figures: () => joined(plans.figures(), fires.figures(), missed.size()),
    close: async () => {
      state.isClosed = true;
      state.endPause();
      state.endChanges();
      endResumed();
      missed.close();
      await started;
      await plans.close();
      await fires.close();
    },
  };
};
