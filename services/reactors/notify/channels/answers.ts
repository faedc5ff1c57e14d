import type { AttemptOutcome } from '../../../notification/commands.js';
import { onOneLine } from '../message/template.js';
import type { PostResult } from './post.js';

/** Statuses below 500 that say to try again: time-out, too early, too many requests. */
const TRANSIENT: ReadonlySet<number> = new Set([408, 425, 429]);

const MAX_RETRY_AFTER_MS = 24 * 3_600_000;

/**
 * Milliseconds to wait by a Retry-After header, in seconds or a date (RFC 9110, 10.2.3); at most a day.
 *
 * @returns `undefined` where the header says nothing that can be read.
 */
export const retryAfterMs = (header: string, nowMs: number): number | undefined => {
  const ms = /^\d+$/u.test(header) ? Number(header) * 1_000 : Date.parse(header) - nowMs;
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(0, ms), MAX_RETRY_AFTER_MS);
};

/** The outcome by the answer of an HTTP server: it takes the message, asks to wait, or refuses it permanently. */
export const outcomeOf = (posted: PostResult, nowMs: number): AttemptOutcome => {
  if (posted.kind !== 'answered') return posted;
  const { status, text, retryAfter } = posted;
  const answer = onOneLine(`${status} ${text}`);
  if (status >= 200 && status < 300) return { kind: 'sent', answer };
  if (status < 500 && !TRANSIENT.has(status)) {
    const isRedirect = status >= 300 && status < 400;
    return { kind: 'refused', reason: isRedirect ? `${answer} (redirects are not followed)` : answer };
  }
  const afterMs = retryAfterMs(retryAfter, nowMs);
  return { kind: 'failed', reason: answer, ...(afterMs !== undefined && { retryAfterMs: afterMs }) };
};
