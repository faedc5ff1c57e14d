import { type Outgoing, sizeOf } from './message.js';

/** What publishes one batch after another. */
export interface Pump {
  /**
   * Takes the messages of everything up to a position, which may be none; waits while there is too much.
   *
   * @throws what the batch has thrown that could not be published.
   */
  add(messages: readonly Outgoing[], position: bigint): Promise<void>;
  /** When the oldest event was recorded that is not published, in milliseconds since 1970. */
  oldestMs(): number | undefined;
  /** The position up to which it has been given messages. */
  seen(): bigint;
  /** Rejects with what the batch has thrown that could not be published. */
  readonly failed: Promise<never>;
  /** Ends after the batch in hand; what waits is not published. */
  close(): Promise<void>;
}

export type PumpOptions = {
  /** The position that is published already. */
  readonly from: bigint;
  /** What is written together at most, in bytes; a message above it goes alone. */
  readonly maxBytes: number;
  readonly write: (messages: readonly Outgoing[], position: bigint) => Promise<void>;
  /** After so long without any event to publish, the position alone is. */
  readonly idleMs: number;
};

/** Messages that wait, in the order of the log. */
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
    /** At least one, when there is any, and no more than one batch. */
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

/** Gathers messages while a batch is on its way: the busier, the larger the batches. */
export const openPump = ({ from, maxBytes, write, idleMs }: PumpOptions): Pump => {
  const queue = openQueue(maxBytes);
  const state = { seen: from, written: from, oldestMs: undefined as number | undefined, isClosed: false };
  let writing: Promise<void> | undefined;
  let wake: () => void = () => undefined;
  let fail: (error: unknown) => void = () => undefined;
  const failed = new Promise<never>((_, reject) => (fail = reject));
  failed.catch(() => undefined); // whoever watches it later hears of it all the same

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
    writing = undefined; // in the same turn as the last look at the queue
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
