import { beforeAll, describe, expect, it } from 'vitest';
import { s3PayloadObjects } from '../../services/store/payloads/s3-payload-objects.js';
import { s3PayloadStore } from '../../services/store/payloads/s3-payload-store.js';
import { objectsOf, payloadObjectsContract } from '../contract/payload-objects.contract.js';
import { makeBucket, newS3Location, s3Url } from '../support/servers/s3-server.js';

/** Opens a store in a new place of the bucket; `now` gives the time in milliseconds. */
const open = (now?: () => number) => {
  const location = newS3Location();
  return { store: s3PayloadStore(location), objects: s3PayloadObjects(location, now && { now }) };
};

describe.skipIf(s3Url === undefined)('a bucket of payloads', () => {
  beforeAll(makeBucket);

  payloadObjectsContract('a bucket', open);

  it('quarantines an object, which can still be read, before it removes the object', async () => {
    const NOW_MS = 5_000;
    const { store, objects } = open(() => NOW_MS);
    const ref = await store.put('definitions/a', Uint8Array.of(1, 2, 3));
    const list = () => objectsOf(objects);
    expect(await objects.drop((await list())[0]!, Date.now() + 60_000)).toBe('quarantined');
    const [quarantined, ...more] = await list();
    expect(more).toEqual([]);
    expect(quarantined).toMatchObject({ touchedAtMs: NOW_MS, quarantinedAs: `${quarantined!.path}.aside-${NOW_MS}` });
    expect([...(await store.get(ref))!]).toEqual([1, 2, 3]);

    expect(await objects.drop(quarantined!, NOW_MS)).toBe('kept');
    expect(await objects.drop(quarantined!, NOW_MS + 1)).toBe('removed');
    expect(await store.get(ref)).toBeUndefined();
  });

  it('puts a quarantined object back', async () => {
    const { store, objects } = open();
    const ref = await store.put('definitions/a', Uint8Array.of(1, 2, 3));
    const list = () => objectsOf(objects);
    await objects.drop((await list())[0]!, Date.now() + 60_000);
    await objects.restore((await list())[0]!);
    expect(await list()).toHaveLength(1);
    expect((await list())[0]!.quarantinedAs).toBeUndefined();
    expect([...(await store.get(ref))!]).toEqual([1, 2, 3]);
  });
});
