import { StoreUnavailable } from '../fault.js';
import type { Checkpoint } from '../ports/checkpoint.js';
import type { EventFilter, EventLog, LogPage, Subscription } from '../ports/event-store.js';

/** A component that follows the log and acts on its events. */
export interface Reactor {
  /**
   * Resolves after `close`; rejects when the log cannot be followed any further, a page cannot be handled, or the
   * checkpoint cannot be read at the start or written at the end.
   */
  readonly ended: Promise<void>;
  /** Finishes the work in hand and writes the checkpoint. */
  close(): Promise<void>;
}

/**
 * Interval in milliseconds between writes of the checkpoint. The log moves with every commit, and an old checkpoint
 * costs only a little repeated work.
 */
const CHECKPOINT_EVERY_MS = 1_000;

/** The part of the log to follow, and the checkpoint to start from. */
export type FollowOptions = {
  readonly log: Pick<EventLog, 'subscribe'>;
  readonly filter: EventFilter;
  readonly checkpoint: Checkpoint;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /**
   * Called with the error when the store of the checkpoint cannot be reached; the checkpoint is written again while the
   * log is followed. Also called when it cannot be written after the log has failed.
   */
  readonly onFailure: (error: unknown) => void;
};

/** Reports that everything up to a position is done. */
export type OnReached = (position: bigint) => Promise<void>;

/** Handles the pages, one at a time. */
export type OnPage = (page: LogPage, isLive: boolean, reached: OnReached) => Promise<void>;

const keeping = ({ checkpoint, now, onFailure }: FollowOptions, start: bigint) => {
  const kept = { position: start, written: start, atMs: now() };
  const write = async (): Promise<void> => {
    if (kept.position === kept.written) return;
    const { position } = kept;
    kept.atMs = now();
    await checkpoint.write(position);
    kept.written = position;
  };
  let last = Promise.resolve();
  /** One write at a time: pages and finished work both move the checkpoint. */
  const flush = (): Promise<void> => (last = last.catch(() => undefined).then(write));
  const reached = async (position: bigint): Promise<void> => {
    kept.position = position;
    if (now() - kept.atMs < CHECKPOINT_EVERY_MS) return;
    try {
      await flush();
    } catch (error) {
      // If it were thrown, the subscription, whose handler calls this, would end as if the log had failed.
      if (!(error instanceof StoreUnavailable)) throw error;
      onFailure(error);
    }
  };
  return { flush, reached };
};

/**
 * Follows the log from a checkpoint. The checkpoint is written at most once a second while pages come in, and at the
 * end.
 */
export const follow = (options: FollowOptions, onPage: OnPage): Reactor => {
  const { log, filter, checkpoint, onFailure } = options;
  const state: { isClosed: boolean; subscription?: Subscription } = { isClosed: false };

  const run = async (): Promise<void> => {
    const after = await checkpoint.read();
    if (state.isClosed) return;
    const { flush, reached } = keeping(options, after);
    state.subscription = log.subscribe({ after, filter }, (page, isLive) => onPage(page, isLive, reached));
    try {
      await state.subscription.ended;
    } catch (error) {
      await flush().catch(onFailure); // the failure of the log is the one that is reported
      throw error;
    }
    await flush();
  };

  const ended = run();
  return {
    ended,
    close: async () => {
      state.isClosed = true;
      await state.subscription?.close();
      await ended.catch(() => undefined); // `ended` reports it
    },
  };
};
