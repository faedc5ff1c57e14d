import { setTimeout as pause } from 'node:timers/promises';
import type { RetryPolicy } from './profile.js';
import { Refused, Unreachable } from './refusal.js';

const FIRST_PAUSE_MS = 100;

const LATER: ReadonlySet<string> = new Set(['UNAVAILABLE', 'RESOURCE_EXHAUSTED', 'DEADLINE_EXCEEDED']);

const isForLater = (error: unknown): boolean =>
  error instanceof Unreachable || (error instanceof Refused && LATER.has(error.code));

/** Tries again as the policy says, after pauses that double, where no answer came or the server says to try later. */
export const retried = async <Answer>(
  { retries, maxPauseMs }: RetryPolicy,
  attempt: () => Promise<Answer>,
): Promise<Answer> => {
  for (let count = 0; ; count++) {
    try {
      return await attempt();
    } catch (error) {
      if (count >= retries || !isForLater(error)) throw error;
    }
    await pause(Math.min(FIRST_PAUSE_MS * 2 ** count, maxPauseMs));
  }
};
