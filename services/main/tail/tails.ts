import { Worker } from 'node:worker_threads';
import { EventLogService } from '../../../proto/gen/platformidl/eventlog/tail_pb.js';
import { StoreUnavailable } from '../../kernel/fault.js';
import { type FollowForm, type FollowingClient, type FollowRoute, RpcError } from '../../kernel/rpc.js';
import { errorOf, type Failure, failureOf, batchMessages } from '../threads/messages.js';
import type { ViewsThreadData } from '../views/views-thread.js';

/** A command to the thread: open a tail, a batch was taken, or close a tail. */
export type TailCommand =
  | { readonly open: number; readonly request: Uint8Array; readonly form: FollowForm }
  | { readonly taken: number }
  | { readonly close: number };

/** The failure that ended a tail. A bug ends only its own tail: it crosses threads with its stack, for the log. */
export type TailFailure = Failure | { readonly bug: string; readonly stack: string | undefined };

/** A message of the thread: a batch of encoded answers, or the failure that ended the tail. */
export type TailMessage = {
  readonly id: number;
  readonly answers?: Uint8Array;
  readonly failure?: TailFailure;
};

/** The tails of this process. */
export interface Tails {
  /**
   * Follows the log for one consumer, until it is gone; yields batches of encoded answers.
   *
   * @throws {RpcError} INVALID_ARGUMENT naming the field; RESOURCE_EXHAUSTED when there are too many tails; UNAVAILABLE
   * when the log ends before the position after which the request continues, and when the process shuts down.
   * @throws {Fault} that the thread has met: mostly StoreUnavailable, when the log cannot be read; also when the thread
   * ends.
   */
  open(request: Uint8Array, client: FollowingClient): AsyncIterable<Uint8Array>;
  close(): Promise<void>;
}

/** The most tails that a process has at a time. */
const MAX_TAILS = 1_000;

const shuttingDown = (): RpcError => new RpcError('UNAVAILABLE', 'shutting down');

type Open = { messages: (TailMessage | { readonly id: number; readonly ended: Error })[]; wake: () => void };

/** The failure of a tail as it crosses threads. */
export const tailFailureOf = (error: unknown): TailFailure => {
  try {
    return failureOf(error);
  } catch {
    return error instanceof Error
      ? { bug: error.message, stack: error.stack }
      : { bug: String(error), stack: undefined };
  }
};

/** Makes an error again of what {@link tailFailureOf} has made of it. */
export const tailErrorOf = (failure: TailFailure): Error => {
  if (!('bug' in failure)) return errorOf(failure);
  const error = new Error(failure.bug);
  return failure.stack === undefined ? error : Object.assign(error, { stack: failure.stack });
};

/** Opens the tails of a process, on a thread of their own, which is started by the first. */
export const openTails = (data: ViewsThreadData): Tails => {
  const open = new Map<number, Open>();
  let worker: Worker | undefined;
  let count = 0;
  let isClosed = false;

  const onMessage = (message: Open['messages'][number]): void => {
    const tail = open.get(message.id);
    tail?.messages.push(message);
    tail?.wake();
  };
  const failAll = (ended: Error): void => {
    worker = undefined;
    for (const id of open.keys()) onMessage({ id, ended });
  };
  const start = (): Worker => {
    const started = new Worker(new URL('./tail-thread.js', import.meta.url), { workerData: data });
    started.on('message', (messages: readonly TailMessage[]) => messages.forEach(onMessage));
    started.on('error', (error: Error) => failAll(new StoreUnavailable(error.message, error)));
    started.unref();
    return started;
  };
  const send = batchMessages<TailCommand>((commands) => worker?.postMessage(commands));

  const nextOf = async (tail: Open, signal: AbortSignal): Promise<Open['messages'][number] | undefined> => {
    while (tail.messages.length === 0 && !signal.aborted) await new Promise<void>((resolve) => (tail.wake = resolve));
    return signal.aborted ? undefined : tail.messages.shift();
  };

  return {
    async *open(request, { form, disconnected }) {
      if (isClosed) throw shuttingDown();
      if (open.size >= MAX_TAILS)
        throw new RpcError('RESOURCE_EXHAUSTED', `this process has ${MAX_TAILS} tails already`);
      worker ??= start();
      const id = (count += 1);
      const tail: Open = { messages: [], wake: () => undefined };
      open.set(id, tail);
      disconnected.addEventListener('abort', () => tail.wake());
      send({ open: id, request, form });
      try {
        for (let next = await nextOf(tail, disconnected); next; next = await nextOf(tail, disconnected)) {
          if ('ended' in next) throw next.ended;
          if (next.failure) throw tailErrorOf(next.failure);
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
      isClosed = true;
      failAll(shuttingDown());
      await ending?.terminate();
    },
  };
};

/**
 * A consumer that reads nothing for this time, in milliseconds, is disconnected. It would otherwise keep one of the
 * {@link MAX_TAILS} tails, and a batch of encoded events, without end. It can resume from its last position.
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
