import { mkdtempSync } from 'node:fs';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DeleteObjectCommand, HeadObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { beforeAll, describe, expect, it } from 'vitest';
import { StoreUnavailable } from '../../services/kernel/fault.js';
import { payloadPath } from '../../services/store/payloads/object-name.js';
import { s3Client, type S3Location } from '../../services/store/s3-client.js';
import { s3PayloadStore } from '../../services/store/payloads/s3-payload-store.js';
import { payloadStoreContract } from '../contract/payload-store.contract.js';
import { makeBucket, newS3Location, s3Setting, s3Url } from '../support/servers/s3-server.js';
import { startServerProcess } from '../support/processes/server-process.js';

/** The key of the object of a payload. */
const keyOf = ({ prefix }: S3Location, scope: string, sha256: string): string =>
  `${prefix}payloads/${payloadPath(scope, sha256)}`;

/** A server that accepts connections and never answers. */
const silentServer = async (): Promise<{ endpoint: string; close: () => void }> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  return { endpoint: `http://127.0.0.1:${port}`, close: () => server.close() };
};

describe.skipIf(s3Url === undefined)('a payload store in a bucket', () => {
  beforeAll(makeBucket);

  payloadStoreContract('a bucket', () => {
    const location = newS3Location();
    return {
      store: s3PayloadStore(location),
      reopen: () => s3PayloadStore(location),
      damage: async (scope, sha256) => {
        const client = s3Client(location);
        const { bucket: Bucket } = location;
        await client.send(new PutObjectCommand({ Bucket, Key: keyOf(location, scope, sha256), Body: 'damaged' }));
        client.destroy();
      },
    };
  });

  it('renews the time of an object that is stored again', async () => {
    const location = newS3Location();
    const client = s3Client(location);
    const store = s3PayloadStore(location, client);
    const bytes = new Uint8Array(1_000).fill(3);
    const { scope, sha256 } = await store.put('definitions/flytesnacks', bytes);
    const head = new HeadObjectCommand({ Bucket: location.bucket, Key: keyOf(location, scope, sha256) });
    const before = (await client.send(head)).LastModified!.getTime();
    // The server stores times in whole seconds.
    await expect
      .poll(
        async () => {
          await store.put(scope, bytes);
          return (await client.send(head)).LastModified!.getTime();
        },
        { timeout: 10_000 },
      )
      .toBeGreaterThan(before);
    await store.close();
  });

  it('finds an object that is restored after its failed read, before the quarantined objects are listed', async () => {
    const location = newS3Location();
    const client = s3Client(location);
    const store = s3PayloadStore(location, client);
    const bytes = Uint8Array.of(1, 2, 3);
    const ref = await store.put('definitions/a', bytes);
    const object = { Bucket: location.bucket, Key: keyOf(location, ref.scope, ref.sha256) };
    await client.send(new DeleteObjectCommand(object));
    client.middlewareStack.add(
      (next, { commandName }) =>
        async (given) => {
          if (commandName === 'ListObjectsV2Command')
            await client.send(new PutObjectCommand({ ...object, Body: bytes }));
          return next(given);
        },
      { step: 'initialize' },
    );
    expect([...(await store.get(ref))!]).toEqual([1, 2, 3]);
    await store.close();
  });

  it('says which bucket does not exist', async () => {
    const store = s3PayloadStore({ ...newS3Location(), bucket: 'flightlog-nobody-made-this' });
    const failure = await store.check().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(StoreUnavailable);
    expect((failure as Error).message).toMatch(/s3:\/\/flightlog-nobody-made-this at http.* no such bucket/);
    await store.close();
  });

  it('reports a bucket that does not exist as unavailable, not the object as missing', async () => {
    const store = s3PayloadStore({ ...newS3Location(), bucket: 'flightlog-nobody-made-this' });
    const ref = { scope: 'definitions/a', sha256: '0'.repeat(64), sizeBytes: 1n, keyId: '' };
    await expect(store.get(ref)).rejects.toBeInstanceOf(StoreUnavailable);
    await store.close();
  });

  it('lets a server start with its payloads in a bucket', async () => {
    const data = mkdtempSync(join(tmpdir(), 'flightlog-s3-'));
    const server = await startServerProcess({ data, args: ['--payload-store', s3Setting(newS3Location())] });
    expect(await server.stop()).toBe(0);
  });
});

describe('an S3 server that cannot be reached', () => {
  beforeAll(() => {
    process.env['AWS_ACCESS_KEY_ID'] ??= 'test';
    process.env['AWS_SECRET_ACCESS_KEY'] ??= 'test';
  });

  /** A store that gives up after two attempts of 200 ms. */
  const unreachable = (endpoint: string) => {
    const location: S3Location = { kind: 's3', bucket: 'flightlog', prefix: '', endpoint };
    return s3PayloadStore(location, s3Client(location, { requestMs: 200, attempts: 2 }));
  };

  it('is unavailable when it does not answer', async () => {
    const server = await silentServer();
    const store = unreachable(server.endpoint);
    await expect(store.put('definitions/a', Uint8Array.of(1))).rejects.toBeInstanceOf(StoreUnavailable);
    await store.close();
    server.close();
  });

  it('is unavailable when no server listens', async () => {
    const server = await silentServer();
    server.close();
    const store = unreachable(server.endpoint);
    await expect(store.put('definitions/a', Uint8Array.of(1))).rejects.toMatchObject({ code: 'store-unavailable' });
    const ref = { scope: 'definitions/a', sha256: '0'.repeat(64), sizeBytes: 1n, keyId: '' };
    await expect(store.get(ref)).rejects.toBeInstanceOf(StoreUnavailable);
    await store.close();
  });

  it('ends the start of a server with an error that names the bucket and the address', async () => {
    const server = await silentServer();
    server.close();
    const data = mkdtempSync(join(tmpdir(), 'flightlog-s3-'));
    const url = `s3://flightlog?endpoint=${server.endpoint}`;
    const starting = startServerProcess({ data, args: ['--payload-store', url] });
    await expect(starting).rejects.toThrow(`payload store s3://flightlog at ${server.endpoint} cannot be reached`);
  });
});
