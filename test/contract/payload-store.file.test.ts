import { mkdirSync, mkdtempSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { StoreUnavailable } from '../../services/kernel/fault.js';
import { filePayloadStore } from '../../services/store/payloads/file-payload-store.js';
import { payloadStoreContract } from './payload-store.contract.js';

const newDirectory = (): string => mkdtempSync(join(tmpdir(), 'flightlog-payloads-'));

const fileOf = (directory: string, scope: string, sha256: string): string =>
  join(directory, 'payloads', scope, sha256.slice(0, 2), sha256);

payloadStoreContract('the folder of payloads', () => {
  const directory = newDirectory();
  return {
    store: filePayloadStore({ directory }),
    reopen: () => filePayloadStore({ directory }),
    damage: (scope, sha256) => writeFile(fileOf(directory, scope, sha256), 'damaged'),
  };
});

it('a folder of payloads renews the time of one that is put again, and does not write it again', async () => {
  const directory = newDirectory();
  const store = filePayloadStore({ directory });
  const bytes = new Uint8Array(1_000).fill(3);
  const { scope, sha256 } = await store.put('definitions/flytesnacks', bytes);
  const file = fileOf(directory, scope, sha256);
  await utimes(file, new Date(0), new Date(0));
  const before = statSync(file);
  await store.put(scope, bytes);
  const after = statSync(file);
  expect(after.ino).toBe(before.ino);
  expect(after.mtimeMs).toBeGreaterThan(before.mtimeMs);
});

it('a folder of payloads removes an old half-written file at the first write', async () => {
  const directory = newDirectory();
  const store = filePayloadStore({ directory });
  await store.put('definitions/a', new Uint8Array(100_000));
  const partial = join(directory, 'payloads', '.partial');
  expect(readdirSync(partial)).toEqual([]);
  const left = join(partial, 'of-a-process-that-is-gone');
  writeFileSync(left, 'half');
  await utimes(left, new Date(0), new Date(0));
  await filePayloadStore({ directory }).put('definitions/a', new Uint8Array(100_001));
  expect(readdirSync(partial)).toEqual([]);
});

it('a folder of payloads keeps a new half-written file, which another process may be writing', async () => {
  const directory = newDirectory();
  const partial = join(directory, 'payloads', '.partial');
  mkdirSync(partial, { recursive: true });
  writeFileSync(join(partial, 'of-another'), 'half');
  await filePayloadStore({ directory }).put('definitions/a', new Uint8Array(100_000));
  expect(readdirSync(partial)).toEqual(['of-another']);
});

it('a folder of payloads is not written to by a read', async () => {
  const directory = newDirectory();
  const ref = { scope: 'definitions/a', sha256: '0'.repeat(64), sizeBytes: 1n, keyId: '' };
  expect(await filePayloadStore({ directory }).get(ref)).toBeUndefined();
  expect(readdirSync(directory)).toEqual([]);
});

it('a folder of payloads fails with StoreUnavailable when a file is in its place', async () => {
  const directory = newDirectory();
  writeFileSync(join(directory, 'payloads'), 'a file where the folder should be');
  const store = filePayloadStore({ directory });
  await expect(store.put('definitions/a', Uint8Array.of(1))).rejects.toBeInstanceOf(StoreUnavailable);
  const ref = { scope: 'definitions/a', sha256: '0'.repeat(64), sizeBytes: 1n, keyId: '' };
  await expect(store.get(ref)).rejects.toMatchObject({ code: 'store-unavailable' });
});
