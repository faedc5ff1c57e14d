import { once } from 'node:events';
import { mkdtempSync, type ReadStream, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';

import { StoreUnavailable } from '../../../services/kernel/fault.js';
import { type OpenFile, uploadPath } from '../../../services/kernel/ports/uploads.js';
import { fileUploadStore } from '../../../services/store/uploads/file-upload-store.js';

const directory = mkdtempSync(join(tmpdir(), 'flightlog-upload-'));
const key = { org: '', project: 'flytesnacks', domain: 'development', path: 'data.bin' };

afterAll(() => rmSync(directory, { recursive: true }));

it('an upload that cannot be read any more has no MD5: the store is unavailable', async () => {
  const store = fileUploadStore({ directory, maxBytes: 100, publicUrl: () => 'http://localhost', now: Date.now });
  const { url } = await store.linkToPut(key, { md5: undefined, notesMd5: false, expiresInSeconds: 60 });
  const body = async function* () {
    yield await Promise.resolve(Uint8Array.of(1, 2, 3));
  };
  expect(await store.put(new URL(url), body(), {})).toBeUndefined();
  const found = await store.find(key);
  rmSync(join(directory, 'files', uploadPath(key)));
  await expect(found?.hasMd5(new Uint8Array(16))).rejects.toThrow(StoreUnavailable);
});

it('a file that was opened for a download can be closed without being read', async () => {
  const store = fileUploadStore({ directory, maxBytes: 100, publicUrl: () => 'http://localhost', now: Date.now });
  const { url } = await store.linkToPut(key, { md5: undefined, notesMd5: false, expiresInSeconds: 60 });
  const body = async function* () {
    yield await Promise.resolve(Uint8Array.of(1, 2, 3));
  };
  expect(await store.put(new URL(url), body(), {})).toBeUndefined();
  const file = (await store.get(new URL(await store.linkToGet(key, 60)))) as OpenFile;
  const closed = once(file.content as ReadStream, 'close');
  file.close();
  await closed;
});
