import { MessageChannel, Worker } from 'node:worker_threads';
import { StoreUnavailable } from '../../kernel/fault.js';
import { type Questions, askOver } from '../threads/messages.js';
import type { ViewsThreadData } from '../views/views-thread.js';
import type { WatchMessage, WatchQuestion, WatchReply, WatchThreadData } from './messages.js';

/** The thread that folds and encodes watched executions and lists. The first question starts it, also after a crash. */
export interface WatchingThread {
  /** @throws {RpcError} or {Fault} that the thread has thrown; {StoreUnavailable} when it has ended. */
  ask(question: WatchQuestion): Promise<WatchReply>;
  /** Ends a watch; does nothing when the thread has ended, because all watches ended with it. */
  leave(id: number): void;
  close(): Promise<void>;
}

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

/**
 * Makes the thread. `onMessage` gets the messages that no question asked for; `onEnd` is called with the error with
 * which all watches end.
 */
export const watchingThread = (
  data: ViewsThreadData,
  onMessage: (message: WatchMessage) => void,
  onEnd: (error: StoreUnavailable) => void,
): WatchingThread => {
  let running: Running | undefined;

  const end = (why: string): void => {
    const error = new StoreUnavailable(why);
    running?.questions.failAll(error);
    running = undefined;
    onEnd(error);
  };
  const started = (): Running => {
    const thread = start(data);
    thread.worker.on('message', onMessage);
    thread.worker.on('error', (error: Error) => end(error.message));
    return thread;
  };

  return {
    ask: (question) => (running ??= started()).questions.ask(question),
    leave: (id) => {
      running?.questions.ask({ leave: id }).catch(() => undefined);
    },
    close: async () => {
      const ending = running;
      end('shutting down');
      await ending?.worker.terminate();
    },
  };
};
