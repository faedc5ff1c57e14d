import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';

import {
  SchedulePausedSchema,
  ScheduleResumedSchema,
  ScheduleTickFiredSchema,
  ScheduleTicksDecidedSchema,
  ScheduleTickSkippedSchema,
  ScheduleTickSkipRequestedSchema,
} from '../../../proto/gen/platformidl/eventlog/schedule_pb.js';
import type { FireByHand, ScheduleCommand, TickId } from '../../../services/schedule/commands.js';
import { scheduleAggregate } from '../../../services/schedule/decider.js';
import type { ScheduleEvent } from '../../../services/schedule/events.js';
import { given } from '../../support/streams/given.js';

const { decider } = scheduleAggregate;
const at = (atMs: number) => ({ at: timestampFromMs(atMs) });

const tick: TickId = { atMs: 5_000, version: 'v1' };
const byHand = (of: TickId = tick): FireByHand => ({ type: 'FireByHand', tick: of, principal: 'ada' });

/** The event by which all ticks of the schedule up to a time are decided, and these are to be fired. */
const decided = (untilMs: number, ...ticks: readonly (TickId & { readonly request?: string })[]): ScheduleEvent => ({
  type: 'ScheduleTicksDecided',
  data: create(ScheduleTicksDecidedSchema, {
    until: timestampFromMs(untilMs),
    fire: ticks.map(({ atMs, ...rest }) => ({ ...at(atMs), ...rest, principal: 'ada', isMissed: false })),
  }),
});
/** The event by which a request opens a tick; it decides on no other ticks. */
const byRequest = ({ atMs, version }: TickId): ScheduleEvent => ({
  type: 'ScheduleTicksDecided',
  data: create(ScheduleTicksDecidedSchema, { fire: [{ ...at(atMs), version, principal: 'ada', request: 'r1' }] }),
});
const fired: ScheduleEvent = {
  type: 'ScheduleTickFired',
  data: create(ScheduleTickFiredSchema, {
    ...at(tick.atMs),
    version: tick.version,
    execution: { project: 'p', domain: 'd', name: 'f1' },
  }),
};
const skipped: ScheduleEvent = {
  type: 'ScheduleTickSkipped',
  data: create(ScheduleTickSkippedSchema, { ...at(tick.atMs), version: tick.version, reason: 'paused' }),
};
const skip = (atMs: number): ScheduleCommand => ({ type: 'SkipTick', atMs });
const skipRequested = (atMs: number): ScheduleEvent => ({
  type: 'ScheduleTickSkipRequested',
  data: create(ScheduleTickSkipRequestedSchema, at(atMs)),
});
const pause: ScheduleCommand = { type: 'PauseSchedule', atMs: 7_000 };
const resume: ScheduleCommand = { type: 'ResumeSchedule', atMs: 8_000 };
const paused: ScheduleEvent = { type: 'SchedulePaused', data: create(SchedulePausedSchema, at(7_000)) };
const resumed: ScheduleEvent = { type: 'ScheduleResumed', data: create(ScheduleResumedSchema, at(8_000)) };

describe('a tick that is fired by hand', () => {
  it('is decided, and the ticks of the schedule stay decided up to the same time', () => {
    given(decider, decided(9_000)).when(byHand()).then(decided(9_000, tick));
  });

  it('is not decided again while it is open, nor after it was fired', () => {
    given(decider, decided(0, tick)).when(byHand()).thenNothing();
    given(decider, decided(0, tick), fired).when(byHand()).thenNothing();
  });

  it('is decided when the schedule has skipped it: nothing was launched', () => {
    given(decider, decided(0, tick), skipped).when(byHand()).then(decided(0, tick));
  });

  it('is recorded with its request while it is open, and after it was fired', () => {
    const asked: FireByHand = { ...byHand(), request: 'r1' };
    given(decider, decided(0, tick))
      .when(asked)
      .then(decided(0, { ...tick, request: 'r1' }));
    given(decider, decided(0, tick), fired)
      .when(asked)
      .then(decided(0, { ...tick, request: 'r1' }));
  });

  it('stays that of the principal for which it was opened, also after a request by another one', () => {
    const state = decider.evolve(decider.initial(), decided(0, tick));
    const other = { ...at(tick.atMs), version: tick.version, principal: 'bob', request: 'r1' };
    const data = create(ScheduleTicksDecidedSchema, { fire: [other] });
    const { open } = decider.evolve(state, { type: 'ScheduleTicksDecided', data });
    expect([...open.values()]).toMatchObject([{ principal: 'ada' }]);
  });

  it('is not open again after it was fired, and its request has the outcome', () => {
    const events = [decided(0, tick), fired, decided(6_000, tick), byRequest(tick)];
    const {
      open,
      fired: count,
      requested,
    } = events.reduce((state, event) => decider.evolve(state, event), decider.initial());
    expect([[...open.keys()], count]).toEqual([[], 1]);
    expect(requested.get('r1')).toMatchObject({ ...tick, outcome: { kind: 'fired', execution: { name: 'f1' } } });
  });

  it('is decided beside one of another time or of another version', () => {
    const [later, newer] = [
      { ...tick, atMs: 6_000 },
      { ...tick, version: 'v2' },
    ];
    given(decider, decided(0, tick), fired).when(byHand(later)).then(decided(0, later));
    given(decider, decided(0, tick), fired).when(byHand(newer)).then(decided(0, newer));
  });
});

