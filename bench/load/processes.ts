import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { LoadOrder, LoadResult } from './load.js';
import type { StreamOrder, StreamResult } from './stream-load.js';

/** The path of a program in this folder. */
const beside = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

/**
 * Waits for the next message of a process that was forked.
 *
 * @throws {Error} when the process ends before, or when the signal is aborted.
 */
export const nextMessage = <Message>(child: ChildProcess, signal?: AbortSignal): Promise<Message> =>
  new Promise((resolve, reject) => {
    const onEnd = (): void => reject(new Error(`process ${child.pid} of the benchmark has ended without an answer`));
    child.once('disconnect', onEnd);
    signal?.addEventListener('abort', () => reject(new Error('no answer in time', { cause: signal.reason })));
    child.once('message', (message) => {
      child.off('disconnect', onEnd);
      resolve(message as Message);
    });
  });

const answerOf = <Result>(program: string, order: LoadOrder | StreamOrder): Promise<Result> => {
  const child = fork(beside(program));
  child.send(order);
  return nextMessage<Result>(child);
};

/** Runs the load generator once, in a process of its own. */
export const generateLoad = (order: LoadOrder): Promise<LoadResult> => answerOf('./load.js', order);

/** Runs the load generator of streams once, in a process of its own. */
export const generateStreams = (order: StreamOrder): Promise<StreamResult> => answerOf('./stream-load.js', order);

/** Starts a server program with arguments, runs the measurement on the address that it reports, and stops it. */
const onServer = async <Result>(
  [program, ...args]: readonly [program: string, ...args: string[]],
  measure: (address: string) => Promise<Result>,
): Promise<Result> => {
  const child = fork(beside(program), args);
  const { address } = await nextMessage<{ address: string }>(child);
  try {
    return await measure(address);
  } finally {
    child.kill();
  }
};

/** Measures the baseline: the rate at which an echo server answers the same requests. */
export const measureEcho = (order: Omit<LoadOrder, 'address' | 'path'>): Promise<LoadResult> =>
  onServer(['./echo.js'], (address) => generateLoad({ ...order, address, path: '/bench.Echo/Echo' }));

/** Measures the baseline of streams: the rate at which an echo server sends the same messages back. */
export const measureEchoStreams = (order: Omit<StreamOrder, 'address' | 'path'>): Promise<StreamResult> =>
  onServer(['./echo.js'], (address) => generateStreams({ ...order, address, path: '/bench.Echo/EchoStream' }));

/**
 * Measures the second baseline of streams: the rate at which a bare server records the same messages on disk before it
 * answers them, and keeps a table of the nodes. Its files are in `directory`.
 */
export const measureRecorder = (
  directory: string,
  order: Omit<StreamOrder, 'address' | 'path'>,
): Promise<StreamResult> =>
  onServer(['./bare-recorder.js', directory], (address) =>
    generateStreams({ ...order, address, path: '/bench.Recorder/Record' }),
  );
