import { Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { afterEach, expect, it, vi } from 'vitest';
import { CallError } from '../../../engine/call-error.js';
import { ExecutionLost } from '../../../engine/execution-lost.js';
import { createRetries } from '../../../engine/retries.js';

const logger = { debug: () => undefined, info: () => undefined, warn: () => undefined };
/** After this number of failures in succession an execution is given up. */
const ATTEMPTS = 5;
const refused = new CallError(
  { code: status.FAILED_PRECONDITION, details: 'no', metadata: new Metadata() } as ServiceError,
  0,
);

afterEach(() => void vi.useRealTimers());

it('an engine gives up an execution that fails five times, and remembers the latest 10,000 of them', () => {
  const retries = createRetries(logger);
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

it('an execution waits for a retry only until its backoff has passed, also when no other failure is noted then', () => {
  vi.useFakeTimers();
  const retries = createRetries(logger);
  retries.note('a', new Error('no'));
  expect([retries.pending(), retries.isPutOff('a')]).toEqual([1, true]);
  vi.advanceTimersByTime(400);
  expect([retries.pending(), retries.isPutOff('a')]).toEqual([0, false]);
});

it('an execution does not wait longer for a retry because the clock of the machine is set back', () => {
  vi.useFakeTimers();
  const retries = createRetries(logger);
  retries.note('a', new Error('no'));
  vi.setSystemTime(Date.now() - 3_600_000);
  vi.advanceTimersByTime(400);
  expect([retries.pending(), retries.isPutOff('a')]).toEqual([0, false]);
});

it('an execution that fails again after its backoff waits twice as long, and is given up at the fifth failure', () => {
  vi.useFakeTimers();
  const retries = createRetries(logger);
  for (const backoffMs of [400, 800, 1_600, 3_200]) {
    retries.note('a', new Error('no'));
    vi.advanceTimersByTime(backoffMs - 1);
    expect([retries.pending(), retries.isPutOff('a')]).toEqual([1, true]);
    vi.advanceTimersByTime(1);
    expect([retries.pending(), retries.isPutOff('a')]).toEqual([0, false]);
  }
  retries.note('a', new Error('no'));
  expect([retries.pending(), [...retries.dropped.keys()]]).toEqual([0, ['a']]);
});

it('an execution that has ended waits for no retry', () => {
  const retries = createRetries(logger);
  retries.note('a', new Error('no'));
  retries.note('a', new ExecutionLost('ended', 'it has ended', refused));
  expect([retries.pending(), retries.isPutOff('a')]).toEqual([0, false]);
});
