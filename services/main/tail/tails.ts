import { Worker } from 'node:worker_threads';
import { fromBinary } from '@bufbuild/protobuf';
import { EventLogService, TailResponseSchema } from '../../../proto/gen/platformidl/eventlog/tail_pb.js';
import { StoreUnavailable } from '../../kernel/fault.js';
import { RpcError, type ServerSentEvent, type StatusCode, type StreamRoute } from '../../kernel/rpc.js';
import type { ViewsThreadData } from '../threads/views-thread.js';

/** A command to the thread: open a tail, a batch was taken, or close a tail. */
export type TailCommand =
  { readonly open: number; readonly request: Uint8Array } | { readonly taken: number } | { readonly close: number };

/** A message of the thread: a batch of encoded answers, or the failure that ended the tail. */
export type TailMessage = {
  readonly id: number;
  readonly answers?: readonly Uint8Array[];
  readonly failure?: { readonly code: StatusCode | undefined; readonly message: string };
};

/** The tails of this process. */
export interface Tails {
  /**
   * Follows the log for one consumer, until the signal.
   *
   * @throws {RpcError} INVALID_ARGUMENT naming the field; RESOURCE_EXHAUSTED when there are too many tails.
   * @throws {StoreUnavailable} when the log cannot be read, and when the process shuts down.
   */
  open(request: Uint8Array, signal: AbortSignal): AsyncIterable<Uint8Array>;
  close(): Promise<void>;
}

const MAX_TAILS = 1_000;

type Open = { messages: TailMessage[]; wake: () => void };

const errorOf = ({ code, message }: NonNullable<TailMessage['failure']>): Error =>
  code === undefined ? new StoreUnavailable(message) : new RpcError(code, message);

/** Opens the tails of a process, on a thread of their own, which is started by the first. */
export const openTails = (data: ViewsThreadData): Tails => {
  const open = new Map<number, Open>();
  let worker: Worker | undefined;
  let count = 0;

  const onMessage = (message: TailMessage): void => {
    const tail = open.get(message.id);
    tail?.messages.push(message);
    tail?.wake();
  };
  const failAll = (why: string): void => {
    worker = undefined;
    for (const id of open.keys()) onMessage({ id, failure: { code: undefined, message: why } });
  };
  const start = (): Worker => {
    const started = new Worker(new URL('../threads/tail-thread.js', import.meta.url), { workerData: data });
    started.on('message', onMessage);
    started.on('error', (error) => failAll(error.message));
    started.unref();
    return started;
  };
  const say = (command: TailCommand): void => worker?.postMessage(command);

  const nextOf = async (tail: Open, signal: AbortSignal): Promise<TailMessage | undefined> => {
    while (tail.messages.length === 0 && !signal.aborted) await new Promise<void>((resolve) => (tail.wake = resolve));
    return signal.aborted ? undefined : tail.messages.shift();
  };

  return {
    async *open(request, signal) {
      if (open.size >= MAX_TAILS)
        throw new RpcError('RESOURCE_EXHAUSTED', `this process has ${MAX_TAILS} tails already`);
      worker ??= start();
      const id = (count += 1);
      const tail: Open = { messages: [], wake: () => undefined };
      open.set(id, tail);
      signal.addEventListener('abort', () => tail.wake());
      say({ open: id, request });
      try {
        for (let next = await nextOf(tail, signal); next; next = await nextOf(tail, signal)) {
          if (next.failure) throw errorOf(next.failure);
          yield* next.answers ?? [];
          say({ taken: id });
        }
      } finally {
        open.delete(id);
        say({ close: id });
      }
    },
    close: async () => {
      const ending = worker;
      failAll('shutting down');
      await ending?.terminate();
    },
  };
};

const asEvent = (answer: Uint8Array): ServerSentEvent => {
  const { position, event } = fromBinary(TailResponseSchema, answer);
  const id = position.toString();
  const data = event?.data.case === 'json' ? event.data.value : JSON.stringify({ position: Number(position) });
  return { id, type: event ? 'event' : 'checkpoint', data };
};

/** The route of tails. */
export const tailRoutes = (tails: Tails): readonly StreamRoute[] => [
  {
    method: EventLogService.method.tail,
    takes: 'stream',
    async *open(requests, _call, signal) {
      for await (const request of requests) yield* tails.open(new Uint8Array(request), signal);
    },
    async *events(request, _call, signal) {
      for await (const answer of tails.open(new Uint8Array(request), signal)) yield asEvent(answer);
    },
  },
];
