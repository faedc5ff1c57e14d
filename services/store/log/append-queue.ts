import type { Worker } from 'node:worker_threads';
import type { Appended } from '../../kernel/ports/event-store.js';
import { faultOfCrossing } from '../../kernel/crossing-faults.js';
import { OutcomeUnknown, RevisionConflict, StoreUnavailable } from '../../kernel/fault.js';
import type { Append } from '../append.js';
import { packAppends } from './append-batch.js';
import type { WriterAnswer, FromWriter } from './writer-messages.js';

/** An append with the callbacks of its caller. */
export type WaitingAppend = {
  readonly append: Append;
  readonly resolve: (appended: Appended) => void;
  readonly reject: (reason: Error) => void;
};

/** Called after each commit with the number of its appends, conflicts included, and the duration of the COMMIT. */
export type OnCommit = (commit: { readonly appends: number; readonly syncMs: number }) => void;

/** The serving thread's side of the queue to the writer thread. */
export type AppendQueue = {
  /** Resolves when the writer has opened the log; rejects with the reason when it could not. */
  readonly ready: Promise<void>;
  /**
   * Resolves after `close`; rejects when the writer thread has ended by itself, because then nothing can be recorded.
   */
  readonly ended: Promise<void>;
  add(waiting: WaitingAppend): void;
  /** Resolves when all earlier appends are answered and the writer thread has ended. */
  close(): Promise<void>;
};

/** The number of appends that an answer is for. */
const countOf = (answer: WriterAnswer): number => (answer.type === 'failed' ? answer.count : answer.places.length / 2);

/** Settles the appends of one transaction: first those with a conflict, then the others in their order. */
const settle = (waiting: readonly WaitingAppend[], answer: WriterAnswer, onCommit: OnCommit): void => {
  if (answer.type === 'failed') {
    waiting.forEach(({ reject }) => reject(faultOfCrossing(answer.fault)));
    return;
  }
  const { places, conflicts, syncMs } = answer;
  onCommit({ appends: waiting.length, syncMs });
  for (const [i, text] of conflicts) waiting[i]?.reject(new RevisionConflict(text));
  // The conflicts are rejected already: resolving them as well has no effect.
  waiting.forEach(({ resolve }, i) =>
    resolve({ revision: BigInt(places[2 * i] ?? 0), position: BigInt(places[2 * i + 1] ?? 0) }),
  );
};

/** Resolves when the writer thread has exited, with the error that ended it, if any. */
const endOf = (writer: Worker): Promise<unknown> =>
  new Promise((resolve) => {
    let cause: unknown;
    writer.on('error', (error) => (cause = error));
    writer.once('exit', () => resolve(cause));
  });

/**
 * Sends appends to the writer thread, one message at a time: the appends of one turn of the event loop together, and
 * all that arrive during a commit with the next message. So batches grow with the load, and commits get fewer. When the
 * writer thread dies, the appends that were sent and not answered fail with `OutcomeUnknown`.
 */
export const appendQueue = (writer: Worker, onCommit: OnCommit = () => undefined): AppendQueue => {
  let turn: WaitingAppend[] = [];
  let sent: WaitingAppend[] = [];
  let end: Error | undefined;

  const send = (): void => {
    if (turn.length === 0) return;
    const packed = packAppends(turn.map(({ append }) => append));
    writer.postMessage(packed, [packed.buffer]);
    sent = sent.concat(turn);
    turn = [];
  };

  const flush = (): void => (sent.length === 0 ? send() : undefined);
  const answered = (answer: WriterAnswer): void => {
    const count = countOf(answer);
    const waiting = sent.slice(0, count);
    sent = sent.slice(count);
    flush();
    settle(waiting, answer, onCommit);
  };

  const fail = (cause: unknown): void => {
    end ??= new StoreUnavailable('the log is closed', cause);
    const unknown = new OutcomeUnknown('the writer of the log has ended before its answer', cause);
    for (const { reject } of sent) reject(unknown);
    for (const { reject } of turn) reject(end);
    sent = [];
    turn = [];
  };

  const ready = new Promise<void>((resolve, reject) => {
    writer.once('message', (first: FromWriter) => {
      if (first.type === 'ready') resolve();
      else if (first.type === 'failed') reject(faultOfCrossing(first.fault));
      writer.on('message', answered);
    });
    writer.once('error', reject);
  });
  const ended = endOf(writer).then((cause) => {
    const hadEnded = end !== undefined;
    fail(cause);
    if (!hadEnded) throw new StoreUnavailable('the writer of the log has ended', cause);
  });
  ended.catch(() => undefined); // callers that ignore `ended` get the error at the next append

  return {
    ready,
    ended,
    add: (waiting) => {
      if (end) {
        waiting.reject(end);
        return;
      }
      if (turn.length === 0 && sent.length === 0) setImmediate(flush);
      turn.push(waiting);
    },
    close: () => {
      send();
      if (!end) writer.postMessage('close');
      end ??= new StoreUnavailable('the log is closed');
      return ended.catch(() => undefined);
    },
  };
};
