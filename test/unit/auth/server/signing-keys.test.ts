import { describe, expect, it } from 'vitest';

import { planKeys } from '../../../../services/auth/server/signing-keys.js';

const LIFETIMES = { rotateAfterMs: 1_000, publishedMs: 100 };

/** Keys made at these times, the newest first. */
const made = (...times: readonly number[]) => times.map((createdAt) => ({ id: `k${createdAt}`, createdAt }));

describe('signing keys', () => {
  it.each([
    ['make the first one at the first start', made(), 0, { isNewDue: true, expired: [] }],
    ['sign until they are as old as that', made(0), 999, { isNewDue: false, expired: [] }],
    ['are replaced then', made(0), 1_000, { isNewDue: true, expired: [] }],
    ['are kept until their last token has expired', made(1_000, 0), 1_100, { isNewDue: false, expired: [] }],
    ['are forgotten then', made(1_000, 0), 1_101, { isNewDue: false, expired: ['k0'] }],
    ['are forgotten each in its time', made(2_000, 1_000, 0), 2_050, { isNewDue: false, expired: ['k0'] }],
  ])('%s', (_law, keys, now, plan) => {
    expect(planKeys(keys, now, LIFETIMES)).toEqual(plan);
  });
});
