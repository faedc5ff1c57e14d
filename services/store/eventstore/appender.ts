import { setMaxListeners } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import type { Appended } from '../../kernel/ports/event-store.js';
import { type Fault, OutcomeUnknown, StoreUnavailable } from '../../kernel/fault.js';
import type { Append } from '../append.js';
import { failPoint } from '../fail-point.js';
import type { AppendClient } from './append-client.js';
import { retriesUsedUpFault, permanentFault, isOutcomeUnknown } from './eventstore-fault.js';

/** The time for which an append is retried before it fails, and the backoff between two attempts, in milliseconds. */
const TRY_MS = 10_000;
const PAUSE_MS = { first: 20, most: 1_000 } as const;

/**
 * The deadline of an append for the server, in milliseconds from now. It is sent as a time by the clock of this
 * process, and a near deadline would have passed already for a server whose clock is ahead. `TRY_MS` limits the
 * retries.
 */
const DEADLINE_MS = 24 * 60 * 60 * 1_000;

/** Appends to the event store. */
export interface Appender {
  /** Appends the events. The retrying appender copies their data before it returns. */
  append(append: Append): Promise<Appended>;
  /** Resolves when everything in flight is answered; nothing is retried any more. */
  close(): Promise<void>;
}

const tryOnce = async (client: AppendClient, { stream, expected, events }: Append): Promise<Appended> => {
  failPoint('before-commit');
  const deadlineSeconds = Math.ceil((Date.now() + DEADLINE_MS) / 1_000);
  const appended = await client.send({ stream, expected, events, deadlineSeconds });
  failPoint('after-commit');
  return appended;
};

const failed = ({ stream }: Append, error: unknown, mayBeWritten: boolean): Fault =>
  retriesUsedUpFault(`no answer to an append to ${stream}`, error, mayBeWritten);

/** The fault of an append that is denied or refused; an earlier attempt may have been recorded all the same. */
const refused = ({ stream }: Append, fault: Fault, mayBeWritten: boolean): Fault =>
  mayBeWritten && fault instanceof StoreUnavailable
    ? new OutcomeUnknown(
        `no answer to an append to ${stream}, and it was refused when repeated: ${fault.message}`,
        fault.cause,
      )
    : fault;

/** Makes an appender without retries: it sends each append at once, so that they reach the server in call order. */
export const appenderInOrder = (client: AppendClient): Appender => ({
  append: async (append) => {
    try {
      return await tryOnce(client, append);
    } catch (error) {
      throw permanentFault(error) ?? failed(append, error, isOutcomeUnknown(error));
    }
  },
  close: () => client.close(),
});

/**
 * Makes an appender with retries, which sends the appends of one stream one after another, and those of many streams
 * concurrently.
 *
 * An append that failed without an answer, or because the server was not ready or too busy, is sent again with the same
 * events, before anything else of its stream. The server recognizes it by its event ids, so nothing is written twice.
 */
export const appender = (client: AppendClient): Appender => {
  const last = new Map<string, Promise<unknown>>();
  const ending = new AbortController();
  setMaxListeners(0, ending.signal); // each pause adds one

  const insist = async (append: Append): Promise<Appended> => {
    const deadline = performance.now() + TRY_MS;
    let mayBeWritten = false;
    for (let pauseMs: number = PAUSE_MS.first; ; pauseMs = Math.min(PAUSE_MS.most, pauseMs * 2)) {
      try {
        return await tryOnce(client, append);
      } catch (error) {
        const fault = permanentFault(error);
        if (fault) throw refused(append, fault, mayBeWritten);
        mayBeWritten ||= isOutcomeUnknown(error);
        if (performance.now() + pauseMs > deadline || ending.signal.aborted) throw failed(append, error, mayBeWritten);
        await pause(pauseMs, undefined, { signal: ending.signal }).catch(() => undefined);
      }
    }
  };

  return {
    append: (append): Promise<Appended> => {
      const events = append.events.map((event) => ({ ...event, data: new Uint8Array(event.data) }));
      const before = last.get(append.stream) ?? Promise.resolve();
      const appended = before.then(() => insist({ ...append, events }));
      const done = appended.catch(() => undefined);
      last.set(append.stream, done);
      void done.then(() => last.get(append.stream) === done && last.delete(append.stream));
      return appended;
    },
    close: async () => {
      ending.abort();
      await Promise.all(last.values());
      await client.close();
    },
  };
};
