import { parentPort, workerData } from 'node:worker_threads';
import { Fault } from '../../services/kernel/fault.js';
import { type Asked, type Answered, type QueryThreadSettings } from './query-messages.js';
import { sqliteReadStore } from './sqlite-read-store.js';

// Answers queries, one after another, on a connection of its own.
const store = sqliteReadStore({ ...(workerData as QueryThreadSettings), mode: 'read-only' });

const answer = async ({ id, method, collection, query }: Asked): Promise<Answered> => {
  try {
    return { id, result: await store[method](collection, query) };
  } catch (error) {
    const isFault = error instanceof Fault;
    return { id, fault: { code: isFault ? error.code : 'store-unavailable', message: String(error) } };
  }
};

parentPort?.on('message', (asked: Asked) => {
  void answer(asked).then((answered) => parentPort?.postMessage(answered));
});
