import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CorruptPayload, StoreUnavailable } from '../../../services/kernel/fault.js';
import { s3UploadRestorer, type UploadRestorer } from '../../../services/store/backup/s3-files.js';

const file = { path: 'files/uploads/p/d/f', sizeBytes: 14, chunks: [] };

/** The first half of the content, and then an error, as for a backup of which a chunk is damaged. */
const damaged = async function* (): AsyncGenerator<Uint8Array> {
  yield Buffer.from('content');
  throw new CorruptPayload(await Promise.resolve('a chunk is damaged'));
};

describe('the uploads of a backup that are restored to a bucket', () => {
  let server: Server;
  let restorer: UploadRestorer;
  /** The bodies of the requests that were received whole. */
  const bodies: string[] = [];

  beforeAll(async () => {
    process.env['AWS_ACCESS_KEY_ID'] ??= 'test';
    process.env['AWS_SECRET_ACCESS_KEY'] ??= 'test';
    server = createServer((request, response) => {
      if (request.method === 'HEAD') {
        response.writeHead(404).end();
        return;
      }
      let body = '';
      request.on('error', () => undefined); // the client has ended the request
      request.on('data', (bytes: Buffer) => (body += bytes.toString()));
      request.on('end', () => {
        bodies.push(body);
        response.writeHead(200).end();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    restorer = s3UploadRestorer({ kind: 's3', bucket: 'bucket', prefix: '', endpoint });
  });
  afterAll(() => {
    restorer.close();
    server.close();
  });

  it('fail with the error of the backup when it is damaged, and nothing is uploaded', async () => {
    await expect(restorer.restore(file, damaged())).rejects.toBeInstanceOf(CorruptPayload);
    expect(bodies).toEqual([]);
  });

  it('are not restored while the bucket is away', async () => {
    const away = s3UploadRestorer({ kind: 's3', bucket: 'bucket', prefix: '', endpoint: 'http://127.0.0.1:1' });
    await expect(away.restore(file, damaged())).rejects.toBeInstanceOf(StoreUnavailable);
    away.close();
  });
});
