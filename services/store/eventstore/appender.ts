import { setTimeout as pause } from 'node:timers/promises';
import type { Appended, ExpectedRevision } from '../../kernel/ports/event-store.js';
import type { NewEvent } from '../../kernel/event.js';
import type { StreamName } from '../../kernel/stream.js';
import type { Fault } from '../../kernel/fault.js';
import { failPoint } from '../fail-point.js';
import type { AppendClient } from './append-client.js';
import { exhaustedFault, finalFault, isOutcomeUnknown } from './eventstore-fault.js';

/** How long an append is tried before its caller hears of it, and how long between two tries. */
const TRY_MS = 10_000;
const PAUSE_MS = { first: 20, most: 1_000 } as const;

/**
 * Until when a server may write an append, in milliseconds from now. The client says it as a time by its own clock, so a
 * near one is over for a server whose clock is ahead; how long an append is tried is counted here.
 */
const DEADLINE_MS = 24 * 60 * 60 * 1_000;

/** Events of one stream that are appended together. */
export type Batch = {
  readonly stream: StreamName;
  readonly expected: ExpectedRevision;
  readonly events: readonly NewEvent[];
};

/** The way to the store. */
export interface Appender {
  /** Copies what it needs before it returns. */
  append(batch: Batch): Promise<Appended>;
  /** Resolves when everything on its way is answered; nothing is tried again. */
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
  exhaustedFault(`no answer to an append to ${stream}`, error, mayBeWritten);

/** Sends every append at once and once only, so that they reach the server in the order in which they were given. */
export const appenderInOrder = (client: AppendClient): Appender => ({
  append: async (batch) => {
    try {
      return await tryOnce(client, batch);
    } catch (error) {
      throw finalFault(error) ?? failed(batch, error, isOutcomeUnknown(error));
    }
  },
  close: () => client.close(),
});

/**
 * Appends one after another in each stream, many streams at once.
 *
 * What failed without an answer is sent again exactly as it was, before anything else of its stream: the ids of its
 * events make that safe.
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
        const fault = finalFault(error);
        if (fault) throw fault;
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
