import type { Check } from '../gateway/readiness.js';
import type { EventStore } from '../kernel/ports/event-store.js';
import { keepWarm } from '../sessions/keep-warm.js';
import type { OpenSessions } from '../sessions/sessions.js';
import { lagCheck } from './checks.js';
import { headLag } from './head-lag.js';
import type { WritableLog } from './log-source.js';

/** What a process does to be current where other processes write the log too. */
export type Current = {
  /** Whether it knows what the log had a second ago; it should get no calls otherwise. */
  readonly check: () => Check;
  /** Rejects when the log cannot be followed any further. */
  readonly ended: Promise<void>;
  readonly close: () => Promise<void>;
};

/** A process that knows less than that is not ready. */
const MAX_LAG_MS = 1_000;

/** Whether other processes may write the log too: an embedded one is this process's alone. */
export const isShared = ({ source }: Pick<WritableLog, 'source'>): boolean => source.kind === 'eventstore';

/** A log that nobody else writes is known. */
const ALONE: Current = {
  check: () => ({ name: 'log', state: 'well' }),
  ended: new Promise(() => undefined),
  close: () => Promise.resolve(),
};

/**
 * Keeps a process current: its live streams by one subscription, whose lag is measured with that of the reference.
 */
export const keepCurrent = async (
  log: WritableLog,
  { sessions, reference }: { readonly sessions: OpenSessions; readonly reference?: { position(): bigint } },
): Promise<Current> => {
  if (!isShared(log)) return ALONE;
  const store: EventStore = log.store;
  const warm = await keepWarm(store, sessions);
  const lowest = (): bigint => {
    const known = reference?.position() ?? warm.position();
    return known < warm.position() ? known : warm.position();
  };
  const lag = headLag(store, lowest);
  return {
    check: () => lagCheck('log', lag, { maxMs: MAX_LAG_MS, otherwise: 'down' }),
    ended: warm.ended,
    close: async () => {
      lag.close();
      await warm.close();
    },
  };
};
