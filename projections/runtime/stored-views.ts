import type { EventSources } from './event-reader.js';
import { highestOf, PARTITIONS } from './partitions.js';
import type { ReadStore } from './read-store.js';
import { storedProgress } from './stored-progress.js';
import { settableViews, type Timer, type Views } from './views.js';

/** Options for tracking views that other processes write. */
export type StoredViewsOptions = {
  readonly readStore: Pick<ReadStore, 'checkpoints'>;
  readonly models: EventSources['models'];
  /** Identity of the log that is served; checkpoints of another log count as position 0. */
  readonly logId: string;
  readonly timer: Timer;
};

/** Pause between polls of the checkpoints, in milliseconds: while a read waits for the views, and otherwise. */
const WAITING_POLL_MS = 10;
const POLL_MS = 250;

/** The positions of the views in service, by partition, and those of each view that is behind them. */
type InStore = { readonly inService: readonly bigint[]; readonly building: ReadonlyMap<string, readonly bigint[]> };

/**
 * Reads the positions of the views. In each partition the highest one is that of the views in service; a view that is
 * behind it in any partition is being built.
 */
const positionsIn = async ({ readStore, models, logId }: StoredViewsOptions): Promise<InStore> => {
  const progress = await storedProgress(readStore, { models });
  const positions = models.map(({ collection: { name } }) => {
    const starts = PARTITIONS.map((partition) => progress.startOf(name, partition)?.checkpoint);
    return [name, starts.map((start) => (start?.logId === logId ? start.position : 0n))] as const;
  });
  const inService = PARTITIONS.map((partition) => highestOf(positions.map(([, each]) => each[partition] ?? 0n)));
  const isBehind = (each: readonly bigint[]): boolean => inService.some((position, at) => (each[at] ?? 0n) < position);
  return { inService, building: new Map(positions.filter(([, each]) => isBehind(each))) };
};

/** Tracks the progress of views that other processes write, by polling their checkpoints in the read store. */
export const storedViews = (options: StoredViewsOptions): Views & { close(): Promise<void> } => {
  const { timer } = options;
  const progress = settableViews(timer);
  const state = { isClosed: false, isPolling: false, waiting: 0, cancel: (): void => undefined };

  const poll = async (): Promise<void> => {
    state.cancel();
    state.isPolling = true;
    try {
      const { inService, building } = await positionsIn(options);
      progress.setPositions(inService, building);
    } catch {
      // Waiting reads are not failed by an unavailable store: their own query to the store reports the error.
    } finally {
      state.isPolling = false;
      if (!state.isClosed) state.cancel = timer(state.waiting > 0 ? WAITING_POLL_MS : POLL_MS, () => void poll());
    }
  };

  void poll();
  return {
    position: (scope) => progress.position(scope),
    building: () => progress.building(),
    reached: async (position, timeoutMs, scope) => {
      if (position <= progress.position(scope)) return true;
      state.waiting += 1;
      if (!state.isPolling) void poll();
      try {
        return await progress.reached(position, timeoutMs, scope);
      } finally {
        state.waiting -= 1;
      }
    },
    close: () => {
      state.isClosed = true;
      state.cancel();
      return Promise.resolve();
    },
  };
};
