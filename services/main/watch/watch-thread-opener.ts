import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import type { WatchQuestion, WatchReply } from '../../../projections/execution-watch/thread-messages.js';
import type { WatchesOptions } from '../../../projections/execution-watch/watches.js';
import { StoreUnavailable } from '../../kernel/fault.js';
import { RpcError } from '../../kernel/rpc.js';
import { type Questions, askOver } from '../threads/messages.js';
import type { ViewsThreadData } from '../views/views-thread.js';

/** The worker data of the thread; it answers questions over the port. */
export type WatchThreadData = ViewsThreadData & { readonly questions: MessagePort };

type Running = { readonly worker: Worker; readonly questions: Questions<WatchQuestion, WatchReply> };

const start = (data: ViewsThreadData): Running => {
  const { port1, port2 } = new MessageChannel();
  const worker = new Worker(new URL('./watch-thread.js', import.meta.url), {
    workerData: { ...data, questions: port2 } satisfies WatchThreadData,
    transferList: [port2],
  });
  const questions = askOver<WatchQuestion, WatchReply>(port1);
  worker.unref();
  port1.unref();
  return { worker, questions };
};

const shuttingDown = (): RpcError => new RpcError('UNAVAILABLE', 'shutting down');

/** Makes the function that opens the thread of watches. */
export const watchThreadOpener =
  (data: ViewsThreadData): WatchesOptions['openThread'] =>
  (onMessage, onEnd) => {
    let running: Running | undefined;
    let isClosed = false;

    const end = (error: Error): void => {
      running?.questions.failAll(error);
      running = undefined;
      onEnd(error);
    };
    const started = (): Running => {
      const thread = start(data);
      thread.worker.on('message', onMessage);
      thread.worker.on('error', (error: Error) => end(new StoreUnavailable(error.message, error)));
      return thread;
    };

    return {
      ask: (question) => (isClosed ? Promise.reject(shuttingDown()) : (running ??= started()).questions.ask(question)),
      leave: (id) => {
        running?.questions.ask({ leave: id }).catch(() => undefined);
      },
      close: async () => {
        const ending = running;
        isClosed = true;
        end(shuttingDown());
        await ending?.worker.terminate();
      },
    };
  };
