import { parentPort, workerData } from 'node:worker_threads';
import { type StateDatabase, stateDatabase } from './state-database.js';

/** A call of a method of the database, and the number by which its answer is found. */
export type StateCall = {
  readonly call: number;
  readonly method: keyof StateDatabase;
  readonly args: readonly unknown[];
};

/** The answer to a call: a result, or the text of an error. */
export type StateAnswer = { readonly call: number; readonly result?: unknown; readonly error?: string };

const database = stateDatabase(workerData as string);

const answered = ({ call, method, args }: StateCall): StateAnswer => {
  try {
    return { call, result: (database[method] as (...given: readonly unknown[]) => unknown)(...args) };
  } catch (error) {
    return { call, error: error instanceof Error ? error.message : String(error) };
  }
};

parentPort?.on('message', (asked: StateCall) => {
  parentPort?.postMessage(answered(asked));
  if (asked.method === 'close') parentPort?.close();
});
