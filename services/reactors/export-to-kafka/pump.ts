import { type Outgoing, sizeOf } from './message.js';

/** Publishes messages in batches, one after another. */
export interface Pump {
  /**
   * Adds the messages of all events up to a position, possibly none; waits while too many are queued.
   *
   * @throws the error of the batch that could not be published.
   */
  add(messages: readonly Outgoing[], position: bigint): Promise<void>;
  /** Time at which the oldest event that is not published was recorded, in milliseconds since 1970. */
  oldestMs(): number | undefined;
  /** The position up to which messages were added. */
  seen(): bigint;
  /** Rejects with the error of the batch that could not be published. */
  readonly failed: Promise<never>;
  /** Ends after the batch in flight; queued messages are not published. */
  close(): Promise<void>;
}

export type PumpOptions = {
  /** The position that is already published. */
  readonly from: bigint;
  /** Maximum size of a batch in bytes; a larger message goes alone. */
  readonly maxBytes: number;
  readonly write: (messages: readonly Outgoing[], position: bigint) => Promise<void>;
  /** Interval in milliseconds after which the position alone is written when there are no events to publish. */
  readonly idleMs: number;
};

/** The queued messages, in the order of the log. */
const openQueue = (maxBytes: number) => {
  let messages: Outgoing[] = [];
  let bytes = 0;
  return {
    isEmpty: () => messages.length === 0,
    isFull: () => bytes > maxBytes,
    oldestMs: () => messages[0]?.recordedAtMs,
    add: (more: readonly Outgoing[]): void => {
      messages.push(...more);
      for (const message of more) bytes += sizeOf(message);
    },
    /** Takes the next batch: at least one message if there is any. */
    take: (): readonly Outgoing[] => {
      let taken = 0;
      let count = 0;
      for (const message of messages) {
        if (taken + sizeOf(message) > maxBytes && count > 0) break;
        taken += sizeOf(message);
        count += 1;
      }
      const batch = messages.slice(0, count);
      messages = messages.slice(count);
      bytes -= taken;
      return batch;
    },
  };
};

/** Collects messages while a batch is in flight, so that batches grow with the load. */
export const openPump = ({ from, maxBytes, write, idleMs }: PumpOptions): Pump => {
  const queue = openQueue(maxBytes);
  const state = { seen: from, written: from, oldestMs: undefined as number | undefined, isClosed: false };
  let writing: Promise<void> | undefined;
  let wake: () => void = () => undefined;
  let fail: (error: unknown) => void = () => undefined;
  const failed = new Promise<never>((_, reject) => (fail = reject));
  failed.catch(() => undefined); // no unhandled rejection; a later listener still gets the error

  const writeAll = async (): Promise<void> => {
    do {
      const batch = queue.take();
      state.oldestMs = batch[0]?.recordedAtMs;
      wake();
      const position = queue.isEmpty() ? state.seen : (batch.at(-1)?.position ?? state.seen);
      await write(batch, position);
      state.written = position;
    } while (!queue.isEmpty() && !state.isClosed);
    state.oldestMs = undefined;
    writing = undefined; // in the same turn as the last check of the queue
  };

  const start = (): void => {
    if (writing || state.isClosed) return;
    writing = writeAll().catch((error: unknown) => {
      state.isClosed = true;
      fail(error);
      wake();
    });
  };

  const idle = setInterval(() => state.seen > state.written && start(), idleMs);

  return {
    failed,
    oldestMs: () => state.oldestMs ?? queue.oldestMs(),
    seen: () => state.seen,
    add: async (messages, position) => {
      queue.add(messages);
      state.seen = position;
      if (!queue.isEmpty()) start();
      while (queue.isFull() && !state.isClosed) await new Promise<void>((resolve) => (wake = resolve));
      if (state.isClosed) await Promise.race([failed, Promise.resolve()]);
    },
    close: async () => {
      state.isClosed = true;
      clearInterval(idle);
      wake();
      await writing;
    },
  };
};
