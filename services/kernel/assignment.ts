import { LEASE_MS, type Leases } from './ports/leases.js';
import type { Timers } from './ports/timers.js';

/** Settings for sharing partitions of work among several processes. */
export type AssignmentOptions = {
  readonly leases: Leases;
  /** The kind of work; prefix of the names of its leases. */
  readonly group: string;
  readonly partitions: readonly string[];
  /** The name of this process, unique among all that share the work. */
  readonly worker: string;
  /** Describes this process to readers of the leases; called at each renewal. */
  readonly description?: () => string;
  readonly timers: Timers;
  /**
   * Called with all partitions that this process has from now on, and again at each renewal while it rejects.
   * Partitions that the process had before, and that are not among them, are released once the promise resolves.
   */
  readonly onAssigned: (partitions: readonly string[]) => Promise<void>;
  /**
   * Called with the error when the leases cannot be read or written, or `onAssigned` rejects at a renewal. Without the
   * leases, the process keeps its partitions.
   */
  readonly onFailure: (error: unknown) => void;
};

/** The partitions that are assigned to this process. */
export interface Assignment {
  /** Stops the work on all partitions and releases them. Rejects as `onAssigned` does; the leases then expire. */
  close(): Promise<void>;
}

/**
 * The interval of renewals. A partition is taken over at the first renewal of another process after its lease has
 * ended: within 10 seconds.
 */
const RENEW_EVERY_MS = LEASE_MS / 4;

const isSame = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((each) => other.includes(each));

/** The partitions of one worker: with n workers every n-th one, starting at the worker's index in the sorted names. */
export const shareOf = (
  partitions: readonly string[],
  workers: readonly string[],
  worker: string,
): readonly string[] => {
  const sorted = [...workers].sort();
  const index = sorted.indexOf(worker);
  return index < 0 ? [] : partitions.filter((_, at) => at % sorted.length === index);
};

type State = {
  isClosed: boolean;
  assigned: readonly string[];
  /** The leases that are to be released once `onAssigned` resolves. */
  surplus: readonly string[];
  /** False while `onAssigned` has yet to resolve for `assigned`. */
  isSettled: boolean;
  stopWaiting: () => void;
};

const newState = (): State => ({
  isClosed: false,
  assigned: [],
  surplus: [],
  isSettled: true,
  stopWaiting: () => undefined,
});

/** Divides partitions evenly among the participating processes, and again whenever a process joins or leaves. */
export const assignPartitions = ({
  leases,
  group,
  partitions,
  worker,
  description,
  timers,
  onAssigned,
  onFailure,
}: AssignmentOptions): Assignment => {
  const names = partitions.map((partition) => `${group} ${partition}`);
  const presence = `${group} worker ${worker}`;
  const state = newState();

  const workers = async (): Promise<readonly string[]> => {
    await leases.take([presence], worker);
    if (description) await leases.describe(presence, worker, description());
    const held = await leases.held(`${group} worker `);
    return [...new Set(held.values())];
  };

  const assign = async (assigned: readonly string[]): Promise<void> => {
    if (state.isSettled && isSame(assigned, state.assigned)) return;
    state.assigned = assigned;
    state.isSettled = false;
    await onAssigned(partitions.filter((_, at) => assigned.includes(names[at] ?? '')));
    state.isSettled = true;
  };

  const renew = async (): Promise<void> => {
    const share = shareOf(names, await workers(), worker);
    // Before the assignment, which may reject: the leases that this process keeps are renewed in any case.
    const taken = await leases.take(share, worker);
    state.surplus = [...state.surplus, ...state.assigned].filter((name) => !share.includes(name));
    await assign(taken);
    if (state.surplus.length > 0) await leases.release(state.surplus, worker);
    state.surplus = [];
  };

  const pause = (): Promise<void> =>
    new Promise((resolve) => {
      const cancel = timers.after(state.isClosed ? 0 : RENEW_EVERY_MS, resolve);
      state.stopWaiting = () => {
        cancel();
        resolve();
      };
    });

  const keepRenewing = async (): Promise<void> => {
    while (!state.isClosed) {
      await renew().catch(onFailure);
      await pause();
    }
  };

  const renewing = keepRenewing();
  return {
    close: async () => {
      state.isClosed = true;
      state.stopWaiting();
      await renewing;
      const { assigned, surplus } = state;
      await assign([]);
      await leases.release([...assigned, ...surplus, presence], worker).catch(onFailure);
    },
  };
};
