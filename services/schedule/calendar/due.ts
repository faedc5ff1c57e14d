import { isWithin, type Segment, type Span } from './segments.js';
import type { Ticks } from './cron-ticks.js';

/** The policy for ticks that were not decided in time. */
export type CatchUp = {
  readonly policy: 'all' | 'last' | 'none';
  /** Maximum number of missed ticks that are fired late. */
  readonly max: number;
  /** Ticks older than this, in milliseconds, are not fired late. */
  readonly maxAgeMs: number;
};

/** The reason that a tick is not fired. */
export type SkipReason = 'archived' | 'deactivated' | 'paused' | 'too-old' | 'missed' | 'queue-full' | 'by-hand';

/** A tick that is to be fired. */
export type DueTick = {
  /** Milliseconds since 1970. */
  readonly atMs: number;
  readonly version: string;
  readonly principal: string;
  /** True for a tick that is fired late, because no process fired it when it was due. */
  readonly isMissed: boolean;
  /** The hash of the request that asked for it by hand, if that has an idempotency key. */
  readonly request?: string | undefined;
};

/** Consecutive ticks of one version that are skipped for one reason; times are in milliseconds since 1970. */
export type SkippedTicks = {
  readonly version: string;
  readonly reason: SkipReason;
  readonly count: number;
  readonly firstMs: number;
  readonly lastMs: number;
};

/** The decision on all ticks after the last decision, up to and including `untilMs`. */
export type DecidedTicks = {
  readonly untilMs: number;
  readonly fire: readonly DueTick[];
  readonly skipped: readonly SkippedTicks[];
};

/** The present facts that a decision depends on. */
export type DueFacts = {
  /** Milliseconds since 1970. */
  readonly nowMs: number;
  /** In the order of time. */
  readonly segments: readonly Segment[];
  readonly ticksOf: (segment: Segment) => Ticks;
  readonly catchUp: CatchUp;
  /** The periods in which the project was archived. */
  readonly archived: readonly Span[];
};

/** The facts of the schedule's own stream that a decision depends on. */
export type DecidedFacts = {
  /** The last tick that is decided, in milliseconds since 1970. */
  readonly untilMs: number;
  /** The periods in which the schedule was paused. */
  readonly paused: readonly Span[];
  /** Ticks that are to be skipped, in milliseconds since 1970. */
  readonly skips: readonly number[];
  /** The number of ticks that are decided to be fired, and have no outcome yet. */
  readonly open: number;
};

/** A tick that is decided later than this, in milliseconds, is missed: the catch-up policy applies to it. */
export const ON_TIME_MS = 60_000;
/** The most ticks of one decision: those after them are left to the next decisions. */
const MAX_DECIDED = 5_000;
/** With this many ticks of a plan waiting to be fired, further ones of its schedule are skipped. */
const MAX_OPEN = 1_000;

type Tick = { readonly atMs: number; readonly segment: Segment };

/** The ticks after `afterMs` up to now, in the order of time; the first `MAX_DECIDED` if there are more. */
const ticksUntilNow = ({ segments, ticksOf, nowMs }: DueFacts, afterMs: number): readonly Tick[] => {
  const found: Tick[] = [];
  for (const segment of segments) {
    const endMs = Math.min(nowMs, segment.untilMs ?? Infinity);
    const startMs = Math.max(afterMs, segment.fromMs);
    if (startMs >= endMs) continue;
    const ticks = ticksOf(segment);
    for (let at = ticks.after(startMs); at !== undefined && at <= endMs; at = ticks.after(at)) {
      found.push({ atMs: at, segment });
      if (found.length === MAX_DECIDED) return found;
    }
  }
  return found;
};

const isMissed = ({ atMs }: Pick<Tick, 'atMs'>, { nowMs }: DueFacts): boolean => nowMs - atMs > ON_TIME_MS;

/** The reason that a tick is not fired, regardless of other ticks; `undefined` for one that may be fired. */
const skipReason = (
  { atMs, segment }: Tick,
  facts: DueFacts,
  { paused, skips }: DecidedFacts,
): SkipReason | undefined => {
  const { nowMs, archived, catchUp } = facts;
  if (archived.some((span) => isWithin(span, atMs))) return 'archived';
  if (paused.some((span) => isWithin(span, atMs))) return 'paused';
  if (skips.includes(atMs)) return 'by-hand';
  if (!isMissed({ atMs }, facts)) return undefined;
  if (segment.isDeactivated === true) return 'deactivated';
  if (nowMs - atMs > catchUp.maxAgeMs) return 'too-old';
  return catchUp.policy === 'none' ? 'missed' : undefined;
};

/** Maximum number of missed ticks of a plan that are fired late: no more can wait. */
const mostCaughtUp = ({ policy, max }: CatchUp): number => Math.min(max, policy === 'last' ? 1 : MAX_OPEN);

/**
 * The end of the period, beginning with a skipped tick, in which every tick is skipped: at least the time of the tick
 * itself. In milliseconds since 1970.
 */
