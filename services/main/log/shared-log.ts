import type { Check } from '../../gateway/readiness.js';
import type { LogFollower } from '../../reference/live-folds.js';
import { positionWaits } from '../../reference/position-waits.js';
import { feedLiveStreams, type LiveStreamFeed } from '../../sessions/live-stream-feed.js';
import type { OpenSessions } from '../../sessions/sessions.js';
import { lagCheck } from '../../health/checks.js';
import { headLag } from '../../health/head-lag.js';
import type { WritableLog } from './log-source.js';

/** Keeps a process current where other processes write the log too. */
export type SharedLogReader = {
  /**
   * Down when the process lags behind the log by more than a second, or may not append to it: it should get no calls
   * then.
   */
  readonly check: () => Check;
  /** Rejects when the log cannot be followed any further. */
  readonly ended: Promise<void>;
  readonly close: () => Promise<void>;
};

/** A process with a larger lag is not ready. */
const MAX_LAG_MS = 1_000;

/** True when other processes may write the log too; an embedded log has one writer, this process. */
export const isShared = ({ source }: Pick<WritableLog, 'source'>): boolean => source.kind === 'eventstore';

/** A process that is the only writer of its log is always current. */
const ALONE: SharedLogReader = {
  check: () => ({ name: 'log', state: 'well' }),
  ended: new Promise(() => undefined),
  close: () => Promise.resolve(),
};

/** Sessions that are kept current, and waits until they have reached a position. */
export type WarmSessions = LiveStreamFeed & Pick<LogFollower, 'reached'>;

/** Keeps the sessions current where other processes write the log too; `undefined` where none does. */
export const warmSessions = async (log: WritableLog, sessions: OpenSessions): Promise<WarmSessions | undefined> => {
  if (!isShared(log)) return undefined;
  const waits = positionWaits({ hasReached: (position) => warm.position() >= position });
  const warm: LiveStreamFeed = await feedLiveStreams(log.store, sessions, () => waits.advanced());
  return {
    ...warm,
    reached: (position, timeoutMs) => waits.reached(position, timeoutMs),
    close: () => {
      waits.close();
      return warm.close();
    },
  };
};

/** Watches the lag of a process: of its sessions, and of the reference where it has one. Its `close` closes `warm`. */
export const watchLag = (
  { store, denied }: Pick<WritableLog, 'store' | 'denied'>,
  { warm, reference }: { readonly warm: WarmSessions | undefined; readonly reference?: { position(): bigint } },
): SharedLogReader => {
  if (warm === undefined) return ALONE;
  const lowest = (): bigint => {
    const known = reference?.position() ?? warm.position();
    return known < warm.position() ? known : warm.position();
  };
  const lag = headLag(store, lowest);
  return {
    check: () => {
      const check = lagCheck('log', lag, { maxMs: MAX_LAG_MS, otherwise: 'down' });
      const denial = denied();
      return denial === undefined || check.state !== 'well' ? check : { ...check, state: 'down', why: denial };
    },
    ended: warm.ended,
    close: async () => {
      lag.close();
      await warm.close();
    },
  };
};
