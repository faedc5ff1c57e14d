import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http2';
import { type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readFrames, writeFrames } from '../../../bench/load/frames.js';
import { generateLoad, generateStreams } from '../../../bench/load/processes.js';
import { median, percentile } from '../../../bench/percentile.js';

let directory: string;
let framesFile: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'flightlog-bench-load-'));
  framesFile = join(directory, 'frames');
});
afterEach(() => rmSync(directory, { recursive: true }));

/** Starts an HTTP/2 server that answers nothing. */
const listening = async (): Promise<{ readonly address: string; readonly close: () => void }> => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() };
};

describe('a load of a benchmark', () => {
  it('is read from its file as it was written, each message with the header of a gRPC frame', () => {
    writeFrames(framesFile, [Buffer.from('one'), Buffer.alloc(0), Buffer.from('three')]);
    const frames = readFrames(framesFile).map((frame) => frame.toString('latin1'));
    expect(frames).toEqual(['\0\0\0\0\u0003one', '\0\0\0\0\0', '\0\0\0\0\u0005three']);
  });

  it('ends at once when it has no requests', async () => {
    const server = await listening();
    writeFrames(framesFile, []);
    const target = { address: server.address, path: '/', framesFile, inFlight: 1 };
    expect((await generateLoad({ ...target, from: 0, count: 0 })).statuses).toEqual({});
    expect((await generateStreams({ ...target, shares: [{ from: 0, count: 0 }] })).failures).toBe(0);
    server.close();
  });

  it('fails when its file has fewer requests than it is to send', async () => {
    const { address, close } = await listening();
    writeFrames(framesFile, [Buffer.from('one')]);
    const load = generateLoad({ address, path: '/', framesFile, from: 1, count: 1, inFlight: 1 });
    await expect(load).rejects.toThrow('has ended without an answer');
    close();
  });

  it('fails when the server cannot be reached', async () => {
    const { address, close } = await listening();
    close();
    writeFrames(framesFile, [Buffer.from('one')]);
    const load = generateLoad({ address, path: '/', framesFile, from: 0, count: 1, inFlight: 1 });
    await expect(load).rejects.toThrow('has ended without an answer');
  });
});

it('a percentile of a benchmark is a measured value, also for the shares 0 and 1, and 0 without values', () => {
  expect([0, 0.5, 0.99, 1].map((share) => percentile([1, 2, 3, 4], share))).toEqual([1, 3, 4, 4]);
  expect([percentile([], 0.5), median([9, 1, 5])]).toEqual([0, 5]);
});
