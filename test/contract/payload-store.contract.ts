import { randomBytes, randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CorruptPayload } from '../../services/kernel/fault.js';
import { sha256Hex } from '../../services/kernel/encoding/hash.js';
import type { PayloadStore } from '../../services/kernel/ports/payload-store.js';
import { payloadPath } from '../../services/store/payloads/object-name.js';

/** A store, a function that opens it again after it was closed, and one that damages an object. */
export type OpenPayloads = {
  readonly store: PayloadStore;
  readonly reopen: () => PayloadStore;
  readonly damage: (scope: string, sha256: string) => Promise<void>;
};

/** The contract of every adapter of the payload port. */
export const payloadStoreContract = (name: string, open: () => OpenPayloads): void => {
  describe(`${name} as a payload store`, () => {
    let opened: OpenPayloads;
    let store: PayloadStore;
    let scope: string;

    beforeEach(() => {
      opened = open();
      ({ store } = opened);
      scope = `runs/flytesnacks/development/${randomUUID()}`;
    });

    afterEach(() => store.close());

    it('names an object by its scope and content', async () => {
      const bytes = randomBytes(100_000);
      expect(await store.put(scope, bytes)).toEqual({
        scope,
        sha256: sha256Hex(bytes),
        sizeBytes: 100_000n,
        keyId: '',
      });
    });

    it.each([0, 1, 70_000, 5_000_000])('gives back %i bytes as they were', async (size) => {
      const bytes = randomBytes(size);
      const found = await store.get(await store.put(scope, bytes));
      expect(Buffer.compare(found!, bytes)).toBe(0);
    });

    it('has its objects after it was opened again', async () => {
      const ref = await store.put(scope, Uint8Array.of(1, 2, 3));
      await store.close();
      store = opened.reopen();
      expect([...(await store.get(ref))!]).toEqual([1, 2, 3]);
    });

    it('finds nothing where nothing was put, nor in another scope', async () => {
      const ref = await store.put(scope, Uint8Array.of(1));
      expect(await store.get({ ...ref, scope: `${scope}x` })).toBeUndefined();
      expect(await store.get({ ...ref, sha256: sha256Hex('other') })).toBeUndefined();
    });

    it('takes the same content again, also at the same time', async () => {
      const bytes = randomBytes(200_000);
      const refs = await Promise.all(Array.from({ length: 10 }, () => store.put(scope, bytes)));
      refs.push(await store.put(scope, bytes));
      for (const ref of refs) expect(ref).toEqual(refs[0]);
      expect(Buffer.compare((await store.get(refs[0]!))!, bytes)).toBe(0);
    });

    it('takes many objects at the same time', async () => {
      const contents = Array.from({ length: 40 }, () => randomBytes(70_000));
      const refs = await Promise.all(contents.map((bytes) => store.put(scope, bytes)));
      const found = await Promise.all(refs.map((ref) => store.get(ref)));
      expect(found.every((bytes, i) => Buffer.compare(bytes!, contents[i]!) === 0)).toBe(true);
    });

    it.each([
      'definitions/..',
      'definitions/.',
      'definitions/a b%2Fc',
      'definitions/Zoë🛫',
      "definitions/it's*(all)!",
      `definitions/${'long'.repeat(200)}`,
      'definitions/',
      'definitions//x',
    ])('keeps the scope %j apart from the scope "definitions"', async (odd) => {
      const ref = await store.put(odd, Uint8Array.of(7));
      expect([...(await store.get(ref))!]).toEqual([7]);
      expect(await store.get({ ...ref, scope: 'definitions' })).toBeUndefined();
    });

    it('fails with CorruptPayload for damaged bytes, and names the object, but not its folder or bucket', async () => {
      const ref = await store.put(scope, randomBytes(1_000));
      await opened.damage(ref.scope, ref.sha256);
      await expect(store.get(ref)).rejects.toBeInstanceOf(CorruptPayload);
      await expect(store.get(ref)).rejects.toMatchObject({
        code: 'corrupt-payload',
        message: `payload ${payloadPath(ref.scope, ref.sha256)} is not what its name says`,
      });
    });
  });
};
