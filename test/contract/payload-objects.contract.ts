import { randomBytes, randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { PayloadObject, PayloadObjects } from '../../services/kernel/ports/payload-objects.js';
import type { PayloadRef, PayloadStore } from '../../services/kernel/ports/payload-store.js';
import { payloadPath } from '../../services/store/payloads/object-name.js';

/** The objects of a store, and the store itself. */
export type OpenObjects = { readonly objects: PayloadObjects; readonly store: PayloadStore };

/** All objects of a store. */
export const objectsOf = async (objects: PayloadObjects): Promise<PayloadObject[]> => {
  const found: PayloadObject[] = [];
  for await (const page of objects.list()) found.push(...page);
  return found;
};

/** Cutoffs in milliseconds since 1970: every object is older than `ALL`, and none is older than `NONE`. */
const ALL = Number.MAX_SAFE_INTEGER - 1;
const NONE = 0;

/** The contract of every adapter of the port `PayloadObjects`. */
export const payloadObjectsContract = (name: string, open: () => OpenObjects): void => {
  describe(`${name} as a store whose payloads are cleaned up`, () => {
    let opened: OpenObjects;
    let scope: string;

    beforeEach(() => {
      opened = open();
      scope = `runs/flytesnacks/development/${randomUUID()}`;
    });
    afterEach(async () => {
      await opened.objects.close();
      await opened.store.close();
    });

    const listed = (): Promise<PayloadObject[]> => objectsOf(opened.objects);
    const put = (content: Uint8Array = randomBytes(1_000), inScope = scope): Promise<PayloadRef> =>
      opened.store.put(inScope, content);
    const only = async (): Promise<PayloadObject> => {
      const [object, ...more] = await listed();
      expect(more).toEqual([]);
      return object!;
    };

    /** Removes an object, in as many runs as it takes until it is permanently gone. */
    const remove = async (): Promise<void> => {
      while ((await opened.objects.drop(await only(), ALL)) !== 'removed');
    };

    it('lists nothing of a store that is empty', async () => {
      expect(await listed()).toEqual([]);
    });

    it('lists what was put, with its size and time', async () => {
      const before = Date.now();
      const { sha256 } = await put();
      const object = await only();
      expect(object).toMatchObject({ path: payloadPath(scope, sha256), sizeBytes: 1_000 });
      expect(object.quarantinedAs).toBeUndefined();
      expect(Math.abs(object.touchedAtMs - before)).toBeLessThan(10_000);
    });

    it('lists the objects of all scopes, also of scopes with unusual names', async () => {
      const scopes = [scope, 'definitions/a b%2Fc', 'definitions/..', 'definitions/Zoë🛫'];
      const refs = await Promise.all(scopes.flatMap((of) => Array.from({ length: 5 }, () => put(randomBytes(10), of))));
      const paths = refs.map(({ scope: of, sha256 }) => payloadPath(of, sha256));
      expect((await listed()).map(({ path }) => path).sort()).toEqual(paths.sort());
    });

    it('keeps what was put since the cutoff', async () => {
      const ref = await put();
      expect(await opened.objects.drop(await only(), NONE)).toBe('kept');
      expect((await only()).quarantinedAs).toBeUndefined();
      expect(await opened.store.get(ref)).toBeDefined();
    });

    it('removes a payload that is older than the cutoff, after some runs', async () => {
      const ref = await put();
      await remove();
      expect(await listed()).toEqual([]);
      expect(await opened.store.get(ref)).toBeUndefined();
    });

    it('ignores a payload that is no longer there', async () => {
      await put();
      const object = await only();
      await remove();
      expect(await opened.objects.drop(object, ALL)).toBe('kept');
    });

    it('keeps a payload that is put again while it is being removed', async () => {
      const content = randomBytes(1_000);
      const ref = await put(content);
      const object = await only();
      const cutoffMs = object.touchedAtMs + 1; // the object is older
      while (Date.now() <= cutoffMs) await new Promise(setImmediate);
      await Promise.all([opened.objects.drop(object, cutoffMs), put(content)]);
      expect(Buffer.compare((await opened.store.get(ref))!, content)).toBe(0);
    });

    it('has a payload that is put again after it was removed', async () => {
      const content = randomBytes(1_000);
      await put(content);
      await remove();
      const ref = await put(content);
      expect(Buffer.compare((await opened.store.get(ref))!, content)).toBe(0);
    });

    it('leaves other payloads alone', async () => {
      const kept = await put();
      const gone = await put();
      const find = async () => (await listed()).find(({ path }) => path === payloadPath(scope, gone.sha256));
      for (let object = await find(); object; object = await find()) await opened.objects.drop(object, ALL);
      expect(await opened.store.get(kept)).toBeDefined();
      expect(await opened.store.get(gone)).toBeUndefined();
    });
  });
};
