import { errorOf, type Failure, failureOf } from './failure.js';

/** One end of a channel between threads: a `Worker`, a `MessagePort` or `parentPort`. */
export interface ChannelEnd {
  postMessage(message: unknown): void;
  on(event: string, listener: (message: unknown) => void): unknown;
}

type Asked<Question> = { readonly id: number; readonly question: Question };

type Answered<Answer> =
  | { readonly id: number; readonly answer: Answer }
  | { readonly id: number; readonly failure: Failure };

type Waiting<Answer> = { readonly resolve: (answer: Answer) => void; readonly reject: (error: Error) => void };

/** Questions to another thread, each with one answer. */
export interface Questions<Question, Answer> {
  /** @throws {RpcError} or {Fault} that the other thread has thrown. */
  ask(question: Question): Promise<Answer>;
  /** The number of questions without an answer. */
  waiting(): number;
  /** Fails all questions that wait, because the other thread has ended. */
  failAll(error: Error): void;
}

/**
 * Sends the messages of one turn of the event loop as one, because each message between threads has a high fixed cost.
 */
const sendTogether = (channel: ChannelEnd): ((message: unknown) => void) => {
  let unsent: unknown[] = [];
  const send = (): void => {
    channel.postMessage(unsent);
    unsent = [];
  };
  return (message) => {
    if (unsent.push(message) === 1) setImmediate(send);
  };
};

/** Asks questions over a channel; the other end is {@link answerOver}. */
export const askOver = <Question, Answer>(channel: ChannelEnd): Questions<Question, Answer> => {
  const waiting = new Map<number, Waiting<Answer>>();
  const send = sendTogether(channel);
  let count = 0;
  const settle = (answered: Answered<Answer>): void => {
    const asked = waiting.get(answered.id);
    waiting.delete(answered.id);
    if ('answer' in answered) asked?.resolve(answered.answer);
    else asked?.reject(errorOf(answered.failure));
  };
  channel.on('message', (message) => (message as readonly Answered<Answer>[]).forEach(settle));
  return {
    ask: (question) =>
      new Promise((resolve, reject) => {
        count += 1;
        waiting.set(count, { resolve, reject });
        send({ id: count, question } satisfies Asked<Question>);
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
  const answerTo = async ({ id, question }: Asked<never>): Promise<Answered<unknown>> => {
    try {
      return { id, answer: await work(question) };
    } catch (error) {
      return { id, failure: failureOf(error) };
    }
  };
  const send = sendTogether(channel);
  channel.on('message', (message) => {
    for (const asked of message as readonly Asked<never>[]) void answerTo(asked).then(send);
  });
};
