import { type IncomingMessage, request as httpRequest, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';

import type { AttemptOutcome } from '../../../notification/commands.js';
import { onOneLine } from '../message/template.js';
import { AddressRefused, checkedAddress, type Resolve } from './address.js';
import { reasonOf } from './channel.js';

/** A request, and where it may lead. */
export type PostRequest = {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** Loopback, link-local and private addresses may be reached too. */
  readonly allowPrivate: boolean;
  readonly resolve?: Resolve | undefined;
};

/** The result of a request. */
export type PostResult =
  /** `text` is the beginning of the body, `retryAfter` the header as it came. */
  | { readonly kind: 'answered'; readonly status: number; readonly text: string; readonly retryAfter: string }
  /** The address must not be reached. */
  | { readonly kind: 'refused'; readonly reason: string }
  /** Nothing was sent. */
  | { readonly kind: 'failed'; readonly reason: string }
  /** There was no answer, and the request may have been received. */
  | { readonly kind: 'unknown'; readonly reason: string };

/** The longest beginning of a body that is kept, in characters. */
const MAX_TEXT = 200;

/** The beginning of the body; the rest is not read. Where the body breaks off, what has come of it. */
const beginningOf = (response: IncomingMessage): Promise<string> =>
  new Promise((resolve) => {
    let text = '';
    const end = (): void => {
      resolve(text.slice(0, MAX_TEXT));
      response.destroy();
    };
    response.setEncoding('utf8');
    response.on('data', (part: string) => {
      text += part;
      if (text.length >= MAX_TEXT) end();
    });
    response.on('error', end).on('end', end).on('close', end);
  });

type Sending = { readonly isConnected: boolean };

const exchange = (url: URL, options: RequestOptions, body: string, sending: { isConnected: boolean }) =>
  new Promise<IncomingMessage>((resolve, reject) => {
    const request = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, options, resolve);
    request.on('socket', (socket) => {
      socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', () => {
        sending.isConnected = true;
      });
    });
    request.on('error', reject);
    request.end(body);
  });

const failureOf = (error: unknown, { isConnected }: Sending): PostResult => {
  const reason = reasonOf(error);
  if (error instanceof AddressRefused) return { kind: 'refused', reason };
  return { kind: isConnected ? 'unknown' : 'failed', reason };
};

/** Waits for work that does not heed the signal, until the signal aborts: then it rejects with the reason. */
const unlessAborted = async <Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> => {
  let abort = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => (abort = () => reject(signal.reason as Error)));
  signal.addEventListener('abort', abort);
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
};

/**
 * Sends a POST request on a connection of its own to an address that was checked. Redirects are not followed: they are
 * answers like others. Never rejects.
 */
export const post = async (
  { url: text, headers, body, ...where }: PostRequest,
  signal: AbortSignal,
): Promise<PostResult> => {
  const sending = { isConnected: false };
  try {
    signal.throwIfAborted();
    const url = new URL(text);
    const checked = checkedAddress(url.hostname, where.allowPrivate, where.resolve);
    const { address, family } = await unlessAborted(checked, signal);
    const options: RequestOptions = {
      method: 'POST',
      agent: false,
      headers: { ...headers, 'content-length': Buffer.byteLength(body), 'user-agent': 'flightlog' },
      signal,
      lookup: (_, { all }, found) => {
        if (all === true) found(null, [{ address, family }]);
        else found(null, address, family);
      },
    };
    const response = await exchange(url, options, body, sending);
    const { statusCode: status = 0, headers: answered } = response;
    return { kind: 'answered', status, text: await beginningOf(response), retryAfter: answered['retry-after'] ?? '' };
  } catch (error) {
    return failureOf(error, sending);
  }
};

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

/** The outcome by the answer of an HTTP server: it takes the message, fails for now, or refuses it permanently. */
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
