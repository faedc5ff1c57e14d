import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { WorkResponseSchema } from '../../../proto/gen/platformidl/eventlog/engine_work_pb.js';

/** One message to an engine. */
export type WorkMessage = NonNullable<MessageInitShape<typeof WorkResponseSchema>['message']>;

/** The messages that wait to be sent to an engine. */
export interface Outbox {
  readonly send: (message: WorkMessage) => void;
  /** Ends the stream after the queued messages, with the error if one is given. */
  readonly end: (error?: Error) => void;
  /** Yields the encoded messages until the end of the stream or the signal. */
  readonly messages: (signal: AbortSignal) => AsyncGenerator<Uint8Array>;
}

/** Opens an empty outbox. The free capacity of its engine bounds the number of messages in it. */
export const openOutbox = (): Outbox => {
  const waiting: Uint8Array[] = [];
  const state: { end?: { readonly error: Error | undefined }; wake: () => void } = { wake: () => undefined };
  return {
    send: (message) => {
      if (state.end) return;
      waiting.push(toBinary(WorkResponseSchema, create(WorkResponseSchema, { message })));
      state.wake();
    },
    end: (error) => {
      state.end ??= { error };
      state.wake();
    },
    async *messages(signal) {
      signal.addEventListener('abort', () => state.wake(), { once: true });
      while (!signal.aborted) {
        const next = waiting.shift();
        if (next) yield next;
        else if (state.end) break;
        else await new Promise<void>((resolve) => (state.wake = resolve));
      }
      if (state.end?.error !== undefined) throw state.end.error;
    },
  };
};
