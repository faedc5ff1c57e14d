import { fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { LoadOrder, LoadResult } from './load.js';
import type { StreamOrder, StreamResult } from './stream-load.js';

const beside = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

/** Runs the load generator once, in a process of its own. */
export const generateLoad = async (order: LoadOrder): Promise<LoadResult> => {
  const child = fork(beside('./load.js'));
  child.send(order);
  const [result] = (await once(child, 'message')) as [LoadResult];
  return result;
};

/** Runs the load generator of streams once, in a process of its own. */
export const generateStreams = async (order: StreamOrder): Promise<StreamResult> => {
  const child = fork(beside('./stream-load.js'));
  child.send(order);
  const [result] = (await once(child, 'message')) as [StreamResult];
  return result;
};

const onEcho = async <Result>(measure: (address: string) => Promise<Result>): Promise<Result> => {
  const child = fork(beside('./echo.js'));
  const [{ address }] = (await once(child, 'message')) as [{ address: string }];
  try {
    return await measure(address);
  } finally {
    child.kill();
  }
};

/** Measures the baseline: the rate at which an echo server answers the same requests. */
export const measureEcho = (order: Omit<LoadOrder, 'address' | 'path'>): Promise<LoadResult> =>
  onEcho((address) => generateLoad({ ...order, address, path: '/bench.Echo/Echo' }));

/** Measures the baseline of streams: the rate at which an echo server sends the same messages back. */
export const measureEchoStreams = (order: Omit<StreamOrder, 'address' | 'path'>): Promise<StreamResult> =>
  onEcho((address) => generateStreams({ ...order, address, path: '/bench.Echo/EchoStream' }));

/** Writes requests to a file for the load generator. */
export const writeFrames = (file: string, requests: readonly Uint8Array[]): void => {
  const parts = requests.flatMap((request) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(request.length);
    return [length, request];
  });
  writeFileSync(file, Buffer.concat(parts));
};
