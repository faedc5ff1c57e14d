import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { StoreUnavailable } from '../../../services/kernel/fault.js';
import { s3Files, s3UploadRestorer } from '../../../services/store/backup/s3-files.js';
import { s3PayloadObjects } from '../../../services/store/payloads/s3-payload-objects.js';
import { s3PayloadStore } from '../../../services/store/payloads/s3-payload-store.js';
import type { S3Location } from '../../../services/store/s3-client.js';
import { s3Target } from '../../../services/store/targets/s3-target.js';

/** A proxy in front of an object store may answer so while it has no route to the store. */
describe('a bucket that is found, while all other requests are answered with the status 404', () => {
  let server: Server;
  let location: S3Location;

  beforeAll(async () => {
    process.env['AWS_ACCESS_KEY_ID'] ??= 'test';
    process.env['AWS_SECRET_ACCESS_KEY'] ??= 'test';
    server = createServer(({ method, url = '' }, response) => {
      const isBucket = method === 'HEAD' && /^\/bucket\/?$/u.test(url);
      response.writeHead(isBucket ? 200 : 404).end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    location = { kind: 's3', bucket: 'bucket', prefix: '', endpoint };
  });
  afterAll(() => void server.close());

  it('takes no payload', async () => {
    const store = s3PayloadStore(location);
    await expect(store.put('a', Buffer.from('content'))).rejects.toBeInstanceOf(StoreUnavailable);
    await store.close();
  });

  it('takes no upload from a backup', async () => {
    const restorer = s3UploadRestorer(location);
    const file = { path: 'files/uploads/p/d/f', sizeBytes: 7, chunks: [] };
    await expect(restorer.restore(file, Readable.from([Buffer.from('content')]))).rejects.toBeInstanceOf(
      StoreUnavailable,
    );
    restorer.close();
  });

  it('takes no object of a backup, and cannot be listed as the target of one', async () => {
    const target = await s3Target(location, 'backup');
    await expect(target.write('a', Buffer.from('content'))).rejects.toThrow(
      /backup s3:\/\/bucket\/a cannot be written/u,
    );
    await expect(target.sizes()).rejects.toThrow(/backup s3:\/\/bucket\/ cannot be listed/u);
    await target.close();
  });

  it('takes no exclusive object, and does not count as one that another process uses', async () => {
    const target = await s3Target(location, 'backup');
    const manifest = await target.openExclusively('manifest');
    await expect(manifest.replace(Buffer.from('content'))).rejects.toThrow(
      /backup s3:\/\/bucket\/manifest cannot be written/u,
    );
    await target.close();
  });

  it('cannot be backed up: it does not count as one without uploads', async () => {
    const files = s3Files(location);
    await expect(files.find()).rejects.toBeInstanceOf(StoreUnavailable);
    await files.close();
  });

  it('cannot be cleaned: it does not count as one without payloads', async () => {
    const objects = s3PayloadObjects(location);
    await expect(objects.list()[Symbol.asyncIterator]().next()).rejects.toBeInstanceOf(StoreUnavailable);
    await objects.close();
  });
});
