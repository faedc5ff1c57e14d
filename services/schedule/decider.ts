import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';

import {
  SchedulePausedSchema,
  ScheduleResumedSchema,
  ScheduleTickFailedSchema,
  ScheduleTickFiredSchema,
  ScheduleTicksDecidedSchema,
  ScheduleTickSkippedSchema,
  ScheduleTickSkipRequestedSchema,
} from '../../proto/gen/platformidl/eventlog/schedule_pb.js';
import type { Aggregate, Decider, Decision } from '../kernel/aggregate.js';
import type { DecidedTicks } from './calendar/due.js';
import type { DecideTicks, FireByHand, RecordOutcome, ScheduleCommand, SkipTick, TickId } from './commands.js';
import { SCHEDULE_CATEGORY, scheduleCodec, type ScheduleEvent } from './events.js';
import { evolveSchedule, firedTick, initialSchedule, isPaused, type ScheduleState, tickKey } from './state.js';

export { isPaused, tickKey } from './state.js';

export type ScheduleRefusal = { readonly kind: 'already-decided' };

type Verdict = Decision<ScheduleEvent, ScheduleRefusal>;

const NOTHING_TO_DO: Verdict = { kind: 'accepted', events: [] };
const recorded = (event: ScheduleEvent): Verdict => ({ kind: 'accepted', events: [event] });

const decidedEvent = ({ untilMs, fire, skipped }: DecidedTicks): ScheduleEvent => ({
  type: 'ScheduleTicksDecided',
  data: create(ScheduleTicksDecidedSchema, {
    until: timestampFromMs(untilMs),
    fire: fire.map(({ atMs, request = '', ...tick }) => ({ ...tick, request, at: timestampFromMs(atMs) })),
    skipped: skipped.map(({ count, firstMs, lastMs, ...run }) => ({
      ...run,
      count: BigInt(count),
      first: timestampFromMs(firstMs),
      last: timestampFromMs(lastMs),
    })),
  }),
});

const decideTicks = ({ untilMs, paused, skips, open }: ScheduleState, { due }: DecideTicks): Verdict => {
  const decided = due({ untilMs, paused, skips, open: open.size });
  return decided === undefined ? NOTHING_TO_DO : recorded(decidedEvent(decided));
};

/**
 * True for a tick whose past outcomes say only that it was skipped or has failed. Another process, or a request, may
 * have launched it even so.
 */
const wasNotFired = (state: ScheduleState, tick: TickId): boolean =>
  firedTick(state, tick) === undefined && state.past.some((each) => tickKey(each) === tickKey(tick));

/** Records the outcome of an open tick. Of another tick, it records only that it was fired, if it seemed not to be. */
const record = (state: ScheduleState, { tick, outcome }: RecordOutcome): Verdict => {
  const isNew = state.open.has(tickKey(tick)) || (outcome.kind === 'fired' && wasNotFired(state, tick));
  if (!isNew) return NOTHING_TO_DO;
  const at = timestampFromMs(tick.atMs);
  const { version } = tick;
  if (outcome.kind === 'fired')
    return recorded({
      type: 'ScheduleTickFired',
      data: create(ScheduleTickFiredSchema, { at, version, execution: outcome.execution }),
    });
  const { reason } = outcome;
  return recorded(
    outcome.kind === 'skipped'
      ? { type: 'ScheduleTickSkipped', data: create(ScheduleTickSkippedSchema, { at, version, reason }) }
      : { type: 'ScheduleTickFailed', data: create(ScheduleTickFailedSchema, { at, version, reason }) },
  );
};

/**
 * Leaves the ticks of the schedule as they are: `until` stays where it was. Nothing is recorded for a tick that is open
 * or that past outcomes say was fired, unless the request has an idempotency key: it must be found again with this tick.
 */
const fireByHand = (state: ScheduleState, { tick, principal, request }: FireByHand): Verdict => {
  const isKnown = state.open.has(tickKey(tick)) || firedTick(state, tick) !== undefined;
  if (isKnown && request === undefined) return NOTHING_TO_DO;
  const fire = [{ ...tick, principal, request, isMissed: false }];
  return recorded(decidedEvent({ untilMs: state.untilMs, fire, skipped: [] }));
};

const skipTick = ({ untilMs, skips }: ScheduleState, { atMs }: SkipTick): Verdict => {
  if (atMs <= untilMs) return { kind: 'refused', refusal: { kind: 'already-decided' } };
  if (skips.includes(atMs)) return NOTHING_TO_DO;
  const data = create(ScheduleTickSkipRequestedSchema, { at: timestampFromMs(atMs) });
  return recorded({ type: 'ScheduleTickSkipRequested', data });
};

const decide = (state: ScheduleState, command: ScheduleCommand): Verdict => {
  switch (command.type) {
    case 'DecideTicks':
      return decideTicks(state, command);
    case 'RecordOutcome':
      return record(state, command);
    case 'FireByHand':
      return fireByHand(state, command);
    case 'SkipTick':
      return skipTick(state, command);
    case 'PauseSchedule':
      if (isPaused(state)) return NOTHING_TO_DO;
      return recorded({
        type: 'SchedulePaused',
        data: create(SchedulePausedSchema, { at: timestampFromMs(command.atMs) }),
      });
    case 'ResumeSchedule':
      if (!isPaused(state)) return NOTHING_TO_DO;
      return recorded({
        type: 'ScheduleResumed',
        data: create(ScheduleResumedSchema, { at: timestampFromMs(command.atMs) }),
      });
  }
};

const scheduleDecider: Decider<ScheduleState, ScheduleCommand, ScheduleEvent, ScheduleRefusal> = {
  initial: initialSchedule,
  evolve: evolveSchedule,
  decide,
};

/** Estimated memory of a state without its ticks and skips, of a tick and of a skip, in bytes. */
const STATE_BYTES = 550;
const TICK_BYTES = 200;
const SKIP_BYTES = 12;

export const scheduleAggregate: Aggregate<ScheduleState, ScheduleCommand, ScheduleEvent, ScheduleRefusal> = {
  category: SCHEDULE_CATEGORY,
  decider: scheduleDecider,
  codec: scheduleCodec,
  payloadScope: () => 'schedules',
  isPermanentRefusal: () => true,
  sizeOf: ({ open, past, requested, skips }) =>
    STATE_BYTES + (open.size + past.length + requested.size) * TICK_BYTES + skips.length * SKIP_BYTES,
};
