import { parentPort, Worker } from 'node:worker_threads';
import { Fault, StoreUnavailable } from '../../kernel/fault.js';
import { RpcError, type StatusCode } from '../../kernel/rpc.js';

/** A question to a thread. */
export type Asked<Question> = { readonly id: number; readonly question: Question };

/** The thread's answer; a failure has the status code and the message for the client, if the thread gave a code. */
export type Answered<Answer> =
  | { readonly id: number; readonly answer: Answer }
  | { readonly id: number; readonly failure: { readonly code: StatusCode | undefined; readonly message: string } };

/** Has questions answered on another thread, one after another. */
export interface ThreadCaller<Question, Answer> {
  /**
   * @throws {RpcError} the one that the thread has thrown, or `tooMany` when too many questions wait already.
   * @throws {StoreUnavailable} when the thread, or a store that it reads, has failed.
   */
  ask(question: Question): Promise<Answer>;
  close(): Promise<void>;
}

type Waiting<Answer> = { readonly resolve: (answer: Answer) => void; readonly reject: (error: Error) => void };

const failureOf = ({ code, message }: { code: StatusCode | undefined; message: string }): Error =>
  code === undefined ? new StoreUnavailable(message) : new RpcError(code, message);

/** Starts the thread at the first question, and again at the next one after it has died. */
export const threadCaller = <Question, Answer>(options: {
  readonly url: URL;
  readonly workerData: unknown;
  readonly maxWaiting: number;
  /** Makes the error of a question that finds `maxWaiting` others before it. */
  readonly tooMany: () => RpcError;
}): ThreadCaller<Question, Answer> => {
  const waiting = new Map<number, Waiting<Answer>>();
  let worker: Worker | undefined;
  let count = 0;

  const failAll = (error: Error): void => {
    worker = undefined;
    for (const { reject } of waiting.values()) reject(new StoreUnavailable(error.message, error));
    waiting.clear();
  };
  const settle = (answered: Answered<Answer>): void => {
    const asked = waiting.get(answered.id);
    waiting.delete(answered.id);
    if ('answer' in answered) asked?.resolve(answered.answer);
    else asked?.reject(failureOf(answered.failure));
  };
  const start = (): Worker => {
    const started = new Worker(options.url, { workerData: options.workerData });
    started.on('error', failAll);
    started.on('message', settle);
    started.unref();
    return started;
  };

  return {
    ask: (question) =>
      new Promise((resolve, reject) => {
        if (waiting.size >= options.maxWaiting) {
          reject(options.tooMany());
          return;
        }
        worker ??= start();
        count += 1;
        waiting.set(count, { resolve, reject });
        worker.postMessage({ id: count, question } satisfies Asked<Question>);
      }),
    close: async () => {
      await worker?.terminate();
      failAll(new Error('closed'));
    },
  };
};

const failureText = (error: unknown): { readonly code: StatusCode | undefined; readonly message: string } => {
  if (error instanceof RpcError) return { code: error.code, message: error.message };
  if (error instanceof Fault) return { code: undefined, message: error.message };
  throw error;
};

/**
 * Runs the work on one question.
 *
 * @returns the answer, or the failure where the work threw an RpcError or a Fault.
 * @throws anything else, which is a bug: it ends the thread, and every question that waits fails.
 */
const answerTo = async <Question>(
  { id, question }: Asked<Question>,
  work: (question: Question) => unknown,
): Promise<Answered<unknown>> => {
  try {
    return { id, answer: await work(question) };
  } catch (error) {
    return { id, failure: failureText(error) };
  }
};

/** Makes the calling thread answer its questions, one after another. */
export const answerAll = (work: (question: never) => unknown): void => {
  let last = Promise.resolve();
  parentPort?.on('message', (asked: Asked<never>) => {
    last = last.then(async () => parentPort?.postMessage(await answerTo(asked, work)));
  });
};
