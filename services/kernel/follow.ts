import type { Checkpoint } from './ports/checkpoint.js';
import type { EventFilter, EventLog, LogPage, Subscription } from './ports/event-store.js';
import type { Reactor } from './reactor.js';

/** The log moves with every commit, and being behind costs little. */
const CHECKPOINT_EVERY_MS = 1_000;

/** What of a log is followed, and from where. */
export type FollowOptions = {
  readonly log: Pick<EventLog, 'subscribe'>;
  readonly filter: EventFilter;
  readonly checkpoint: Checkpoint;
  /** Milliseconds since 1970. */
  readonly now: () => number;
};

/** Called with each position up to which everything is done. */
export type Reached = (position: bigint) => Promise<void>;

/** What handles the pages, one after another. */
export type OnPage = (page: LogPage, isLive: boolean, reached: Reached) => Promise<void>;

const keeping = (checkpoint: Checkpoint, start: bigint, now: () => number) => {
  const kept = { position: start, written: start, atMs: now() };
  const flush = async (): Promise<void> => {
    if (kept.position === kept.written) return;
    const { position } = kept;
    kept.atMs = now(); // before the write: another one does not begin beside it
    await checkpoint.write(position);
    kept.written = position;
  };
  const reached = async (position: bigint): Promise<void> => {
    kept.position = position;
    if (now() - kept.atMs >= CHECKPOINT_EVERY_MS) await flush();
  };
  return { flush, reached };
};

/** Follows the log from a checkpoint, which is written now and then and when it is closed. */
export const follow = ({ log, filter, checkpoint, now }: FollowOptions, onPage: OnPage): Reactor => {
  const state: { isClosed: boolean; subscription?: Subscription } = { isClosed: false };

  const run = async (): Promise<void> => {
    const after = await checkpoint.read();
    if (state.isClosed) return;
    const { flush, reached } = keeping(checkpoint, after, now);
    state.subscription = log.subscribe({ after, filter }, (page, isLive) => onPage(page, isLive, reached));
    try {
      await state.subscription.ended;
    } finally {
      await flush();
    }
  };

  const ended = run();
  return {
    ended,
    close: async () => {
      state.isClosed = true;
      await state.subscription?.close();
      await ended.catch(() => undefined); // said by `ended` itself
    },
  };
};
