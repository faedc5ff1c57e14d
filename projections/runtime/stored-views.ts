import type { EventSources } from './event-reader.js';
import { partitionProgress } from './partitions.js';
import type { ReadStore } from './read-store.js';
import { settableViews, type Timer, type Views } from './views.js';

/** Options for tracking views that other processes write. */
export type StoredViewsOptions = {
  readonly readStore: Pick<ReadStore, 'checkpoints'>;
  readonly models: EventSources['models'];
  /** Identity of the log that is served; checkpoints of another log count as position 0. */
  readonly logId: string;
  readonly timer: Timer;
};

/** Interval between reads of the checkpoints while a read waits for the views. */
const WAITING_LOOK_MS = 10;
const LOOK_MS = 250;

/** Tracks the progress of views that other processes write, by polling their checkpoints in the read store. */
export const storedViews = ({
  readStore,
  models,
  logId,
  timer,
}: StoredViewsOptions): Views & { close(): Promise<void> } => {
  const progress = settableViews(timer);
  const state = { isClosed: false, isLooking: false, waiting: 0, callOff: (): void => undefined };

  const look = async (): Promise<void> => {
    state.callOff();
    state.isLooking = true;
    try {
      const reached = await partitionProgress(readStore, { models });
      progress.setPositions(reached.map(({ start }) => (start?.logId === logId ? start.position : 0n)));
    } catch {
      // Waiting reads are not failed by an unavailable store: their own query to the store reports the error.
    } finally {
      state.isLooking = false;
      if (!state.isClosed) state.callOff = timer(state.waiting > 0 ? WAITING_LOOK_MS : LOOK_MS, () => void look());
    }
  };

  void look();
  return {
    position: (stream) => progress.position(stream),
    reached: async (position, timeoutMs, stream) => {
      if (position <= progress.position(stream)) return true;
      state.waiting += 1;
      if (!state.isLooking) void look();
      try {
        return await progress.reached(position, timeoutMs, stream);
      } finally {
        state.waiting -= 1;
      }
    },
    close: () => {
      state.isClosed = true;
      state.callOff();
      return Promise.resolve();
    },
  };
};
