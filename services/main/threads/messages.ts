import { type CrossingFault, crossingOf, faultOfCrossing } from '../../kernel/crossing-faults.js';
import { Fault } from '../../kernel/fault.js';
import { RpcError, type StatusCode } from '../../kernel/rpc.js';

/**
 * Posts all messages of one turn of the event loop to another thread in one batch: a message costs as much as a hundred
 * of its elements.
 */
export const batchMessages = <Message>(post: (messages: readonly Message[]) => void): ((message: Message) => void) => {
  let waiting: Message[] = [];
  const flush = (): void => {
    const messages = waiting;
    waiting = [];
    post(messages);
  };
  return (message) => {
    if (waiting.push(message) === 1) setImmediate(flush);
  };
};

/**
 * An error of one thread as it crosses to another: an RpcError without its details and cause, a fault with its first
 * cause.
 */
export type Failure =
  | { readonly status: StatusCode; readonly message: string; readonly retryAfterMs: number | undefined }
  | CrossingFault;

/** Makes an {@link RpcError} or a {@link Fault} again of what {@link failureOf} has made of it. */
export const errorOf = (failure: Failure): Error =>
  'status' in failure
    ? new RpcError(failure.status, failure.message, [], failure.retryAfterMs)
    : faultOfCrossing(failure);

/** @throws anything that is neither an RpcError nor a Fault, which is a bug. */
export const failureOf = (error: unknown): Failure => {
  if (error instanceof RpcError) {
    const { code: status, message, retryAfterMs } = error;
    return { status, message, retryAfterMs };
  }
  if (error instanceof Fault) return crossingOf(error);
  throw error;
};

/** One end of a channel between threads: a `Worker`, a `MessagePort` or `parentPort`. */
export interface ChannelEnd {
  postMessage(message: unknown): void;
  on(event: string, listener: (message: unknown) => void): unknown;
}

type PostedQuestion<Question> = { readonly id: number; readonly question: Question };

type Answered<Answer> =
  | { readonly id: number; readonly answer: Answer }
  | { readonly id: number; readonly failure: Failure };

type Waiting<Answer> = { readonly resolve: (answer: Answer) => void; readonly reject: (error: Error) => void };

/** Questions to another thread, each with one answer. */
export interface Questions<Question, Answer> {
  /** @throws {RpcError} or {Fault} that the other thread has thrown; the error of `failAll`. */
  ask(question: Question): Promise<Answer>;
  /** The number of questions without an answer. */
  waiting(): number;
  /** Fails all questions that wait. */
  failAll(error: Error): void;
}

/** Asks questions over a channel; the other end is {@link answerOver}. */
export const askOver = <Question, Answer>(channel: ChannelEnd): Questions<Question, Answer> => {
  const waiting = new Map<number, Waiting<Answer>>();
  const send = batchMessages((messages) => channel.postMessage(messages));
  let count = 0;
  const settle = (answered: Answered<Answer>): void => {
    const pending = waiting.get(answered.id);
    waiting.delete(answered.id);
    if ('answer' in answered) pending?.resolve(answered.answer);
    else pending?.reject(errorOf(answered.failure));
  };
  channel.on('message', (message) => (message as readonly Answered<Answer>[]).forEach(settle));
  return {
    ask: (question) =>
      new Promise((resolve, reject) => {
        count += 1;
        waiting.set(count, { resolve, reject });
        send({ id: count, question } satisfies PostedQuestion<Question>);
      }),
    waiting: () => waiting.size,
    failAll: (error) => {
      for (const { reject } of waiting.values()) reject(error);
      waiting.clear();
    },
  };
};

/** Answers questions as they come; work on them is begun in their order. A bug in `work` ends the thread. */
export const answerOver = (channel: ChannelEnd, work: (question: never) => unknown): void => {
  const answerTo = async ({ id, question }: PostedQuestion<never>): Promise<Answered<unknown>> => {
    try {
      return { id, answer: await work(question) };
    } catch (error) {
      return { id, failure: failureOf(error) };
    }
  };
  const send = batchMessages((messages) => channel.postMessage(messages));
  channel.on('message', (message) => {
    for (const pending of message as readonly PostedQuestion<never>[]) void answerTo(pending).then(send);
  });
};
