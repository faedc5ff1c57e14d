import type { Socket } from 'node:net';

/** The reading end of a connection: the answers that it has to read, and its progress. */
export type Reader = {
  readonly socket: Socket;
  /** Memory, in bytes, that calls of the connection hold in the budget of this watch: of requests, or of answers. */
  heldBytes: number;
  /** The share of `heldBytes` that is answers in flight. */
  sendingBytes: number;
  /** Bytes that the operating system had taken at `readAt`, counted from the start of the connection. */
  read: number;
  /**
   * The last time that the connection was seen reading, or the time from which it is checked; in milliseconds by
   * `performance.now()`.
   */
  readAt: number;
};

/** Closes connections that do not read their answers (slow consumers). */
export interface SlowConsumerWatch {
  /** Returns the reader of a connection, which is always the same one of this watch. */
  of(socket: Socket): Reader;
  /** Adds an answer in flight; while a connection has one, it is checked. */
  sends(reader: Reader, bytes: number): void;
  /** Removes an answer: it was read, or its call has ended. */
  sent(reader: Reader, bytes: number): void;
  close(): void;
}

/** Ping responses count, too: fewer bytes do not prove that a client reads, unless they are all that it has to read. */
const MIN_PROGRESS_BYTES = 64 * 1024;
const CHECKS_PER_TIMEOUT = 8;

const newReader = (socket: Socket): Reader => ({ socket, heldBytes: 0, sendingBytes: 0, read: 0, readAt: 0 });

/** Bytes that the operating system has taken. `bytesWritten` alone also counts bytes still queued in the process. */
const takenBytes = (socket: Socket): number => {
  const { _handle: handle } = socket as Socket & { readonly _handle?: { readonly writeQueueSize?: number } | null };
  return socket.bytesWritten - socket.writableLength - (handle?.writeQueueSize ?? 0);
};

/**
 * Closes a connection that has answers to read, and in `stallTimeoutMs` has taken neither 64 KiB nor as many bytes as
 * the answers have.
 */
export const watchSlowConsumers = (stallTimeoutMs: number): SlowConsumerWatch => {
  const readers = new WeakMap<Socket, Reader>();
  const checked = new Set<Reader>();
  let timer: NodeJS.Timeout | undefined;

  const check = (): void => {
    const now = performance.now();
    for (const reader of checked) {
      const taken = takenBytes(reader.socket);
      if (taken - reader.read >= Math.min(MIN_PROGRESS_BYTES, reader.sendingBytes)) {
        reader.read = taken;
        reader.readAt = now;
      } else if (now - reader.readAt >= stallTimeoutMs) reader.socket.destroy();
    }
  };
  const stop = (): void => {
    clearInterval(timer);
    timer = undefined;
  };

  return {
    of: (socket) => {
      const reader = readers.get(socket) ?? newReader(socket);
      readers.set(socket, reader);
      return reader;
    },
    sends: (reader, bytes) => {
      reader.sendingBytes += bytes;
      if (checked.has(reader)) return;
      reader.read = takenBytes(reader.socket);
      reader.readAt = performance.now();
      checked.add(reader);
      timer ??= setInterval(check, Math.max(stallTimeoutMs / CHECKS_PER_TIMEOUT, 10)).unref();
    },
    sent: (reader, bytes) => {
      reader.sendingBytes -= bytes;
      if (reader.sendingBytes > 0) return;
      checked.delete(reader);
      if (checked.size === 0) stop();
    },
    close: stop,
  };
};
