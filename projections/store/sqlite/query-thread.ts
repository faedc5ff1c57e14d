import { parentPort, workerData } from 'node:worker_threads';
import { crossingOf } from '../../../services/kernel/crossing-faults.js';
import { Fault, StoreUnavailable, TooManyQueries } from '../../../services/kernel/fault.js';
import type { Answered, QueryRequest, QueryThreadSettings } from './query-messages.js';
import { slices } from './query-slices.js';
import { sqliteReadStore } from './sqlite-read-store.js';
import { errorText } from '../../../services/kernel/error-text.js';

// Answers queries on a connection of its own, one at a time, because the calls of SQLite block the thread.
const { queryWaitMs, ...settings } = workerData as QueryThreadSettings;
const store = sqliteReadStore({ ...settings, mode: 'read-only' });

const WAIT_NS = BigInt(queryWaitMs) * 1_000_000n;

/**
 * Refuses a query that has waited too long, so that its caller can retry: running queries whose callers have given up
 * would delay the others.
 */
const assertInTime = ({ askedAt }: QueryRequest): void => {
  if (process.hrtime.bigint() - askedAt > WAIT_NS)
    throw new TooManyQueries(`the query did not start within ${queryWaitMs} ms`);
};

const post = (answered: Answered, transferred: readonly ArrayBuffer[] = []): void =>
  parentPort?.postMessage(answered, [...transferred]);

const find = async ({ id, collection, query }: QueryRequest): Promise<void> => {
  const { add, flush } = slices((slice) => post({ id, slice }, [slice.bytes.buffer]));
  const next = await store.findEach(collection, query, add);
  flush();
  post({ id, found: next ? { next } : {} });
};

const answer = async (request: QueryRequest): Promise<void> => {
  const { id, collection, query } = request;
  try {
    assertInTime(request);
    if (request.method === 'find') await find(request);
    else if (request.method === 'countBy') post({ id, counts: await store.countBy(collection, query, request.by) });
    else post({ id, values: await store.findDistinct(collection, query) });
  } catch (error) {
    const unknown = (): Fault => new StoreUnavailable(errorText(error));
    post({ id, fault: crossingOf(error instanceof Fault ? error : unknown()) });
  }
};

parentPort?.on('message', (request: QueryRequest) => void answer(request));
