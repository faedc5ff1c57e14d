import { DeadlineExceededError } from '@eventstore/db-client';
import type { Appended } from '../../../kernel/ports/event-store.js';
import type { NodeClient } from '../nodes/node-client.js';
import { appendAnswer } from './append-answer.js';
import { type AppendMessage, appendRequest } from './append-request.js';

type Waiting = {
  readonly sinceMs: number;
  readonly resolve: (appended: Appended) => void;
  readonly reject: (error: unknown) => void;
};

/**
 * The longest wait for an answer, in milliseconds, and the interval of checks. A node may leave one append unanswered
 * while it answers others: EventStoreDB does so when the events are in the stream already, in another order. It answers
 * a write that it cannot confirm within two seconds.
 */
const ANSWER_MS = 8_000;
const CHECK_MS = 1_000;

const unanswered = (): Error =>
  new DeadlineExceededError(undefined, `the event store has not answered an append for ${ANSWER_MS / 1_000} s`);

/** Sends appends over one client. */
export interface BatchAppends {
  /**
   * Sends an append; the appends of one client reach the server in the order of these calls.
   *
   * @throws {Error} for a refusal, at the end of the connection, or when there is no answer in time.
   * @throws {NodeUnreached} from the call itself, when it cannot open a stream because the client was abandoned.
   */
  append(message: AppendMessage): Promise<Appended>;
}

/**
 * Opens one batch stream. The appends of one turn of the event loop are sent together.
 */
const appendStream = (client: NodeClient, onEnd: () => void): BatchAppends => {
  const waiting = new Map<number, Waiting>();
  let count = 0;
  let unsent: Buffer[] = [];

  const take = (message: Buffer): void => {
    const { correlation, result } = appendAnswer(message);
    const pending = waiting.get(correlation); // absent for a second answer, which servers may send
    waiting.delete(correlation);
    if (result instanceof Error) pending?.reject(result);
    else pending?.resolve(result);
  };

  /** Appends wait in the order in which they were sent. */
  const failOverdue = (): void => {
    const overdueMs = performance.now() - ANSWER_MS;
    for (const [correlation, { sinceMs, reject }] of waiting) {
      if (sinceMs > overdueMs) return;
      waiting.delete(correlation);
      reject(unanswered());
    }
  };

  const fail = (error: Error): void => {
    clearInterval(checks);
    onEnd();
    const failed = [...waiting.values()];
    waiting.clear();
    for (const { reject } of failed) reject(error);
  };

  const call = client.open('BatchAppend', true, {
    onMessages: (messages) => messages.forEach(take),
    onEnd: (error) => fail(error ?? new Error('the event store has ended the stream of appends')),
  });

  const checks = setInterval(failOverdue, CHECK_MS).unref();

  const send = (): void => {
    call.write(unsent);
    unsent = [];
  };

  return {
    append: (message) => {
      count += 1;
      const correlation = count;
      if (unsent.push(appendRequest(correlation, message)) === 1) setImmediate(send);
      const sinceMs = performance.now();
      return new Promise((resolve, reject) => waiting.set(correlation, { sinceMs, resolve, reject }));
    },
  };
};

/**
 * Sends all appends of a client over one batch stream. When the stream ends, the appends in flight fail, and the next
 * append opens another stream.
 */
export const batchAppends = (client: NodeClient): BatchAppends => {
  let current: BatchAppends | undefined;
  const open = (): BatchAppends => {
    const opened = appendStream(client, () => {
      if (current === opened) current = undefined;
    });
    return opened;
  };
  return { append: (message) => (current ??= open()).append(message) };
};
