import { mkdtempSync } from 'node:fs';
import { mkdir, rename, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { StoreUnavailable } from '../../services/kernel/fault.js';
import { filePayloadObjects } from '../../services/store/payloads/file-payload-objects.js';
import { filePayloadStore } from '../../services/store/payloads/file-payload-store.js';
import { payloadPath, quarantineName } from '../../services/store/payloads/object-name.js';
import { objectsOf, payloadObjectsContract } from './payload-objects.contract.js';

const open = () => {
  const directory = mkdtempSync(join(tmpdir(), 'flightlog-objects-'));
  return { directory, store: filePayloadStore({ directory }), objects: filePayloadObjects({ directory }) };
};

payloadObjectsContract('the folder of payloads', open);

/** A payload that is in quarantine because the process ended during its removal. */
const leftInQuarantine = async () => {
  const opened = open();
  const ref = await opened.store.put('definitions/a', Uint8Array.of(1, 2, 3));
  const path = payloadPath(ref.scope, ref.sha256);
  const at = (name: string): string => join(opened.directory, 'payloads', name);
  await rename(at(path), at(quarantineName(path, 1)));
  const [object] = await objectsOf(opened.objects);
  return { ...opened, ref, object: object!, at };
};

describe('a payload file that was left in quarantine', () => {
  it('is read as if it were not in quarantine', async () => {
    const { store, ref } = await leftInQuarantine();
    expect([...(await store.get(ref))!]).toEqual([1, 2, 3]);
  });

  it('is listed as quarantined, and can be restored', async () => {
    const { objects, object, ref, store } = await leftInQuarantine();
    expect(object).toMatchObject({ path: payloadPath(ref.scope, ref.sha256), quarantinedAs: `${object.path}.aside-1` });
    await objects.restore(object);
    expect(await objectsOf(objects)).toMatchObject([{ path: object.path }]);
    expect((await objectsOf(objects))[0]!.quarantinedAs).toBeUndefined();
    expect([...(await store.get(ref))!]).toEqual([1, 2, 3]);
  });

  it('is restored by the first of two cleanups, and left alone by the second', async () => {
    const { objects, object, ref, store } = await leftInQuarantine();
    await objects.restore(object);
    const restored = await objectsOf(objects);
    await objects.restore(object);
    expect(await objectsOf(objects)).toEqual(restored);
    expect(restored.map(({ quarantinedAs }) => quarantinedAs)).toEqual([undefined]);
    expect([...(await store.get(ref))!]).toEqual([1, 2, 3]);
  });

  it('gives way to a payload that was stored again', async () => {
    const { objects, object, ref, store } = await leftInQuarantine();
    await store.put(ref.scope, Uint8Array.of(1, 2, 3));
    await objects.restore(object);
    expect((await objectsOf(objects)).map(({ quarantinedAs }) => quarantinedAs)).toEqual([undefined]);
    expect([...(await store.get(ref))!]).toEqual([1, 2, 3]);
  });

  it('counts as kept when another cleanup has removed it', async () => {
    const { objects, object, at } = await leftInQuarantine();
    await rm(at(object.quarantinedAs!));
    expect(await objects.drop(object, Date.now() + 60_000)).toBe('kept');
  });

  it('is restored when it was stored after the cutoff', async () => {
    const { objects, object, store, ref } = await leftInQuarantine();
    expect(await objects.drop(object, Date.now() - 60_000)).toBe('kept');
    expect((await objectsOf(objects)).map(({ quarantinedAs }) => quarantinedAs)).toEqual([undefined]);
    expect([...(await store.get(ref))!]).toEqual([1, 2, 3]);
  });

  it('is deleted when it was stored before the cutoff', async () => {
    const { objects, object, at, store, ref } = await leftInQuarantine();
    await utimes(at(object.quarantinedAs!), new Date(0), new Date(0));
    expect(await objects.drop(object, Date.now() - 60_000)).toBe('removed');
    expect(await objectsOf(objects)).toEqual([]);
    expect(await store.get(ref)).toBeUndefined();
  });
});

it('a folder of payloads keeps one that was listed as old and is put again before or during its removal', async () => {
  const { objects, store } = open();
  const content = Uint8Array.of(1, 2, 3);
  const ref = await store.put('definitions/a', content);
  for (const isPutFirst of [true, false]) {
    const [object] = await objectsOf(objects);
    const cutoffMs = object!.touchedAtMs + 1; // the object is older, and what is put from now on is not
    while (Date.now() <= cutoffMs) await new Promise(setImmediate);
    const putting = store.put('definitions/a', content);
    if (isPutFirst) await putting;
    await Promise.all([objects.drop(object!, cutoffMs), putting]);
    expect([...(await store.get(ref))!]).toEqual([1, 2, 3]);
  }
});

it('a folder of payloads does not list files that are no payloads', async () => {
  const { directory, objects } = open();
  await mkdir(join(directory, 'payloads', '.partial'), { recursive: true });
  await writeFile(join(directory, 'payloads', '.partial', '0'.repeat(64)), 'half');
  await writeFile(join(directory, 'payloads', 'notes.txt'), 'mine');
  expect(await objectsOf(objects)).toEqual([]);
});

it('a folder of payloads fails with StoreUnavailable when nothing can be listed in it or removed from it', async () => {
  const { directory, objects } = open();
  await writeFile(join(directory, 'payloads'), 'a file where the folder should be');
  const object = { path: `definitions/a/00/${'0'.repeat(64)}`, sizeBytes: 1, touchedAtMs: 0 };
  await expect(objectsOf(objects)).rejects.toBeInstanceOf(StoreUnavailable);
  await expect(objects.drop(object, Date.now())).rejects.toBeInstanceOf(StoreUnavailable);
});
