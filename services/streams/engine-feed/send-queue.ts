import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { WorkResponseSchema } from '../../../proto/gen/platformidl/eventlog/engine_work_pb.js';

/** One message to an engine. */
export type WorkMessage = NonNullable<MessageInitShape<typeof WorkResponseSchema>['message']>;

/** The messages that wait in memory to be sent to an engine. */
export interface SendQueue {
  readonly send: (message: WorkMessage) => void;
  /**
   * Resolves when fewer than {@link MAX_WAITING} messages wait, or the stream has ended. One caller waits at a time.
   */
  readonly writable: () => Promise<void>;
  /** Ends the stream after the queued messages, with the error if one is given. Only the first call counts. */
  readonly end: (error?: Error) => void;
  /** True when nothing more can be sent. */
  readonly isEnded: () => boolean;
  /** Yields the encoded messages until the end of the stream or the signal. */
  readonly messages: (signal: AbortSignal) => AsyncGenerator<Uint8Array>;
}

/** While this many messages wait, no further request of the engine is handled, because each may be answered. */
export const MAX_WAITING = 1_000;

/**
 * Opens an empty queue. Launches in it are bounded by the free capacity of the engine; answers, by the caller, which
 * awaits `writable` before it handles a request.
 */
export const openSendQueue = (): SendQueue => {
  const waiting: Uint8Array[] = [];
  const state: { end?: { readonly error: Error | undefined }; wake: () => void; onSent: () => void } = {
    wake: () => undefined,
    onSent: () => undefined,
  };
  const end = (error?: Error): void => {
    state.end ??= { error };
    state.wake();
    state.onSent();
  };
  return {
    send: (message) => {
      if (state.end) return;
      waiting.push(toBinary(WorkResponseSchema, create(WorkResponseSchema, { message })));
      state.wake();
    },
    writable: async () => {
      while (waiting.length >= MAX_WAITING && !state.end)
        await new Promise<void>((resolve) => (state.onSent = resolve));
    },
    end,
    isEnded: () => state.end !== undefined,
    async *messages(signal) {
      signal.addEventListener('abort', () => state.wake(), { once: true });
      try {
        while (!signal.aborted) {
          const next = waiting.shift();
          if (next) {
            state.onSent();
            yield next;
          } else if (state.end) break;
          else await new Promise<void>((resolve) => (state.wake = resolve));
        }
      } finally {
        end();
      }
      if (state.end?.error !== undefined) throw state.end.error;
    },
  };
};
