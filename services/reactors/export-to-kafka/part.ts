import { setTimeout as pause } from 'node:timers/promises';
import { errorTypesIn, ExportRefused, failureOf, Fenced } from './failure.js';
import type { ExportPosition } from './positions.js';
import { lastPosition, openSession, type Session, type SessionOptions } from './session.js';

/** What all parts of an export share. */
export type PartOptions = SessionOptions & {
  readonly brokers: readonly string[];
  /** How often one that another has taken over from looks whether that one still works, in milliseconds. */
  readonly standbyMs: number;
  /** Hears of every failure that is tried again, and how many there were in a row. */
  readonly onFailure: (error: unknown, times: number) => void;
  readonly onTakenOver: (part: number) => void;
  /** Says better what stands in the way of the first session: with an {@link ExportRefused}, if that will not pass. */
  readonly explain?: (failure: unknown) => Promise<unknown>;
};

/** One part of an export at work. */
export interface Part {
  /** Rejects with an {@link ExportRefused} when it cannot begin. */
  readonly ended: Promise<void>;
  /** Since when something was recorded that is not published, in milliseconds since 1970; `undefined` when nothing. */
  behindSinceMs(): number | undefined;
  close(): Promise<void>;
}

const MAX_PAUSE_MS = 15_000;

/** The last position; none where somebody has deleted the topic of positions: the next session finds that out whole. */
const positionIfAny = (part: number, options: PartOptions): Promise<ExportPosition | undefined> =>
  lastPosition(part, options).catch((error: unknown) => {
    if (errorTypesIn(error).includes('UNKNOWN_TOPIC_OR_PARTITION')) return undefined;
    throw error;
  });

/** Waits as long as another one works on this part: its position moves, or has nothing more to come to. */
const standBy = async (part: number, options: PartOptions, signal: AbortSignal): Promise<void> => {
  const { log, worker, standbyMs } = options;
  let head = await log.head();
  for (let last = await positionIfAny(part, options); last !== undefined && last.worker !== worker;) {
    await pause(standbyMs, undefined, { signal });
    const next = await positionIfAny(part, options);
    if (next?.worker === last.worker && next.position === last.position && head > next.position) return;
    last = next;
    head = await log.head();
  }
};

/** What a part is doing, and since when it could not. */
type State = {
  session: Session | undefined;
  downSinceMs: number;
  hasBegun: boolean;
  isStandby: boolean;
};

/** A session that has just begun does not know yet what waits for it: until it does, nothing is said to have been done. */
const behindSinceMs = ({ session, downSinceMs, isStandby }: State): number | undefined => {
  if (isStandby) return undefined;
  if (session === undefined) return downSinceMs;
  return session.oldestMs() ?? (session.hasCaughtUp() ? undefined : downSinceMs);
};

const work = async (part: number, options: PartOptions, state: State, stopped: Promise<void>): Promise<void> => {
  const session = await openSession(part, options);
  state.session = session;
  state.hasBegun = true;
  try {
    await session.follow(stopped);
  } finally {
    state.downSinceMs = behindSinceMs(state) ?? Date.now();
    state.session = undefined;
    await session.close().catch(() => undefined);
  }
};

const runner = (part: number, options: PartOptions, state: State, signal: AbortSignal): (() => Promise<void>) => {
  const stopped = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
  const fenced = (): void => {
    if (!state.isStandby) options.onTakenOver(part);
    state.isStandby = true;
  };
  const once = async (): Promise<void> => {
    if (state.isStandby) await standBy(part, options, signal);
    state.isStandby = false;
    await work(part, options, state, stopped);
  };
  const explained = async (error: unknown): Promise<unknown> => {
    const failure = failureOf(error, options.brokers);
    const isKnown = state.hasBegun || failure instanceof ExportRefused || failure instanceof Fenced;
    return isKnown ? failure : ((await options.explain?.(failure)) ?? failure);
  };
  return async () => {
    const isStopping = (): boolean => signal.aborted;
    for (let failures = 0; !isStopping();) {
      const began = Date.now();
      const failure = await once().catch(explained);
      if (isStopping()) return;
      if (failure instanceof ExportRefused && !state.hasBegun) throw failure;
      if (failure instanceof Fenced) {
        fenced();
        continue;
      }
      failures = Date.now() - began > MAX_PAUSE_MS ? 1 : failures + 1;
      options.onFailure(failure, failures);
      await pause(Math.min(100 * 2 ** failures, MAX_PAUSE_MS), undefined, { signal }).catch(() => undefined);
    }
  };
};

/**
 * Publishes one part of the log, each event once.
 *
 * Whatever goes wrong, it starts over from what the cluster knows: taking hold of the part settles what was on its way,
 * and the last position in the topic says where to go on.
 */
export const exportPart = (part: number, options: PartOptions): Part => {
  const stopping = new AbortController();
  const state: State = { session: undefined, downSinceMs: Date.now(), hasBegun: false, isStandby: false };
  const ended = runner(part, options, state, stopping.signal)();
  ended.catch(() => undefined); // whoever watches it later hears of it all the same
  return {
    ended,
    behindSinceMs: () => behindSinceMs(state),
    close: async () => {
      stopping.abort();
      await ended.catch(() => undefined);
    },
  };
};
