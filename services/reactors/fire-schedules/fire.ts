import { randomUUID } from 'node:crypto';

import type { Sessions } from '../../kernel/ports/sessions.js';
import type { Timers } from '../../kernel/ports/timers.js';
import { type DueTick, ON_TIME_MS, overlapDecision } from '../../schedule/calendar/due.js';
import { activeSegment } from '../../schedule/calendar/segments.js';
import type { FireOutcome } from '../../schedule/commands.js';
import { isPaused, scheduleAggregate, tickKey } from '../../schedule/decider.js';
import type { LaunchPlanName } from '../../kernel/identifier.js';
import { scheduleStream } from '../../schedule/events.js';
import type { WorkResult } from '../frame/work-queue.js';
import type { Activations } from '../../schedule/calendar/activations.js';
import type { CountTicks, Launcher, SettingsOf } from './ports.js';

/** A tick of a plan that is to be fired. */
export type OpenTick = { readonly plan: LaunchPlanName; readonly tick: DueTick };

export type FireOptions = {
  readonly sessions: Pick<Sessions, 'handle' | 'read'>;
  readonly activations: Pick<Activations, 'of' | 'archived' | 'current'>;
  readonly launcher: Launcher;
  readonly settingsOf: SettingsOf;
  readonly timers: Pick<Timers, 'now'>;
  readonly countTicks: CountTicks;
};

/** The interval at which a tick checks whether the execution that it waits for has ended. */
const QUEUED_MS = 1_000;
/** The interval at which a tick checks whether all earlier ticks of its plan have an outcome. */
const BEHIND_MS = 100;

/** The name of the reactor, which is the actor of its commands. */
export const REACTOR = 'fire-schedules';

/**
 * Records the outcome of a tick, and counts it in the metric. A tick that has an outcome keeps it, but that it was
 * fired is also recorded after a skip or a failure.
 */
export const recordOutcome = async (
  { sessions, countTicks }: Pick<FireOptions, 'sessions' | 'countTicks'>,
  { plan, tick }: OpenTick,
  outcome: FireOutcome,
): Promise<void> => {
  const stream = scheduleStream(plan);
  const command = { type: 'RecordOutcome', tick, outcome } as const;
  // Not made of the tick: one that was skipped has a second outcome when it is fired by hand.
  await sessions.handle(scheduleAggregate, stream, command, { actor: REACTOR, commandId: randomUUID() });
  // Reasons of failures are not labels of the metric: their number is unbounded.
  countTicks(outcome.kind, 1, outcome.kind === 'skipped' ? outcome.reason : undefined);
};

/**
 * An obstacle to a tick that arose after the decision to fire it. Only a tick that is late has one: it waited, its
 * launch has failed, or its process was stopped.
 */
const obstacleTo = async (
  { activations, timers }: FireOptions,
  { plan, tick }: OpenTick,
  isSchedulePaused: boolean,
): Promise<string | undefined> => {
  if (timers.now() - tick.atMs <= ON_TIME_MS) return undefined;
  if (isSchedulePaused) return 'paused';
  await activations.current();
  if (activeSegment(activations.of(plan)) === undefined) return 'deactivated';
  const archived = activations.archived(plan.project).at(-1);
  return archived && archived.untilMs === undefined ? 'archived' : undefined;
};

/** Makes the work on a tick: launch its execution unless an obstacle has come up, and record the outcome. */
export const fireTick = (options: FireOptions): ((open: OpenTick) => Promise<WorkResult>) => {
  const { sessions, launcher, settingsOf, timers } = options;

  const readTick = (open: OpenTick) =>
    sessions.read(scheduleAggregate, scheduleStream(open.plan), ({ state }) => ({
      isOpen: state.open.has(tickKey(open.tick)),
      isBehind: [...state.open.values()].some(({ atMs }) => atMs < open.tick.atMs),
      lastFired: state.lastFired?.name,
      isSchedulePaused: isPaused(state),
    }));

  /**
   * The outcome of a tick that is not launched: skipped, unless a process launched it and ended before recording so.
   */
  const unlaunched = async ({ plan, tick }: OpenTick, reason: string): Promise<FireOutcome> =>
    (await launcher.launched({ plan, ...tick })) ?? { kind: 'skipped', reason };

  const outcomeOf = async (
    open: OpenTick,
    found: Awaited<ReturnType<typeof readTick>>,
  ): Promise<FireOutcome | 'wait'> => {
    const { plan, tick } = open;
    const reason = await obstacleTo(options, open, found.isSchedulePaused);
    if (reason !== undefined) return unlaunched(open, reason);
    const { overlap } = await settingsOf(plan, tick.version);
    const { lastFired } = found;
    const isRunning = overlap !== 'allow' && lastFired !== undefined && (await launcher.isRunning(plan, lastFired));
    const decision = overlapDecision(overlap, { isBehind: found.isBehind, isRunning });
    if (decision === 'wait') return 'wait';
    if (decision === 'skip') return unlaunched(open, 'overlap');
    return launcher.launch({ plan, ...tick });
  };

  return async (open) => {
    const found = await readTick(open);
    if (!found.isOpen) return undefined;
    const outcome = await outcomeOf(open, found);
    if (outcome === 'wait') return { againAtMs: timers.now() + (found.isBehind ? BEHIND_MS : QUEUED_MS) };
    await recordOutcome(options, open, outcome);
    return undefined;
  };
};
