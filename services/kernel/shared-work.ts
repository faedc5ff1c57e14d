import { CLAIM_MS, type Claims } from './ports/claims.js';
import type { Timers } from './ports/timers.js';

/** Work that several processes share, part by part. */
export type SharedWorkOptions = {
  readonly claims: Claims;
  /** What kind of work it is; its claims begin so. */
  readonly group: string;
  readonly parts: readonly string[];
  /** Unlike that of any other process. */
  readonly worker: string;
  readonly timers: Timers;
  /** Called with the parts to work on from now on; those left out are given back when the answer resolves. */
  readonly onAssigned: (parts: readonly string[]) => Promise<void>;
  /** Hears why the claims cannot be looked at; everyone goes on with what he has meanwhile. */
  readonly onFailure: (error: unknown) => void;
};

/** A process's share of some work. */
export interface SharedWork {
  /** Stops looking, has all work stopped, and gives everything back. */
  close(): Promise<void>;
}

/** A part is taken over when its claim has run out and somebody looks: within 10 seconds, with time to spare. */
const LOOK_EVERY_MS = CLAIM_MS / 4;

const isSame = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((each) => other.includes(each));

/** What of the parts is a worker's: every so manieth, by his place among all that there are. */
export const shareOf = (parts: readonly string[], workers: readonly string[], worker: string): readonly string[] => {
  const sorted = [...workers].sort();
  const place = sorted.indexOf(worker);
  return place < 0 ? [] : parts.filter((_, at) => at % sorted.length === place);
};

/** Shares work with other processes: each takes the parts that are its own by the number of workers that there are. */
export const shareWork = ({
  claims,
  group,
  parts,
  worker,
  timers,
  onAssigned,
  onFailure,
}: SharedWorkOptions): SharedWork => {
  const names = parts.map((part) => `${group} ${part}`);
  const presence = `${group} worker ${worker}`;
  const state = { isClosed: false, own: [] as readonly string[], stopWaiting: (): void => undefined };

  const workers = async (): Promise<readonly string[]> => {
    await claims.take([presence], worker);
    const held = await claims.held(`${group} worker `);
    return [...new Set(held.values())];
  };

  const assign = async (own: readonly string[]): Promise<void> => {
    if (isSame(own, state.own)) return;
    state.own = own;
    await onAssigned(parts.filter((_, at) => own.includes(names[at] ?? '')));
  };

  const look = async (): Promise<void> => {
    const share = shareOf(names, await workers(), worker);
    const surplus = state.own.filter((name) => !share.includes(name));
    if (surplus.length > 0) {
      await assign(state.own.filter((name) => share.includes(name)));
      await claims.release(surplus, worker);
    }
    await assign(await claims.take(share, worker));
  };

  const pause = (): Promise<void> =>
    new Promise((resolve) => {
      const cancel = timers.after(state.isClosed ? 0 : LOOK_EVERY_MS, resolve);
      state.stopWaiting = () => {
        cancel();
        resolve();
      };
    });

  const keepLooking = async (): Promise<void> => {
    while (!state.isClosed) {
      await look().catch(onFailure);
      await pause();
    }
  };

  const looking = keepLooking();
  return {
    close: async () => {
      state.isClosed = true;
      state.stopWaiting();
      await looking;
      const { own } = state;
      await assign([]);
      await claims.release([...own, presence], worker).catch(onFailure);
    },
  };
};