describe('the outcome of a tick', () => {
  const execution = { project: 'p', domain: 'd', name: 'f1' };
  const wasFired: ScheduleCommand = { type: 'RecordOutcome', tick, outcome: { kind: 'fired', execution } };
  const wasSkipped: ScheduleCommand = { type: 'RecordOutcome', tick, outcome: { kind: 'skipped', reason: 'paused' } };

  it('is recorded once, and only for a tick that was decided', () => {
    given(decider, decided(0, tick)).when(wasFired).then(fired);
    given(decider, decided(0, tick), fired).when(wasFired).thenNothing();
    given(decider, decided(0, tick), fired).when(wasSkipped).thenNothing();
    given(decider, decided(0, tick), skipped).when(wasSkipped).thenNothing();
    given(decider).when(wasFired).thenNothing();
  });

  it('is recorded as fired also after it was recorded as skipped, when the tick was launched all the same', () => {
    given(decider, decided(0, tick), skipped).when(wasFired).then(fired);
    given(decider, decided(0, tick), skipped, fired).when(wasFired).thenNothing();
  });
});

describe('a tick to skip', () => {
  it('is recorded once', () => {
    given(decider, decided(4_000)).when(skip(4_001)).then(skipRequested(4_001));
    given(decider, skipRequested(4_001)).when(skip(4_001)).thenNothing();
  });

  it('is refused when ticks are decided up to its time or beyond', () => {
    given(decider, decided(4_000)).when(skip(3_999)).thenRefused({ kind: 'already-decided' });
    given(decider, decided(4_000)).when(skip(4_000)).thenRefused({ kind: 'already-decided' });
  });

  it('is refused permanently, because ticks stay decided', () => {
    expect(scheduleAggregate.isPermanentRefusal({ kind: 'already-decided' })).toBe(true);
  });
});

describe('a schedule', () => {
  it('is paused unless it is paused already, and resumed only when it is paused', () => {
    given(decider).when(pause).then(paused);
    given(decider, paused).when(pause).thenNothing();
    given(decider, paused).when(resume).then(resumed);
    given(decider).when(resume).thenNothing();
    given(decider, paused, resumed).when(resume).thenNothing();
  });

  it('is estimated to take more memory with each tick and each skip, and no less after an outcome', () => {
    const sizeAfter = (...events: readonly ScheduleEvent[]): number =>
      scheduleAggregate.sizeOf(events.reduce((state, event) => decider.evolve(state, event), decider.initial()));
    const other = { ...tick, version: 'v2' };
    const ofTick = sizeAfter(decided(0, tick)) - sizeAfter();
    const ofSkip = sizeAfter(skipRequested(5_000)) - sizeAfter();
    expect(ofSkip).toBeGreaterThan(1);
    expect(ofTick).toBeGreaterThan(ofSkip);
    expect(sizeAfter()).toBeGreaterThan(ofTick);
    expect(sizeAfter(decided(0, tick, other)) - sizeAfter()).toBe(2 * ofTick);
    expect(sizeAfter(decided(0, tick), fired)).toBe(sizeAfter(decided(0, tick)));
    expect(sizeAfter(decided(0, tick, other), fired)).toBe(sizeAfter(decided(0, tick, other)));
    expect(sizeAfter(byRequest(tick)) - sizeAfter()).toBe(2 * ofTick);
    expect(sizeAfter(skipRequested(5_000), skipRequested(6_000)) - sizeAfter()).toBe(2 * ofSkip);
  });

  it('stores large contents in the payload scope "schedules"', () => {
    expect(scheduleAggregate.payloadScope(pause)).toBe('schedules');
  });
});
