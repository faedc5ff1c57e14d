import type { DescMethod } from '@bufbuild/protobuf';

import { Fault, type FaultCode, StreamParked } from '../kernel/fault.js';
import { RpcError, type StatusCode, type StatusDetail } from '../kernel/rpc.js';

/** Every status that the gateway answers, with its gRPC number and its HTTP status. */
export const statuses: Readonly<Record<StatusCode, { readonly number: number; readonly http: number }>> = {
  CANCELLED: { number: 1, http: 499 },
  INVALID_ARGUMENT: { number: 3, http: 400 },
  DEADLINE_EXCEEDED: { number: 4, http: 504 },
  NOT_FOUND: { number: 5, http: 404 },
  ALREADY_EXISTS: { number: 6, http: 409 },
  PERMISSION_DENIED: { number: 7, http: 403 },
  RESOURCE_EXHAUSTED: { number: 8, http: 429 },
  FAILED_PRECONDITION: { number: 9, http: 400 },
  ABORTED: { number: 10, http: 409 },
  UNIMPLEMENTED: { number: 12, http: 501 },
  INTERNAL: { number: 13, http: 500 },
  UNAVAILABLE: { number: 14, http: 503 },
  UNAUTHENTICATED: { number: 16, http: 401 },
};

/** An error as the caller receives it: never a stack, never a path of this machine. */
export type RpcFailure = {
  readonly code: StatusCode;
  readonly message: string;
  readonly details: readonly StatusDetail[];
  /** Milliseconds to wait before a retry, where that is known. */
  readonly retryAfterMs?: number;
};

const INTERNAL_ERROR = 'internal error';

const RETRY_AFTER_MS = 1_000;

const STORE_UNAVAILABLE: Omit<RpcFailure, 'details'> = {
  code: 'UNAVAILABLE',
  message: 'the store is unavailable; nothing was recorded',
};

/**
 * The status and text of each adapter fault.
 *
 * The text of `append-too-large` contains the words by which engines recognize a message that will never be accepted.
 * Without these words, engines take the error for a busy server and retry forever.
 */
export const faultFailures: Readonly<Record<FaultCode, Omit<RpcFailure, 'details'>>> = {
  'revision-conflict': { code: 'ABORTED', message: 'concurrent requests changed the same entity: retry the request' },
  'append-too-large': { code: 'RESOURCE_EXHAUSTED', message: 'message larger than max: its events exceed one append' },
  'store-unavailable': STORE_UNAVAILABLE,
  'outcome-unknown': {
    code: 'DEADLINE_EXCEEDED',
    message: 'the store has not answered: the change may or may not be recorded; read the entity before a retry',
  },
  'write-refused': STORE_UNAVAILABLE,
  'corrupt-event': { code: 'INTERNAL', message: INTERNAL_ERROR },
  'corrupt-payload': { code: 'INTERNAL', message: INTERNAL_ERROR },
  'engine-data-unusable': {
    code: 'FAILED_PRECONDITION',
    message: 'what the engine has stored is missing, too large, or no map of literals',
  },
  'unknown-event': {
    code: 'UNAVAILABLE',
    message: 'a newer release has written this entity, which is parked until this server is upgraded',
  },
  'newer-log-format': {
    code: 'UNAVAILABLE',
    message: 'a newer release writes the log, in a format that this one does not know; nothing was recorded',
  },
  'stream-parked': { code: 'UNAVAILABLE', message: 'the stream is parked: one of its events cannot be read' },
  'checkpoint-moved': { code: 'ABORTED', message: 'another process has moved the checkpoint: retry the request' },
  'query-too-slow': { code: 'DEADLINE_EXCEEDED', message: 'the query took too long: narrow its filters' },
  'too-many-queries': {
    code: 'RESOURCE_EXHAUSTED',
    message: 'too many slow queries are waiting: retry later',
    retryAfterMs: RETRY_AFTER_MS,
  },
  'page-too-large': { code: 'RESOURCE_EXHAUSTED', message: 'the page is too large: request fewer elements' },
  'read-store-unusable': { code: 'UNAVAILABLE', message: 'the store of the views is unavailable' },
  'data-directory-in-use': STORE_UNAVAILABLE,
  'data-directory-unusable': STORE_UNAVAILABLE,
};

/** The longest status message, in bytes of UTF-8. */
const MAX_MESSAGE_BYTES = 32_000;

/** Truncates a text to `maxBytes` of UTF-8 at a character boundary; lone surrogates are replaced by U+FFFD. */
export const truncateText = (text: string, maxBytes: number): string => {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return bytes.toString();
  let end = maxBytes;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--; // moves to the start of a character
  return bytes.toString('utf8', 0, end);
};

/** Matches the names of RPCs that only read; GetOrCreateSignal writes. */
const READ = /^(?:(?:Get(?!OrCreate)|List)|(?:Count|Diff|Tail|UserInfo|Watch)$)/u;

/** True for an RPC that only reads, judged by its name. */
export const isRead = (method: DescMethod): boolean => READ.test(method.name);

/** The failure of a fault. For a read from an unavailable store, its text leaves out that nothing was recorded. */
const faultFailure = (code: FaultCode, method: DescMethod | undefined): Omit<RpcFailure, 'details'> => {
  const answer = faultFailures[code];
  return method && isRead(method) && answer === STORE_UNAVAILABLE
    ? { ...answer, message: 'a store is unavailable' }
    : answer;
};

/**
 * Converts a thrown value to the error that the caller receives. Anything but an {@link RpcError} or a fault is a bug,
 * and becomes INTERNAL without details.
 *
 * @param method the RPC that was called, where that is known.
 */
export const rpcFailureOf = (thrown: unknown, method?: DescMethod): RpcFailure => {
  if (thrown instanceof RpcError) {
    const { code, details, retryAfterMs } = thrown;
    const message = truncateText(thrown.message, MAX_MESSAGE_BYTES);
    return { code, message, details, ...(retryAfterMs !== undefined && { retryAfterMs }) };
  }
  if (thrown instanceof StreamParked) return { code: 'UNAVAILABLE', message: thrown.message, details: [] };
  if (thrown instanceof Fault) return { ...faultFailure(thrown.code, method), details: [] };
  return { code: 'INTERNAL', message: INTERNAL_ERROR, details: [] };
};
