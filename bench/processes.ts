import { fork } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { LoadOrder, LoadResult } from './load.js';

const beside = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

/** Runs the load generator once, in a process of its own. */
export const generateLoad = async (order: LoadOrder): Promise<LoadResult> => {
  const child = fork(beside('./load.js'));
  child.send(order);
  const [result] = (await once(child, 'message')) as [LoadResult];
  return result;
};

/** Measures the floor: the rate at which an echo server answers the same requests. */
export const measureEcho = async (order: Omit<LoadOrder, 'address' | 'path'>): Promise<LoadResult> => {
  const child = fork(beside('./echo.js'));
  const [{ address }] = (await once(child, 'message')) as [{ address: string }];
  try {
    return await generateLoad({ ...order, address, path: '/bench.Echo/Echo' });
  } finally {
    child.kill();
  }
};

/** Writes requests to a file for the load generator. */
export const writeFrames = (file: string, requests: readonly Uint8Array[]): void => {
  const parts = requests.flatMap((request) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(request.length);
    return [length, request];
  });
  writeFileSync(file, Buffer.concat(parts));
};
