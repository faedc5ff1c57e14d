import { ApiException, type V1Status } from '@kubernetes/client-node';
import { ClusterUnavailable, ObjectRefused } from './cluster.js';

/** Statuses by which an API server refuses the request itself. */
const REFUSED: ReadonlySet<number> = new Set([400, 413, 422]);

const messageOf = (body: unknown): string => {
  if (typeof body !== 'string') return (body as V1Status | undefined)?.message ?? '';
  try {
    return (JSON.parse(body) as V1Status).message ?? '';
  } catch {
    return body.slice(0, 200);
  }
};

const retryAfterMs = ({ headers }: ApiException<unknown>): number => {
  const seconds = Number(headers['retry-after']);
  return seconds > 0 ? seconds * 1_000 : 0;
};

/** The HTTP status of an error that an API server has answered with. */
export const httpStatusOf = (error: unknown): number | undefined =>
  error instanceof ApiException ? error.code : undefined;

/**
 * The fault for an error of a call. An object that is too large is refused by etcd, which the API server reports as an
 * internal error.
 */
export const clusterFault = (cause: unknown): ClusterUnavailable | ObjectRefused => {
  if (!(cause instanceof ApiException)) {
    return new ClusterUnavailable(cause instanceof Error ? cause.message : String(cause), { cause });
  }
  const message = `${cause.code} ${messageOf(cause.body)}`;
  const isTooLarge = cause.code === 500 && message.includes('request is too large');
  if (REFUSED.has(cause.code) || isTooLarge) return new ObjectRefused(message, { cause });
  return new ClusterUnavailable(message, { cause, retryAfterMs: retryAfterMs(cause) });
};
