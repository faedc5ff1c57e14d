import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { EngineData } from '../../../services/kernel/ports/engine-data.js';
import { s3EngineData } from '../../../services/store/engine-data/s3-engine-data.js';

const MAX_BYTES = 1_000;
/** Grants the memory that a read asks for. */
const enoughMemory = (): Promise<void> => Promise.resolve();

/** Objects by key: the size that HEAD says, and the body of GET. */
const OBJECTS: Readonly<Record<string, { readonly size: number; readonly body: string }>> = {
  'a/fits': { size: 4, body: 'fits' },
  'a/empty': { size: 0, body: '' },
  'a/grown': { size: 4, body: 'grown' },
  'a/large': { size: MAX_BYTES + 1, body: '' },
};

describe('objects of engines in a bucket', () => {
  const requests: string[] = [];
  let server: Server;
  let data: EngineData;

  beforeAll(async () => {
    process.env['AWS_ACCESS_KEY_ID'] ??= 'test';
    process.env['AWS_SECRET_ACCESS_KEY'] ??= 'test';
    server = createServer(({ method = '', url = '' }, response) => {
      const key = url.replace('/bucket/', '').split('?', 1)[0] ?? '';
      requests.push(`${method} ${key}`);
      const found = OBJECTS[key];
      if (!found) response.writeHead(404).end();
      else if (method === 'HEAD') response.writeHead(200, { 'content-length': found.size }).end();
      else response.end(found.body);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    data = s3EngineData([{ kind: 's3', bucket: 'bucket', prefix: 'a/', endpoint }], MAX_BYTES);
  });
  afterAll(async () => {
    await data.close();
    server.close();
  });

  it('are read whole', async () => {
    expect(Buffer.from((await data.read('s3://bucket/a/fits', enoughMemory))!).toString()).toBe('fits');
    expect(await data.read('s3://bucket/a/empty', enoughMemory)).toHaveLength(0);
  });

  it.each([
    's3://bucket/b/fits',
    's3://bucket/ab',
    's3://other/a/fits',
    'gs://bucket/a/fits',
    's3://bucket/a/../b',
    '',
  ])('are not looked at when their address is not below the bucket and prefix: %j', async (address) => {
    requests.length = 0;
    expect([await data.read(address, enoughMemory), requests]).toEqual([undefined, []]);
  });

  it('are unusable when they are missing or too large, which is known before they are fetched', async () => {
    requests.length = 0;
    await expect(data.read('s3://bucket/a/gone', enoughMemory)).rejects.toMatchObject({
      code: 'engine-data-unusable',
      message: 's3://bucket/a/gone is missing',
    });
    await expect(data.read('s3://bucket/a/large', enoughMemory)).rejects.toMatchObject({
      code: 'engine-data-unusable',
    });
    expect(requests).toEqual(['HEAD a/gone', 'HEAD a/large']);
  });

  it('are not fetched without memory for them, nor beyond that memory when they have grown', async () => {
    requests.length = 0;
    const sizes: number[] = [];
    const noMemory = (bytes: number): Promise<void> => {
      sizes.push(bytes);
      return Promise.reject(new Error('no memory'));
    };
    await expect(data.read('s3://bucket/a/fits', noMemory)).rejects.toThrow('no memory');
    expect([sizes, requests]).toEqual([[4], ['HEAD a/fits']]);
    await expect(data.read('s3://bucket/a/grown', enoughMemory)).rejects.toMatchObject({
      code: 'store-unavailable',
      message: 's3://bucket/a/grown cannot be read: it has grown meanwhile',
    });
  });
});
