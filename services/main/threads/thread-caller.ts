import { parentPort, Worker } from 'node:worker_threads';
import { Fault, StoreUnavailable } from '../../kernel/fault.js';
import { RpcError, type StatusCode } from '../../kernel/rpc.js';

/** A question on its way to a thread. */
export type Asked<Question> = { readonly id: number; readonly question: Question };

/** Its answer on the way back; a failure is said in the words of the interface. */
export type Answered<Answer> =
  | { readonly id: number; readonly answer: Answer }
  | { readonly id: number; readonly failure: { readonly code: StatusCode | undefined; readonly message: string } };

/** Has questions answered on another thread, one after another. */
export interface ThreadCaller<Question, Answer> {
  /**
   * @throws {RpcError} what the thread has thrown, or that too many wait for it already.
   * @throws {StoreUnavailable} when the thread, or something that it stands on, has failed.
   */
  ask(question: Question): Promise<Answer>;
  close(): Promise<void>;
}

type Waiting<Answer> = { readonly resolve: (answer: Answer) => void; readonly reject: (error: Error) => void };

const failureOf = ({ code, message }: { code: StatusCode | undefined; message: string }): Error =>
  code === undefined ? new StoreUnavailable(message) : new RpcError(code, message);

/** Starts the thread with the first question, and again should it have died. */
export const threadCaller = <Question, Answer>(options: {
  readonly url: URL;
  readonly workerData: unknown;
  readonly maxWaiting: number;
  /** Made for a question that finds too many before it. */
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

const said = (error: unknown): { readonly code: StatusCode | undefined; readonly message: string } => {
  if (error instanceof RpcError) return { code: error.code, message: error.message };
  if (error instanceof Fault) return { code: undefined, message: error.message };
  throw error;
};

/**
 * What a thread makes of a question: the answer, or the failure. A bug ends the thread, and with it what waits.
 */
const answerTo = async <Question>(
  { id, question }: Asked<Question>,
  work: (question: Question) => unknown,
): Promise<Answered<unknown>> => {
  try {
    return { id, answer: await work(question) };
  } catch (error) {
    return { id, failure: said(error) };
  }
};

/** Has the thread that calls this answer what it is asked, one question after another. */
export const answerAll = (work: (question: never) => unknown): void => {
  let last = Promise.resolve();
  parentPort?.on('message', (asked: Asked<never>) => {
    last = last.then(async () => parentPort?.postMessage(await answerTo(asked, work)));
  });
};
