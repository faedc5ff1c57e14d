import { parentPort, Worker } from 'node:worker_threads';
import { StoreUnavailable } from '../../kernel/fault.js';
import type { RpcError } from '../../kernel/rpc.js';
import { answerOver, type Questions, askOver } from './messages.js';

/** Has questions answered on another thread, one after another. */
export interface ThreadCaller<Question, Answer> {
  /**
   * @throws {RpcError} the one that the thread has thrown, or `tooMany` when too many questions wait already.
   * @throws {Fault} the one that the thread has thrown; {StoreUnavailable} when the thread has failed or is closed.
   */
  ask(question: Question): Promise<Answer>;
  /** Ends the thread. Questions that wait, and those that are asked afterwards, fail. */
  close(): Promise<void>;
}

/** Starts the thread at the first question, and again at the next one after it has died. */
export const threadCaller = <Question, Answer>(options: {
  readonly url: URL;
  readonly workerData: unknown;
  readonly maxWaiting: number;
  /** Makes the error of a question that finds `maxWaiting` others before it. */
  readonly tooMany: () => RpcError;
}): ThreadCaller<Question, Answer> => {
  let thread: { readonly worker: Worker; readonly questions: Questions<Question, Answer> } | undefined;
  let isClosed = false;

  const start = (): NonNullable<typeof thread> => {
    const worker = new Worker(options.url, { workerData: options.workerData });
    const questions = askOver<Question, Answer>(worker);
    worker.on('error', (error: Error) => {
      thread = undefined;
      questions.failAll(new StoreUnavailable(error.message, error));
    });
    worker.unref();
    return { worker, questions };
  };

  return {
    ask: (question) => {
      if (isClosed) return Promise.reject(new StoreUnavailable('closed'));
      if (thread && thread.questions.waiting() >= options.maxWaiting) return Promise.reject(options.tooMany());
      thread ??= start();
      return thread.questions.ask(question);
    },
    close: async () => {
      const closed = thread;
      isClosed = true;
      thread = undefined;
      await closed?.worker.terminate();
      closed?.questions.failAll(new StoreUnavailable('closed'));
    },
  };
};

/** Makes the calling thread answer its questions, one after another. */
export const answerAll = (work: (question: never) => unknown): void => {
  let last: Promise<unknown> = Promise.resolve();
  if (!parentPort) return;
  answerOver(parentPort, (question) => {
    const answer = last.then(() => work(question));
    last = answer.catch(() => undefined); // a failure is the asker's
    return answer;
  });
};
