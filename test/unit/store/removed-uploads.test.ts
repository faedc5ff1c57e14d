import { mkdtempSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { fileUploadStore } from '../../../services/store/uploads/file-upload-store.js';

const directory = mkdtempSync(join(tmpdir(), 'flightlog-removed-'));
const store = fileUploadStore({ directory, maxBytes: 100, publicUrl: () => 'http://here', now: Date.now });
const key = { org: '', project: 'flytesnacks', domain: 'development', path: 'code/a.tar.gz' };

afterAll(() => rmSync(directory, { recursive: true }));

const upload = async (content: string): Promise<string> => {
  const { url } = await store.linkToPut(key, { md5: undefined, notesMd5: false, expiresInSeconds: 60 });
  const body = async function* () {
    yield await Promise.resolve(Buffer.from(content));
  };
  expect(await store.put(new URL(url), body(), {})).toBeUndefined();
  return readFile(store.nativeUrl(key).replace('file://', ''), 'utf8');
};

it.each(['files/uploads/flytesnacks/development/code', 'files/uploads', 'files'])(
  'an upload is stored again after an operator has removed %s',
  async (folder) => {
    expect(await upload('one')).toBe('one');
    rmSync(join(directory, folder), { recursive: true });
    expect(await upload('two')).toBe('two');
    rmSync(join(directory, 'files'), { recursive: true });
  },
);
