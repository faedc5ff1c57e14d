import { setTimeout as pause } from 'node:timers/promises';
import { errorTypesIn, ExportRefused, exportFailureOf, Fenced } from './failure.js';
import type { ExportPosition } from './positions.js';
import { lastPosition, openSession, type ExportSession, type SessionOptions } from './session.js';

/** Settings that all partitions of an export share. */
export type PartitionOptions = SessionOptions & {
  readonly brokers: readonly string[];
  /** Interval in milliseconds at which a process on standby checks whether the process that took over still works. */
  readonly standbyMs: number;
  /**
   * Called before each retry, except after being fenced. `times` counts the failures in a row; a failure more than 15 s
   * after its session began is the first of a new row.
   */
  readonly onFailure: (error: unknown, times: number) => void;
  /** Called when another process has taken over, before this one goes on standby. */
  readonly onTakenOver: (partition: number) => void;
};

/** One running partition of an export. */
export interface ExportPartition {
  /**
   * Resolves after `close`. Rejects with an {@link ExportRefused} only before the first session has begun: later ones
   * are reported to `onFailure` and retried, so that the operator can repair the cluster while the process runs.
   */
  readonly ended: Promise<void>;
  /**
   * Time in milliseconds since 1970 since which recorded events wait to be published; where that is not known, until a
   * session has caught up, the time of the start, of an interruption, or of the end of a standby. `undefined` when no
   * event waits, and on standby.
   */
  behindSinceMs(): number | undefined;
  close(): Promise<void>;
}

const MAX_PAUSE_MS = 15_000;

/** A session that lasted longer was healthy: its failure is the first of a new row. */
const HEALTHY_MS = 15_000;

/** The last position; also `undefined` when the topic of positions was deleted: the next session handles that case. */
const positionIfAny = (partition: number, options: PartitionOptions): Promise<ExportPosition | undefined> =>
  lastPosition(partition, options).catch((error: unknown) => {
    if (errorTypesIn(error).includes('UNKNOWN_TOPIC_OR_PARTITION')) return undefined;
    throw error;
  });

/**
 * Waits while another process works on this partition: until its position stops moving although the log has more
 * events, or there is no position of another process any more.
 */
const standBy = async (partition: number, options: PartitionOptions, signal: AbortSignal): Promise<void> => {
  const { log, worker, standbyMs } = options;
  let head = await log.head();
  for (let last = await positionIfAny(partition, options); last !== undefined && last.worker !== worker;) {
    await pause(standbyMs, undefined, { signal });
    const next = await positionIfAny(partition, options);
    if (next?.worker === last.worker && next.position === last.position && head > next.position) return;
    last = next;
    head = await log.head();
  }
};

type State = {
  session: ExportSession | undefined;
  /**
   * Time since which events waited when publishing was last interrupted, by default the time of that; or the time at
   * which the process was started or a standby ended. Used until the session has caught up.
   */
  downSinceMs: number;
  hasBegun: boolean;
  /** Time at which the session of the present attempt began; `undefined` until then, which may take long. */
  begunMs: number | undefined;
  isStandby: boolean;
};

/**
 * Time since which events wait to be published; `undefined` on standby. A new session does not know yet which events
 * wait, so `downSinceMs` counts until it has received one of them, or has caught up.
 */
const behindSinceMs = ({ session, downSinceMs, isStandby }: State): number | undefined => {
  if (isStandby) return undefined;
  if (session === undefined) return downSinceMs;
  return session.oldestMs() ?? (session.hasCaughtUp() ? undefined : downSinceMs);
};

/** Opens a session and publishes until it ends. */
const runSession = async (
  partition: number,
  options: PartitionOptions,
  state: State,
  stopped: Promise<void>,
): Promise<void> => {
  const session = await openSession(partition, options);
  state.session = session;
  state.hasBegun = true;
  state.begunMs = Date.now();
  try {
    await session.follow(stopped);
  } finally {
    state.downSinceMs = behindSinceMs(state) ?? Date.now();
    state.session = undefined;
    await session.close().catch(() => undefined);
  }
};

/** Makes the loop that runs sessions one after the other, until `signal` aborts. */
const loopOf = (
  partition: number,
  options: PartitionOptions,
  state: State,
  signal: AbortSignal,
): (() => Promise<void>) => {
  const stopped = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
  const enterStandby = (): void => {
    if (!state.isStandby) options.onTakenOver(partition);
    state.isStandby = true;
  };
  const attempt = async (): Promise<void> => {
    state.begunMs = undefined;
    if (state.isStandby) {
      await standBy(partition, options, signal);
      state.downSinceMs = Date.now(); // until then another process has published
    }
    state.isStandby = false;
    await runSession(partition, options, state, stopped);
  };
  return async () => {
    const isStopping = (): boolean => signal.aborted;
    for (let failures = 0; !isStopping();) {
      const failure = await attempt().catch((error: unknown) => exportFailureOf(error, options.brokers));
      if (isStopping()) return;
      if (failure instanceof ExportRefused && !state.hasBegun) throw failure;
      if (failure instanceof Fenced) {
        enterStandby();
        continue;
      }
      failures = Date.now() - (state.begunMs ?? Infinity) > HEALTHY_MS ? 1 : failures + 1;
      options.onFailure(failure, failures);
      await pause(Math.min(100 * 2 ** failures, MAX_PAUSE_MS), undefined, { signal }).catch(() => undefined);
    }
  };
};

/**
 * Publishes one partition of the log, each event exactly once.
 *
 * After any failure it starts over from the state of the cluster: opening a session settles the transactions in flight,
 * and the last position in the topic says where to continue.
 */
export const exportPartition = (partition: number, options: PartitionOptions): ExportPartition => {
  const stopping = new AbortController();
  const state: State = {
    session: undefined,
    downSinceMs: Date.now(),
    hasBegun: false,
    begunMs: undefined,
    isStandby: false,
  };
  const ended = loopOf(partition, options, state, stopping.signal)();
  ended.catch(() => undefined); // no unhandled rejection; a later listener still gets the error
  return {
    ended,
    behindSinceMs: () => behindSinceMs(state),
    close: async () => {
      stopping.abort();
      await ended.catch(() => undefined);
    },
  };
};
