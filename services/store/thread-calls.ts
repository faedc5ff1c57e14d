import { parentPort, type Worker } from 'node:worker_threads';
import { StoreUnavailable } from '../kernel/fault.js';
import { errorText } from '../kernel/error-text.js';

/** A call of a method of a store, and the number by which its answer is found. */
type ThreadCall = { readonly call: number; readonly method: string; readonly args: readonly unknown[] };

/** The answer to a call: a result, or the text of an error. */
type ThreadAnswer = { readonly call: number; readonly result?: unknown; readonly error?: string };

type Method = (...args: never[]) => Promise<unknown>;
type Methods<Store> = { readonly [Name in keyof Store]: Method };

/** A store as the thread that owns its file sees it: every method blocks that thread. */
export type Blocking<Store extends Methods<Store>> = {
  readonly [Name in keyof Store]: (...args: Parameters<Store[Name]>) => Awaited<ReturnType<Store[Name]>>;
};

/** The methods of a store on another thread, called in the order in which they are asked for. */
export type ThreadCalls<Store extends Methods<Store>> = {
  readonly call: <Name extends keyof Store & string>(
    method: Name,
  ) => (...args: Parameters<Store[Name]>) => Promise<Awaited<ReturnType<Store[Name]>>>;
  /** Closes the store, and waits for the end of its thread: until then SQLite may keep its files open. */
  readonly close: () => Promise<void>;
};

type Waiting = { readonly resolve: (result: unknown) => void; readonly reject: (error: Error) => void };

/**
 * Calls the methods of a store on its thread.
 *
 * @param storeName names the store in errors.
 * @throws {StoreUnavailable} from every method, when it throws on the thread, and when the thread has ended.
 */
export const callsTo = <Store extends Methods<Store>>(worker: Worker, storeName: string): ThreadCalls<Store> => {
  const waiting = new Map<number, Waiting>();
  const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
  let calls = 0;
  let end: Error | undefined;
  const failAll = (cause?: unknown): void => {
    const reason = (end ??= new StoreUnavailable(
      cause === undefined
        ? `the thread of the ${storeName} has ended`
        : `the ${storeName} cannot be used: ${errorText(cause)}`,
      cause,
    ));
    for (const { reject } of waiting.values()) reject(reason);
    waiting.clear();
  };
  worker.on('message', ({ call, result, error }: ThreadAnswer) => {
    const pending = waiting.get(call);
    waiting.delete(call);
    if (error === undefined) pending?.resolve(result);
    else pending?.reject(new StoreUnavailable(`${storeName}: ${error}`));
  });
  worker.on('error', failAll);
  worker.on('exit', () => failAll());
  const callThread = (method: string, args: readonly unknown[]): Promise<unknown> =>
    new Promise((resolve, reject) => {
      if (end) throw end;
      calls += 1;
      waiting.set(calls, { resolve, reject });
      worker.postMessage({ call: calls, method, args } satisfies ThreadCall);
    });
  return {
    call:
      (method) =>
      (...args) =>
        callThread(method, args) as never,
    close: async () => {
      await callThread('close', []);
      await exited;
    },
  };
};

/** Answers calls on the thread that owns the store's file, until `close` is called. */
export const answerCalls = (store: Readonly<Record<string, unknown>>): void => {
  const answered = ({ call, method, args }: ThreadCall): ThreadAnswer => {
    try {
      return { call, result: (store[method] as (...given: readonly unknown[]) => unknown)(...args) };
    } catch (error) {
      return { call, error: errorText(error) };
    }
  };
  parentPort?.on('message', (pending: ThreadCall) => {
    parentPort?.postMessage(answered(pending));
    if (pending.method === 'close') parentPort?.close();
  });
};
