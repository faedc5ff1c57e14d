import type { Socket } from 'node:net';

/** The far end of a connection: what it has to read, and how it gets on. */
export type Reader = {
  readonly socket: Socket;
  /** What is held for it, in bytes. */
  heldBytes: number;
  /** Of that, the answers that are on their way. */
  sendingBytes: number;
  /** What had left at `readAt`, in bytes since the connection began. */
  read: number;
  /** When it was last seen reading, in milliseconds of the process. */
  readAt: number;
};

/** Closes connections whose answers are not read. */
export interface ReaderWatch {
  /** The reader at the end of a connection. */
  of(socket: Socket): Reader;
  sends(reader: Reader, bytes: number): void;
  sent(reader: Reader, bytes: number): void;
  close(): void;
}

// Answers to pings are written as well, so a few bytes are no sign of reading.
const SIGN_OF_READING_BYTES = 64 * 1024;
const CHECKS_IN_PATIENCE = 8;

const newReader = (socket: Socket): Reader => ({ socket, heldBytes: 0, sendingBytes: 0, read: 0, readAt: 0 });

/** What the operating system has taken: `bytesWritten` counts what still queues in the process too. */
const takenBytes = (socket: Socket): number => {
  const { _handle: handle } = socket as Socket & { readonly _handle?: { readonly writeQueueSize?: number } | null };
  return socket.bytesWritten - socket.writableLength - (handle?.writeQueueSize ?? 0);
};

/** Watches who has answers to read, and closes the connection of who takes none of them for `patienceMs`. */
export const watchReaders = (patienceMs: number): ReaderWatch => {
  const readers = new WeakMap<Socket, Reader>();
  const slow = new Set<Reader>();
  let timer: NodeJS.Timeout | undefined;

  const check = (): void => {
    const now = performance.now();
    for (const reader of slow) {
      const taken = takenBytes(reader.socket);
      if (taken - reader.read >= Math.min(SIGN_OF_READING_BYTES, reader.sendingBytes)) {
        reader.read = taken;
        reader.readAt = now;
      } else if (now - reader.readAt >= patienceMs) reader.socket.destroy();
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
      if (slow.has(reader)) return;
      reader.read = takenBytes(reader.socket);
      reader.readAt = performance.now();
      slow.add(reader);
      timer ??= setInterval(check, Math.max(patienceMs / CHECKS_IN_PATIENCE, 10)).unref();
    },
    sent: (reader, bytes) => {
      reader.sendingBytes -= bytes;
      if (reader.sendingBytes > 0) return;
      slow.delete(reader);
      if (slow.size === 0) stop();
    },
    close: stop,
  };
};
