import { base64Encode } from '@bufbuild/protobuf/wire';

import { rpcStatusBytes } from '../rpc-status.js';
import { truncateText, type RpcFailure, statuses } from '../status.js';

// Limit for text and details as encoded for sending. Clients in the field refuse more than 8 kB of metadata, some of
// them not always but at random; the remainder is for the other entries and the overhead of each.
const MAX_STATUS_BYTES = 6_000;

// The text is shortened down to this length, in bytes, to keep the details. If they still do not fit, they are left out
// and the text may be longer again: callers can do with a text alone, but not with less of it than this.
const MIN_TEXT_BYTES = 256;

const ELLIPSIS = '…';

/** A message and encoded details, to be sent together in the trailer. */
type Content = { readonly message: string; readonly details: Uint8Array | undefined };

const base64Bytes = (bytes: Uint8Array | undefined): number => Math.ceil((bytes?.length ?? 0) / 3) * 4;

const fits = ({ message, details }: Content): boolean =>
  encodeURI(message).length + base64Bytes(details) <= MAX_STATUS_BYTES;

/** Shortens the text in steps until the result fits; `undefined` when it does not fit with `least` bytes of text. */
const shorten = (text: string, least: number, fitted: (message: string) => Content): Content | undefined => {
  const whole = truncateText(text, MAX_STATUS_BYTES * 2);
  const first = fitted(whole);
  if (whole.length === text.length && fits(first)) return first;
  for (let bytes = MAX_STATUS_BYTES; bytes >= least; bytes = Math.floor(bytes * 0.8)) {
    if (bytes >= Buffer.byteLength(whole)) continue;
    const shorter = fitted(truncateText(whole, bytes) + ELLIPSIS);
    if (fits(shorter)) return shorter;
  }
  return undefined;
};

const alone = (message: string): Content => ({ message, details: undefined });

/** Encodes the text of a status, shortened until it fits the trailer; half of a surrogate pair becomes U+FFFD. */
export const encodedText = (text: string): string => encodeURI((shorten(text, 1, alone) ?? alone('')).message);

/** Shortens a failure until it fits the trailer. With details the text is sent twice: `Status` contains it as well. */
const fitTrailer = (failure: RpcFailure, callersPackage: string): Content => {
  const withDetails = (message: string): Content => ({
    message,
    details: rpcStatusBytes({ ...failure, message }, callersPackage),
  });
  const { message, details } = failure;
  const whole = details.length > 0 ? shorten(message, MIN_TEXT_BYTES, withDetails) : undefined;
  return whole ?? shorten(message, 1, alone) ?? alone('');
};

/** The trailers of a call, by name. */
export type Trailer = Readonly<Record<string, string>>;

/**
 * Encodes a failure as trailers: status, text, details and retry delay, together well under 8 kB.
 *
 * @param callersPackage the package name by which the caller addresses the service, for the type names of the details.
 */
export const failureTrailer = (failure: RpcFailure, callersPackage: string): Trailer => {
  const { message, details } = fitTrailer(failure, callersPackage);
  const { code, retryAfterMs } = failure;
  return {
    'grpc-status': String(statuses[code].number),
    'grpc-message': encodeURI(message),
    ...(details && { 'grpc-status-details-bin': base64Encode(details) }),
    ...(retryAfterMs !== undefined && { 'grpc-retry-pushback-ms': String(retryAfterMs) }),
  };
};
