import { describe, expect, it } from 'vitest';

import { currentKeys, KEYS_READ_MS, planKeys } from '../../../../services/auth/server/signing-keys.js';
import type { StoredKey } from '../../../../services/kernel/ports/authorization-state.js';

/** In milliseconds. */
const LIFETIMES = { rotateAfterMs: 1_000, publishedMs: 100 };

/** Keys made at these times, the newest first. */
const made = (...times: readonly number[]) => times.map((createdAt) => ({ id: `k${createdAt}`, createdAt }));

describe('signing keys', () => {
  it.each([
    ['are made when there is none', made(), 0, { isNewDue: true, expired: [] }],
    ['are not replaced before they are 1,000 ms old', made(0), 999, { isNewDue: false, expired: [] }],
    ['are replaced at that age', made(0), 1_000, { isNewDue: true, expired: [] }],
    ['are published for 100 ms after their replacement', made(1_000, 0), 1_100, { isNewDue: false, expired: [] }],
    ['are removed after these 100 ms', made(1_000, 0), 1_101, { isNewDue: false, expired: ['k0'] }],
    ['are removed each in its time', made(2_000, 1_000, 0), 2_050, { isNewDue: false, expired: ['k0'] }],
  ])('%s', (_title, keys, now, plan) => {
    expect(planKeys(keys, now, LIFETIMES)).toEqual(plan);
  });
});

describe('the key that signs', () => {
  it('is one that all processes have read, because tokens and cookies may come to another process', async () => {
    const stored: StoredKey[] = [];
    const state = {
      keys: () => Promise.resolve([...stored]),
      addKey: (key: StoredKey) => Promise.resolve(void stored.unshift(key)),
      removeKeys: () => Promise.resolve(),
    };
    const day = 24 * KEYS_READ_MS;
    const at = (ms: number) => currentKeys(state, ms, { rotateAfterMs: day, publishedMs: day });
    const before = await at(0);
    const rotated = await at(day);
    expect(rotated.cookies).toHaveLength(2);
    expect([rotated.private[0], rotated.cookies[0]]).toEqual([before.private[0], before.cookies[0]]);
    const later = await at(day + KEYS_READ_MS);
    expect([later.private[0], later.cookies[0]]).toEqual([rotated.private[1], rotated.cookies[1]]);
  });
});
