import { rpcStatusBytes } from '../rpc-status.js';
import { cutText, type Failure, statuses } from '../status.js';

// What text and details may take as they are sent. Clients in the field refuse more than 8 kB of metadata in all, some
// of them by chance from there on; the rest is for the other entries and what each costs.
const MAX_STATUS_BYTES = 6_000;

// A text that would be shorter than this says less than the details do; only then they go.
const MIN_TEXT_BYTES = 256;

const ELLIPSIS = '…';

/** A header of gRPC's own: bytes are sent as bytes, texts percent-encoded. */
type Fitted = { readonly message: string; readonly details: Uint8Array | undefined };

const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

const base64Bytes = (bytes: Uint8Array | undefined): number => Math.ceil((bytes?.length ?? 0) / 3) * 4;

const fits = ({ message, details }: Fitted): boolean =>
  encodeURI(message).length + base64Bytes(details) <= MAX_STATUS_BYTES;

/** Shortens the text by and by, until everything fits or the text is as short as `least`. */
const shorten = (text: string, least: number, fitted: (message: string) => Fitted): Fitted | undefined => {
  const whole = cutText(text, MAX_STATUS_BYTES * 2);
  const first = fitted(whole);
  if (whole.length === text.length && fits(first)) return first;
  for (let bytes = MAX_STATUS_BYTES; bytes >= least; bytes = Math.floor(bytes * 0.8)) {
    if (bytes >= Buffer.byteLength(whole)) continue;
    const shorter = fitted(cutText(whole, bytes) + ELLIPSIS);
    if (fits(shorter)) return shorter;
  }
  return undefined;
};

/** Text and details as they fit a trailer: the text is in it twice where there are details, once inside them. */
const fitTrailer = (failure: Failure, callersPackage: string): Fitted => {
  const withDetails = (message: string): Fitted => ({
    message,
    details: rpcStatusBytes({ ...failure, message }, callersPackage),
  });
  const alone = (message: string): Fitted => ({ message, details: undefined });
  const { message, details } = failure;
  const whole = details.length > 0 ? shorten(message, MIN_TEXT_BYTES, withDetails) : undefined;
  return whole ?? shorten(message, 1, alone) ?? alone('');
};

/** What ends a call, by the names that it is sent under. */
export type Trailer = Readonly<Record<string, string>>;

/** A failure as it is sent: status, text, and the details, all well under 8 kB. */
export const failureTrailer = (failure: Failure, callersPackage: string): Trailer => {
  const { message, details } = fitTrailer(failure, callersPackage);
  const { code, retryAfterMs } = failure;
  return {
    'grpc-status': String(statuses[code].number),
    'grpc-message': encodeURI(message),
    ...(details && { 'grpc-status-details-bin': asBuffer(details).toString('base64') }),
    ...(retryAfterMs !== undefined && { 'grpc-retry-pushback-ms': String(retryAfterMs) }),
  };
};
