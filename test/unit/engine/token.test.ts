import { afterEach, beforeEach, expect, it, vi } from 'vitest';

import { renewedToken } from '../../../engine/tokens/token.js';

const HOUR_MS = 3_600_000;

/** Tokens that are to be renewed after 10 s and expire after 20 s; each has the number of its issue, from 1. */
const openTokens = () => {
  let issues = 0;
  let failures = 0;
  const issue = (): Promise<{ token: string; renewAfterMs: number; lifeMs: number }> =>
    failures-- > 0
      ? Promise.reject(new Error('no answer'))
      : Promise.resolve({ token: String((issues += 1)), renewAfterMs: 10_000, lifeMs: 20_000 });
  const getToken = renewedToken(issue, () => undefined);
  return { getToken, failNext: () => void (failures = 1) };
};

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('a token is renewed in time when the clock of the machine is set back', async () => {
  const { getToken } = openTokens();
  expect(await getToken()).toBe('1');
  vi.setSystemTime(Date.now() - HOUR_MS);
  vi.advanceTimersByTime(9_999);
  expect(await getToken()).toBe('1');
  vi.advanceTimersByTime(1);
  expect(await getToken()).toBe('2');
});

it('an issuer that has failed is asked again after a second when the clock of the machine is set back', async () => {
  const { getToken, failNext } = openTokens();
  failNext();
  await expect(getToken()).rejects.toThrow('no answer');
  vi.setSystemTime(Date.now() - HOUR_MS);
  vi.advanceTimersByTime(999);
  await expect(getToken()).rejects.toThrow('no answer');
  vi.advanceTimersByTime(1);
  expect(await getToken()).toBe('1');
});

it('a token is renewed when the machine was suspended for longer than its life', async () => {
  const { getToken } = openTokens();
  expect(await getToken()).toBe('1');
  vi.setSystemTime(Date.now() + HOUR_MS); // the clock that cannot be set stands still during a suspension
  expect(await getToken()).toBe('2');
});
