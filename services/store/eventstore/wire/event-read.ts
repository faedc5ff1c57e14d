import { StoreUnavailable } from '../../../kernel/fault.js';
import type { NodeClient } from '../nodes/node-client.js';
import type { StreamingCall } from './call.js';
import { type ReadAnswer, readAnswer } from './read-answer.js';
import { type ReadParameters, encodedReadRequest } from './read-request.js';

/** The answers to a read or subscription, taken in batches. */
export interface EventRead {
  /**
   * Takes the answers received since the last call; waits until there is at least one. Empty at the end of the read.
   *
   * @throws the error that ended the read, after the answers that were received before it.
   */
  next(): Promise<readonly ReadAnswer[]>;
  /** Ends the read for its reader with an error; the call on the node stays open until `close`. */
  fail(error: Error): void;
  /** Ends the read, and its call on the node unless the node has ended that. Callers must call it after every read. */
  close(): void;
}

/**
 * The number of answers waiting to be taken from which a read is paused, and the node waits. A node would drop a live
 * subscription for that, so it fails here instead, where the events received are not lost.
 */
const MAX_WAITING = { read: 1_000, live: 10_000 } as const;

/**
 * The longest wait for the first answer to a read, and for each later one, in milliseconds: a node may lose a call and
 * answer all others. The first leaves time for a second attempt within the 10 s of a call. A read with a filter has
 * checkpoints in between. A live subscription may be idle for longer; `watchSilence` checks it.
 */
const ANSWER_MS = { first: 4_000, later: 10_000 } as const;

const unanswered = (ms: number): StoreUnavailable =>
  new StoreUnavailable(`the event store has not answered a read for ${ms / 1_000} s`);

/** The end of a read, with the error if there was one. */
type End = { readonly error?: Error | undefined };

/** Opens a read or a subscription on the client's connection. */
export const eventRead = (client: NodeClient, parameters: ReadParameters): EventRead => {
  const kind = parameters.isLive === true ? 'live' : 'read';
  let waiting: ReadAnswer[] = [];
  let end: End | undefined;
  let isPaused = false;
  let answerMs: number = ANSWER_MS.first;
  let wake = (): void => undefined;

  const finish = (error?: Error): void => {
    end ??= { error };
    wake();
  };
  const full = (): void => {
    if (kind === 'live') finish(new Error('Consumer too slow: received events are not read'));
    else call.pause();
    isPaused = true;
  };
  const onMessages = (messages: readonly Buffer[]): void => {
    if (end !== undefined) return;
    answerMs = ANSWER_MS.later;
    for (const message of messages) waiting.push(readAnswer(message));
    if (waiting.length >= MAX_WAITING[kind]) full();
    wake();
  };

  const arrival = (): Promise<void> =>
    new Promise((resolve) => {
      const overdue = kind === 'read' ? setTimeout(() => finish(unanswered(answerMs)), answerMs) : undefined;
      wake = () => {
        clearTimeout(overdue);
        resolve();
      };
    });

  const call: StreamingCall = client.open('Read', parameters.requiresLeader === true, { onMessages, onEnd: finish });
  call.end([encodedReadRequest(parameters)]);

  return {
    next: async () => {
      if (waiting.length === 0 && end === undefined) await arrival();
      if (waiting.length === 0 && end?.error !== undefined) throw end.error;
      const taken = waiting;
      waiting = [];
      if (isPaused) call.resume();
      isPaused = false;
      return taken;
    },
    fail: finish,
    close: () => {
      finish();
      call.cancel();
    },
  };
};
