import { setTimeout as pause } from 'node:timers/promises';
import type { Appended, ExpectedRevision } from '../../kernel/ports/event-store.js';
import type { NewEvent } from '../../kernel/event.js';
import type { StreamName } from '../../kernel/stream.js';
import { type Fault, OutcomeUnknown, StoreUnavailable } from '../../kernel/fault.js';
import { failPoint } from '../fail-point.js';
import type { AppendClient } from './append-client.js';
import { retriesUsedUpFault, permanentFault, isOutcomeUnknown } from './eventstore-fault.js';

/** The time for which an append is retried before it fails, and the backoff between two attempts, in milliseconds. */
const TRY_MS = 10_000;
const PAUSE_MS = { first: 20, most: 1_000 } as const;

/**
 * The deadline of an append for the server, in milliseconds from now. It is sent as a time by the clock of this
 * process, and a near one would have passed already for a server whose clock is ahead. `TRY_MS` limits the retries.
 */
const DEADLINE_MS = 24 * 60 * 60 * 1_000;

/** Events that are appended to one stream atomically. */
export type Batch = {
  readonly stream: StreamName;
  readonly expected: ExpectedRevision;
  readonly events: readonly NewEvent[];
};

/** Appends batches to the store. */
export interface Appender {
  /** Appends a batch. The retrying appender copies the events before it returns. */
  append(batch: Batch): Promise<Appended>;
  /** Resolves when everything in flight is answered; nothing is retried any more. */
  close(): Promise<void>;
}

const tryOnce = async (client: AppendClient, { stream, expected, events }: Batch): Promise<Appended> => {
  failPoint('before-commit');
  const deadlineSeconds = Math.ceil((Date.now() + DEADLINE_MS) / 1_000);
  const appended = await client.send({ stream, expected, events, deadlineSeconds });
  failPoint('after-commit');
  return appended;
};

const failed = ({ stream }: Batch, error: unknown, mayBeWritten: boolean): Fault =>
  retriesUsedUpFault(`no answer to an append to ${stream}`, error, mayBeWritten);

/** The fault of an append that is denied or refused; an earlier attempt may have been recorded all the same. */
const refused = ({ stream }: Batch, fault: Fault, mayBeWritten: boolean): Fault =>
  mayBeWritten && fault instanceof StoreUnavailable
    ? new OutcomeUnknown(
        `no answer to an append to ${stream}, and it was refused when repeated: ${fault.message}`,
        fault.cause,
      )
    : fault;

/** Makes an appender without retries: it sends each append at once, so that they reach the server in call order. */
export const appenderInOrder = (client: AppendClient): Appender => ({
  append: async (batch) => {
    try {
      return await tryOnce(client, batch);
    } catch (error) {
      throw permanentFault(error) ?? failed(batch, error, isOutcomeUnknown(error));
    }
  },
  close: () => client.close(),
});

/**
 * Makes an appender with retries, which appends one batch after another in each stream, and many streams concurrently.
 *
 * An append that failed without an answer is sent again unchanged, before anything else of its stream. The server
 * recognizes it by its event ids, so nothing is written twice.
 */
export const appender = (client: AppendClient, now: () => number = Date.now): Appender => {
  const last = new Map<StreamName, Promise<unknown>>();
  const ending = new AbortController();

  const insist = async (batch: Batch): Promise<Appended> => {
    const deadline = now() + TRY_MS;
    let mayBeWritten = false;
    for (let pauseMs: number = PAUSE_MS.first; ; pauseMs = Math.min(PAUSE_MS.most, pauseMs * 2)) {
      try {
        return await tryOnce(client, batch);
      } catch (error) {
        const fault = permanentFault(error);
        if (fault) throw refused(batch, fault, mayBeWritten);
        mayBeWritten ||= isOutcomeUnknown(error);
        if (now() + pauseMs > deadline || ending.signal.aborted) throw failed(batch, error, mayBeWritten);
        await pause(pauseMs, undefined, { signal: ending.signal }).catch(() => undefined);
      }
    }
  };

  return {
    append: (batch): Promise<Appended> => {
      const events = batch.events.map((event) => ({ ...event, data: new Uint8Array(event.data) }));
      const before = last.get(batch.stream) ?? Promise.resolve();
      const appended = before.then(() => insist({ ...batch, events }));
      const done = appended.catch(() => undefined);
      last.set(batch.stream, done);
      void done.then(() => last.get(batch.stream) === done && last.delete(batch.stream));
      return appended;
    },
    close: async () => {
      ending.abort();
      await Promise.all(last.values());
      await client.close();
    },
  };
};
