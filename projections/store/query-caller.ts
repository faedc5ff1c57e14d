import { Worker } from 'node:worker_threads';
import { QueryTooSlow, StoreUnavailable } from '../../services/kernel/fault.js';
import type { Collection, Query } from '../kernel/read-store.js';
import type { Answered, Asked, QueryMethod, QueryResult, QueryThreadSettings } from './query-messages.js';

/** Has queries answered on another thread. */
export type QueryCaller = {
  ask(method: QueryMethod, collection: Collection, query: Query): Promise<QueryResult>;
  close(): Promise<void>;
};

type Waiting = { readonly resolve: (result: QueryResult) => void; readonly reject: (error: Error) => void };

/** Queries that may wait for the thread; one more would wait for longer than anybody does. */
const MAX_WAITING = 32;

const settle = ({ result, fault }: Answered, { resolve, reject }: Waiting): void => {
  if (result) resolve(result);
  else if (fault?.code === 'query-too-slow') reject(new QueryTooSlow(fault.message));
  else reject(new StoreUnavailable(fault?.message ?? 'the query has no answer'));
};

/** Starts the thread with the first query, and again should it have died. */
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
    started.on('message', (answered: Answered) => {
      const asked = waiting.get(answered.id);
      waiting.delete(answered.id);
      if (asked) settle(answered, asked);
    });
    return started;
  };

  return {
    ask: (method, collection, query) =>
      new Promise((resolve, reject) => {
        if (waiting.size >= MAX_WAITING) {
          reject(new QueryTooSlow(`${MAX_WAITING} queries are waiting already`));
          return;
        }
        worker ??= start();
        count += 1;
        waiting.set(count, { resolve, reject });
        worker.postMessage({ id: count, method, collection, query } satisfies Asked);
      }),
    close: async () => {
      await worker?.terminate();
      failAll(new Error('closed'));
    },
  };
};
