import { randomUUID } from 'node:crypto';

import type { Sessions } from '../../kernel/ports/sessions.js';
import type { Timers } from '../../kernel/ports/timers.js';
import { type DueFacts, type DueTick, dueTicks, type SkippedTicks } from '../../schedule/calendar/due.js';
import type { Ticks } from '../../schedule/calendar/cron-ticks.js';
import type { Segment } from '../../schedule/calendar/segments.js';
import { segmentTicks } from '../../schedule/calendar/ticks.js';
import type { DecideTicks } from '../../schedule/commands.js';
import { scheduleAggregate } from '../../schedule/decider.js';
import type { LaunchPlanName } from '../../kernel/identifier.js';
import { scheduleStream } from '../../schedule/events.js';
import { REACTOR } from './fire.js';
import type { Activations } from '../../schedule/calendar/activations.js';
import type { CountTicks, SettingsOf } from './ports.js';

export type DecideOptions = {
  readonly sessions: Pick<Sessions, 'handle' | 'read'>;
  readonly activations: Pick<Activations, 'of' | 'archived' | 'current'>;
  readonly settingsOf: SettingsOf;
  readonly timers: Pick<Timers, 'now'>;
  /** The time zone of an expression that names none. */
  readonly timezone: string;
  readonly countTicks: CountTicks;
};

/** The ticks of a plan that are to be fired, and when the next one is due, in milliseconds since 1970. */
export type DecidedPlan = { readonly open: readonly DueTick[]; readonly nextMs: number | undefined };

/** Finds the ticks of segments, and keeps parsed expressions. */
const parsedTicks = (timezone: string): DueFacts['ticksOf'] => {
  const parsed = new WeakMap<Segment, Ticks>();
  return (segment) => {
    const ticks = parsed.get(segment) ?? segmentTicks(segment, timezone);
    parsed.set(segment, ticks);
    return ticks;
  };
};

const factsOf = async (
  { activations, settingsOf, timers }: DecideOptions,
  ticksOf: DueFacts['ticksOf'],
  plan: LaunchPlanName,
): Promise<DueFacts> => {
  const nowMs = timers.now();
  // After the clock was read: what is recorded later than now changes no tick up to now.
  await activations.current();
  const segments = activations.of(plan);
  const { catchUp } = await settingsOf(plan, segments.at(-1)?.version ?? '');
  const archived = activations.archived(plan.project);
  return { nowMs, segments, ticksOf, catchUp, archived };
};

/**
 * The first tick after the last decided one, in milliseconds since 1970; none while the project is archived. It may be
 * of a version that is no longer active, because one decision has a limited number of ticks.
 */
const nextMs = ({ segments, archived, ticksOf }: DueFacts, decidedUntilMs: number): number | undefined => {
  const archival = archived.at(-1);
  if (archival !== undefined && archival.untilMs === undefined) return undefined;
  for (const segment of segments) {
    const { fromMs, untilMs = Infinity } = segment;
    if (untilMs <= decidedUntilMs) continue;
    const tick = ticksOf(segment).after(Math.max(fromMs, decidedUntilMs));
    if (tick !== undefined && tick <= untilMs) return tick;
  }
  return undefined;
};

/** Makes the decision on the ticks of a plan that have become due since the last one, and records it. */
export const decidePlan = (options: DecideOptions): ((plan: LaunchPlanName) => Promise<DecidedPlan>) => {
  const { sessions, countTicks } = options;
  const ticksOf = parsedTicks(options.timezone);
  return async (plan) => {
    const facts = await factsOf(options, ticksOf, plan);
    const stream = scheduleStream(plan);
    let skipped: readonly SkippedTicks[] = [];
    const command: DecideTicks = {
      type: 'DecideTicks',
      due: (decided) => {
        const due = dueTicks(facts, decided);
        skipped = due?.skipped ?? [];
        return due;
      },
    };
    await sessions.handle(scheduleAggregate, stream, command, { actor: REACTOR, commandId: randomUUID() });
    for (const { count, reason } of skipped) countTicks('skipped', count, reason);
    return sessions.read(scheduleAggregate, stream, ({ state }) => ({
      open: [...state.open.values()],
      nextMs: nextMs(facts, state.untilMs),
    }));
  };
};
