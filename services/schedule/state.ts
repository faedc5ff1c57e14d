import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt';
import type { DueTick } from './calendar/due.js';
import type { Span } from './calendar/segments.js';
import type { FireOutcome, TickId } from './commands.js';
import type { ScheduleEvent } from './events.js';

/** The outcome of a tick, for readers. */
export type PastTick = TickId & { readonly outcome: FireOutcome };

/** A tick that was fired by hand; without an outcome, it is open. */
export type ManualTick = TickId & { readonly outcome?: FireOutcome };

export type ScheduleState = {
  /** The last tick that is decided, in milliseconds since 1970. */
  untilMs: number;
  /** Ticks that are to be fired and have no outcome yet, in the order of their decision. */
  readonly open: Map<string, DueTick>;
  /** The periods in which the schedule was paused and whose ticks are not all decided; the last may not have ended. */
  paused: readonly Span[];
  /** Ticks that are to be skipped and are not decided yet, ascending, in milliseconds since 1970. */
  skips: readonly number[];
  /** The ticks that requests with an idempotency key have fired by hand in the last day, by the hash of the request. */
  readonly requested: Map<string, ManualTick>;
  /** The execution of the latest tick that was fired. */
  lastFired: { readonly atMs: number; readonly name: string } | undefined;
  /** The last outcomes, at most {@link MAX_PAST}, the newest last. */
  past: readonly PastTick[];
  fired: number;
  skipped: number;
  failed: number;
};

/** Maximum number of past outcomes in a state. */
const MAX_PAST = 10;
/** Requests are known for as long as their idempotency keys, in milliseconds. */
const REQUESTED_MS = 24 * 60 * 60 * 1_000;

export const initialSchedule = (): ScheduleState => ({
  untilMs: 0,
  open: new Map(),
  paused: [],
  skips: [],
  requested: new Map(),
  lastFired: undefined,
  past: [],
  fired: 0,
  skipped: 0,
  failed: 0,
});

export const tickKey = ({ atMs, version }: TickId): string => `${atMs} ${version}`;

export const isPaused = ({ paused }: Pick<ScheduleState, 'paused'>): boolean =>
  paused.length > 0 && paused.at(-1)?.untilMs === undefined;

/** Finds a tick among the past outcomes, if it was fired: by the schedule or by a request. */
export const firedTick = ({ past }: Pick<ScheduleState, 'past'>, tick: TickId): PastTick | undefined =>
  past.find((each) => each.outcome.kind === 'fired' && tickKey(each) === tickKey(tick));

const ms = (at: Timestamp | undefined): number => (at ? timestampMs(at) : 0);

const withPast = (state: ScheduleState, tick: PastTick): void => {
  state.past = [...state.past, tick].slice(-MAX_PAST);
};

const withRequest = ({ requested }: ScheduleState, request: string, tick: ManualTick): void => {
  requested.set(request, tick);
  for (const [older, { atMs }] of requested) {
    if (atMs + REQUESTED_MS >= tick.atMs) return;
    requested.delete(older);
  }
};

const withRequestedOutcome = ({ requested }: ScheduleState, past: PastTick): void => {
  for (const [request, tick] of requested) if (tickKey(tick) === tickKey(past)) requested.set(request, past);
};

type Of<Type extends ScheduleEvent['type']> = Extract<ScheduleEvent, { readonly type: Type }>['data'];

const decided = (state: ScheduleState, { until, fire, skipped }: Of<'ScheduleTicksDecided'>): void => {
  state.untilMs = Math.max(state.untilMs, ms(until));
  state.paused = state.paused.filter(({ untilMs = Infinity }) => untilMs > state.untilMs);
  state.skips = state.skips.filter((atMs) => atMs > state.untilMs);
  for (const { at, version, principal, isMissed, request } of fire) {
    const tick = { atMs: ms(at), version, principal, isMissed };
    const before = firedTick(state, tick);
    if (before === undefined && !state.open.has(tickKey(tick))) state.open.set(tickKey(tick), tick);
    if (request !== '') withRequest(state, request, before ?? { atMs: tick.atMs, version });
  }
  for (const { version, reason, count, last } of skipped) {
    state.skipped += Number(count);
    withPast(state, { atMs: ms(last), version, outcome: { kind: 'skipped', reason } });
  }
};

const ended = (state: ScheduleState, past: PastTick): void => {
  state.open.delete(tickKey(past));
  state[past.outcome.kind] += 1;
  withPast(state, past);
  withRequestedOutcome(state, past);
  if (past.outcome.kind === 'fired' && past.atMs >= (state.lastFired?.atMs ?? 0))
    state.lastFired = { atMs: past.atMs, name: past.outcome.execution.name };
};

const outcomeOf = ({
  type,
  data,
}: Exclude<ScheduleEvent, { type: 'ScheduleTicksDecided' | 'ScheduleTickSkipRequested' }>): FireOutcome | undefined => {
  if (type === 'ScheduleTickFired') {
    const { project = '', domain = '', name = '' } = data.execution ?? {};
    return { kind: 'fired', execution: { project, domain, name } };
  }
  if (type === 'ScheduleTickSkipped') return { kind: 'skipped', reason: data.reason };
  return type === 'ScheduleTickFailed' ? { kind: 'failed', reason: data.reason } : undefined;
};

const paused = (state: ScheduleState, isOn: boolean, atMs: number): void => {
  if (isOn) state.paused = [...state.paused, { fromMs: atMs }];
  else state.paused = state.paused.map((span) => (span.untilMs === undefined ? { ...span, untilMs: atMs } : span));
};

export const evolveSchedule = (state: ScheduleState, event: ScheduleEvent): ScheduleState => {
  if (event.type === 'ScheduleTicksDecided') decided(state, event.data);
  else if (event.type === 'ScheduleTickSkipRequested')
    state.skips = [...state.skips, ms(event.data.at)].sort((a, b) => a - b);
  else if (event.type === 'SchedulePaused' || event.type === 'ScheduleResumed')
    paused(state, event.type === 'SchedulePaused', ms(event.data.at));
  else {
    const outcome = outcomeOf(event);
    if (outcome) ended(state, { atMs: ms(event.data.at), version: event.data.version, outcome });
  }
  return state;
};
