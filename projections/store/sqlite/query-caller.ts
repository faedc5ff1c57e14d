import { Worker } from 'node:worker_threads';
import { faultOfCrossing } from '../../../services/kernel/crossing-faults.js';
import { StoreUnavailable, TooManyQueries } from '../../../services/kernel/fault.js';
import type { Collection, Found, Query, ValueCounts } from '../../runtime/read-store.js';
import { deliverInTurns } from './deliver-in-turns.js';
import type { Answered, QueryRequest, QueryMethod, QueryThreadSettings, Slice } from './query-messages.js';
import { sliceElements } from './query-slices.js';
import type { FoundValues } from '../distinct-values.js';

/** Runs queries on another thread. */
export type QueryCaller = {
  find(collection: Collection, query: Query): Promise<Found>;
  findDistinct(collection: Collection, query: Query): Promise<FoundValues>;
  countBy(collection: Collection, query: Query, by: string): Promise<ValueCounts>;
  close(): Promise<void>;
};

type QueryAnswer = Found | FoundValues | ValueCounts;

type Waiting = {
  readonly slices: Slice[];
  readonly resolve: (answer: QueryAnswer) => void;
  readonly reject: (error: Error) => void;
};

/** Maximum number of queries that wait for the thread; the thread limits how long each may wait. */
const MAX_WAITING = 1_000;

/**
 * Processes one message for a query: keeps a slice of elements, or ends the query with its answer or error.
 *
 * @returns true for the last message.
 */
const receive = (answered: Answered, { slices, resolve, reject }: Waiting): boolean => {
  if ('slice' in answered) slices.push(answered.slice);
  else if ('found' in answered) resolve({ elements: slices.flatMap(sliceElements), ...answered.found });
  else if ('values' in answered) resolve(answered.values);
  else if ('counts' in answered) resolve(answered.counts);
  else reject(faultOfCrossing(answered.fault));
  return !('slice' in answered);
};

/** Creates the caller. The thread starts with the first query, and again after it has died. */
export const queryCaller = (settings: QueryThreadSettings): QueryCaller => {
  const waiting = new Map<number, Waiting>();
  let worker: Worker | undefined;
  let count = 0;

  const failAll = (error: Error): void => {
    worker = undefined;
    for (const { reject } of waiting.values()) reject(new StoreUnavailable('the thread for queries has ended', error));
    waiting.clear();
  };
  const start = (): Worker => {
    const started = new Worker(new URL('./query-thread.js', import.meta.url), { workerData: settings });
    started.on('error', failAll);
    const receiveAnswer = (answered: Answered): void => {
      const pending = waiting.get(answered.id);
      if (pending && receive(answered, pending)) waiting.delete(answered.id);
    };
    started.on('message', deliverInTurns(receiveAnswer));
    return started;
  };
  const callThread = (called: QueryMethod, collection: Collection, query: Query): Promise<QueryAnswer> =>
    new Promise((resolve, reject) => {
      if (waiting.size >= MAX_WAITING) {
        reject(new TooManyQueries(`${MAX_WAITING} queries are waiting already`));
        return;
      }
      worker ??= start();
      count += 1;
      waiting.set(count, { slices: [], resolve, reject });
      const askedAt = process.hrtime.bigint();
      worker.postMessage({ id: count, askedAt, ...called, collection, query } satisfies QueryRequest);
    });

  return {
    find: (collection, query) => callThread({ method: 'find' }, collection, query) as Promise<Found>,
    findDistinct: (collection, query) =>
      callThread({ method: 'findDistinct' }, collection, query) as Promise<FoundValues>,
    countBy: (collection, query, by) =>
      callThread({ method: 'countBy', by }, collection, query) as Promise<ValueCounts>,
    close: async () => {
      await worker?.terminate();
      failAll(new Error('closed'));
    },
  };
};
