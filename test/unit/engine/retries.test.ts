import { expect, it } from 'vitest';
import { createRetries } from '../../../engine/retries.js';

const quiet = { debug: () => undefined, info: () => undefined, warn: () => undefined };
const ATTEMPTS = 5;

it('an engine gives up an execution that fails five times, and remembers the latest 10,000 of them', () => {
  const retries = createRetries(quiet);
  for (let run = 0; run <= 10_000; run += 1)
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) retries.note(`run-${run}`, new Error('no'));
  expect(retries.dropped.size).toBe(10_000);
  expect([retries.isPutOff('run-0'), retries.isPutOff('run-1'), retries.isPutOff('run-10000')]).toEqual([
    false,
    true,
    true,
  ]);
  expect(retries.pending()).toBe(0);
});