const skippedUntil = (
  { atMs, segment }: Tick,
  { nowMs, archived, catchUp }: DueFacts,
  { paused }: DecidedFacts,
): number => {
  const span = [...archived, ...paused].find((each) => isWithin(each, atMs));
  if (span) return span.untilMs ?? Infinity;
  return segment.isDeactivated === true ? Infinity : Math.max(atMs, nowMs - catchUp.maxAgeMs - 1);
};

/** Counts the missed ticks after an instant that may be fired late, up to `most`. Passes over periods without any. */
const missedAfter = (facts: DueFacts, decided: DecidedFacts, afterMs: number, most: number): number => {
  const { segments, ticksOf, nowMs } = facts;
  let count = 0;
  for (const segment of segments) {
    const endMs = Math.min(nowMs - ON_TIME_MS - 1, segment.untilMs ?? Infinity);
    let fromMs = Math.max(afterMs, segment.fromMs);
    while (fromMs < endMs && count < most) {
      const atMs = ticksOf(segment).after(fromMs);
      if (atMs === undefined || atMs > endMs) break;
      const isSkipped = skipReason({ atMs, segment }, facts, decided) !== undefined;
      if (!isSkipped) count += 1;
      fromMs = isSkipped ? skippedUntil({ atMs, segment }, facts, decided) : atMs;
    }
  }
  return count;
};

/** The missed ticks that are fired late: the newest ones. More may be missed than are decided at once. */
const caughtUp = (
  missed: readonly Tick[],
  ticks: readonly Tick[],
  facts: DueFacts,
  decided: DecidedFacts,
): Set<Tick> => {
  const last = ticks.at(-1);
  if (missed.length === 0) return new Set();
  const most = mostCaughtUp(facts.catchUp);
  const later = last && ticks.length === MAX_DECIDED ? missedAfter(facts, decided, last.atMs, most) : 0;
  return new Set(most === later ? [] : missed.slice(later - most));
};

/** Joins ticks of one version that are skipped one after another for one reason. */
const joined = (ticks: readonly Tick[], reasons: ReadonlyMap<Tick, SkipReason>): readonly SkippedTicks[] => {
  const runs: SkippedTicks[] = [];
  let before: Tick | undefined;
  for (const tick of ticks) {
    const reason = reasons.get(tick);
    const { version } = tick.segment;
    const last = runs.at(-1);
    if (reason !== undefined && last?.lastMs === before?.atMs && last?.reason === reason && last.version === version)
      runs[runs.length - 1] = { ...last, count: last.count + 1, lastMs: tick.atMs };
    else if (reason !== undefined) runs.push({ version, reason, count: 1, firstMs: tick.atMs, lastMs: tick.atMs });
    before = tick;
  }
  return runs;
};

/** The reasons of the ticks that are not fired. */
const reasonsOf = (ticks: readonly Tick[], facts: DueFacts, decided: DecidedFacts): ReadonlyMap<Tick, SkipReason> => {
  const reasons = new Map<Tick, SkipReason>();
  for (const tick of ticks) {
    const reason = skipReason(tick, facts, decided);
    if (reason !== undefined) reasons.set(tick, reason);
  }
  const missed = ticks.filter((tick) => !reasons.has(tick) && isMissed(tick, facts));
  const kept = caughtUp(missed, ticks, facts, decided);
  for (const tick of missed) if (!kept.has(tick)) reasons.set(tick, 'missed');
  const fired = ticks.filter((tick) => !reasons.has(tick));
  for (const tick of fired.slice(Math.max(0, MAX_OPEN - decided.open))) reasons.set(tick, 'queue-full');
  return reasons;
};

/**
 * Decides on the ticks that have become due since the last decision. A pure function of what is recorded, the settings
 * and the clock.
 *
 * @returns `undefined` when no tick is due.
 */
export const dueTicks = (facts: DueFacts, decided: DecidedFacts): DecidedTicks | undefined => {
  const ticks = ticksUntilNow(facts, decided.untilMs);
  const last = ticks.at(-1);
  if (last === undefined) return undefined;
  const reasons = reasonsOf(ticks, facts, decided);
  const fire = ticks
    .filter((tick) => !reasons.has(tick))
    .map((tick): DueTick => {
      const { version, principal } = tick.segment;
      return { atMs: tick.atMs, version, principal, isMissed: isMissed(tick, facts) };
    });
  return { untilMs: last.atMs, fire, skipped: joined(ticks, reasons) };
};

/** The policy for a tick that is due while the execution of the tick before it has not ended. */
export type Overlap = 'allow' | 'skip' | 'queue';

/** The decision to fire a tick now, later or not at all. */
export const overlapDecision = (
  overlap: Overlap,
  { isBehind, isRunning }: { readonly isBehind: boolean; readonly isRunning: boolean },
): 'fire' | 'wait' | 'skip' => {
  if (overlap === 'allow') return 'fire';
  // An earlier tick that is not fired yet comes first, because its execution is the one that may overlap.
  if (isBehind) return 'wait';
  if (!isRunning) return 'fire';
  return overlap === 'skip' ? 'skip' : 'wait';
};
