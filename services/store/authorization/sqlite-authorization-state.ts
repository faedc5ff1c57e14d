import { Worker } from 'node:worker_threads';
import { StoreUnavailable } from '../../kernel/fault.js';
import type { AuthorizationState } from '../../kernel/ports/authorization-state.js';
import type { StateDatabase } from './state-database.js';
import type { StateAnswer, StateCall } from './state-thread.js';

type Waiting = { readonly resolve: (result: unknown) => void; readonly reject: (error: Error) => void };

/** Calls methods of the database on its thread, in the order in which they are called. */
const remote = (worker: Worker) => {
  const waiting = new Map<number, Waiting>();
  const ended = (cause?: unknown): Error => new StoreUnavailable('the authorization state is closed', cause);
  let calls = 0;
  let isEnded = false;
  const failAll = (cause?: unknown): void => {
    isEnded = true;
    for (const { reject } of waiting.values()) reject(ended(cause));
    waiting.clear();
  };
  worker.on('message', ({ call, result, error }: StateAnswer) => {
    const asked = waiting.get(call);
    waiting.delete(call);
    if (error === undefined) asked?.resolve(result);
    else asked?.reject(new StoreUnavailable(`authorization state: ${error}`));
  });
  worker.on('error', failAll);
  worker.on('exit', () => failAll());
  return <Method extends keyof StateDatabase>(method: Method) =>
    (...args: Parameters<StateDatabase[Method]>): Promise<ReturnType<StateDatabase[Method]>> =>
      new Promise((resolve, reject) => {
        if (isEnded) throw ended();
        calls += 1;
        waiting.set(calls, { resolve: resolve as Waiting['resolve'], reject });
        worker.postMessage({ call: calls, method, args } satisfies StateCall);
      });
};

/**
 * Opens the state of the authorization server in the file `authorization.db` of a data directory; the file is read and
 * written on a thread of its own. Other processes of this machine may have it open as well.
 *
 * @throws {StoreUnavailable} from every method, when the disk does not answer or after `close`.
 */
export const sqliteAuthorizationState = (directory: string): AuthorizationState => {
  const worker = new Worker(new URL('./state-thread.js', import.meta.url), { workerData: directory });
  const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
  const call = remote(worker);
  return {
    put: call('put'),
    find: call('find'),
    findByAlias: call('findByAlias'),
    consume: call('consume'),
    remove: call('remove'),
    removeGrant: call('removeGrant'),
    removeExpired: call('removeExpired'),
    keys: call('keys'),
    addKey: call('addKey'),
    removeKeys: call('removeKeys'),
    close: async () => {
      await call('close')();
      await exited; // until then SQLite may keep its files open
    },
  };
};
