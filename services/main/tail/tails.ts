import { Worker } from 'node:worker_threads';
import { EventLogService } from '../../../proto/gen/platformidl/eventlog/tail_pb.js';
import { Fault, StoreUnavailable } from '../../kernel/fault.js';
import {
  type FollowForm,
  type FollowingClient,
  type FollowRoute,
  RpcError,
  type StatusCode,
} from '../../kernel/rpc.js';
import { batchMessages } from './batched-messages.js';
import type { ViewsThreadData } from '../threads/views-thread.js';

/** A command to the thread: open a tail, a batch was taken, or close a tail. */
export type TailCommand =
  | { readonly open: number; readonly request: Uint8Array; readonly form: FollowForm }
  | { readonly taken: number }
  | { readonly close: number };

/** A message of the thread: a batch of answers as they are sent, or the failure that ended the tail. */
export type TailMessage = {
  readonly id: number;
  readonly answers?: Uint8Array;
  readonly failure?: {
    readonly code: StatusCode | undefined;
    readonly message: string;
    readonly retryAfterMs?: number | undefined;
  };
};

/** The tails of this process. */
export interface Tails {
  /**
   * Follows the log for one consumer, until it is gone; yields batches of answers as they are sent.
   *
   * @throws {RpcError} INVALID_ARGUMENT naming the field; RESOURCE_EXHAUSTED when there are too many tails.
   * @throws {StoreUnavailable} when the log cannot be read, and when the process shuts down.
   */
  open(request: Uint8Array, client: FollowingClient): AsyncIterable<Uint8Array>;
  close(): Promise<void>;
}

const MAX_TAILS = 1_000;

type Open = { messages: TailMessage[]; wake: () => void };

/** The failure of a tail as it crosses threads; the cause stays behind. */
export const failureOf = (error: unknown): NonNullable<TailMessage['failure']> => {
  if (error instanceof RpcError) return { code: error.code, message: error.message, retryAfterMs: error.retryAfterMs };
  return { code: undefined, message: error instanceof Fault ? error.message : String(error) };
};

/** The error that {@link failureOf} was made of: an {@link RpcError}, or {@link StoreUnavailable} for all others. */
export const errorOf = ({ code, message, retryAfterMs }: NonNullable<TailMessage['failure']>): Error =>
  code === undefined ? new StoreUnavailable(message) : new RpcError(code, message, [], retryAfterMs);

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
    started.on('message', (messages: readonly TailMessage[]) => messages.forEach(onMessage));
    started.on('error', (error) => failAll(error.message));
    started.unref();
    return started;
  };
  const send = batchMessages<TailCommand>((commands) => worker?.postMessage(commands));

  const nextOf = async (tail: Open, signal: AbortSignal): Promise<TailMessage | undefined> => {
    while (tail.messages.length === 0 && !signal.aborted) await new Promise<void>((resolve) => (tail.wake = resolve));
    return signal.aborted ? undefined : tail.messages.shift();
  };

  return {
    async *open(request, { form, gone }) {
      if (open.size >= MAX_TAILS)
        throw new RpcError('RESOURCE_EXHAUSTED', `this process has ${MAX_TAILS} tails already`);
      worker ??= start();
      const id = (count += 1);
      const tail: Open = { messages: [], wake: () => undefined };
      open.set(id, tail);
      gone.addEventListener('abort', () => tail.wake());
      send({ open: id, request, form });
      try {
        for (let next = await nextOf(tail, gone); next; next = await nextOf(tail, gone)) {
          if (next.failure) throw errorOf(next.failure);
          if (next.answers) yield next.answers;
          send({ taken: id });
        }
      } finally {
        open.delete(id);
        send({ close: id });
      }
    },
    close: async () => {
      const ending = worker;
      failAll('shutting down');
      await ending?.terminate();
    },
  };
};

/**
 * A consumer that reads nothing for this time, in milliseconds, is disconnected: it would otherwise keep one of the
 * places, and up to a megabyte of encoded events, for as long as it likes. It can go on from its last position.
 */
const MAX_STALL_MS = 60_000;

/** The route of tails. */
export const tailRoutes = (tails: Tails): readonly FollowRoute[] => [
  {
    method: EventLogService.method.tail,
    takes: 'follow',
    maxStallMs: MAX_STALL_MS,
    follow: (request, _call, client) => tails.open(new Uint8Array(request), client),
  },
];
