import { type IncomingMessage, request as httpRequest, type RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';

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
  /** There was no whole answer, and the request may have been received. */
  | { readonly kind: 'unknown'; readonly reason: string };

/** The longest beginning of a body that is kept, in characters. */
const MAX_TEXT = 200;

/** The beginning of the body; the rest is not read, and neither is a body that does not come. */
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
    const url = new URL(text);
    const { address, family } = await checkedAddress(url.hostname, where.allowPrivate, where.resolve);
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
