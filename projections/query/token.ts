import { RpcError } from '../../services/kernel/rpc.js';
import type { PageCursor, FieldValue, Query } from '../runtime/read-store.js';

type Order = Query['orderBy'];

/** The start of a page: after a cursor, or at an offset; the beginning when both are absent. */
export type PageStart = { readonly after?: PageCursor; readonly offset?: number };

const OFFSET = /^\d{1,15}$/u;
const OPAQUE = /^p[A-Za-z0-9_-]+$/u;

/**
 * Maximum length of a token, in characters. Names, causes and codes have no length limit of their own, and a token
 * contains the value that a page ended with.
 */
const MAX_TOKEN = 2 ** 21;

const orderWord = ({ field, direction }: Order): string => `${direction === 'ascending' ? '+' : '-'}${field}`;

/**
 * Encodes a cursor and its sort order as the token of the next page. It begins with a letter, so it is never taken for
 * an offset.
 */
export const pageToken = (order: Order, { value, key }: PageCursor): string =>
  `p${Buffer.from(JSON.stringify([orderWord(order), value, key])).toString('base64url')}`;

const isValue = (value: unknown): value is FieldValue =>
  value === null || typeof value === 'string' || typeof value === 'number';

const cursorOf = (order: Order, token: string): PageCursor | undefined => {
  if (token.length > MAX_TOKEN || !OPAQUE.test(token)) return undefined;
  const parts = jsonOf(Buffer.from(token.slice(1), 'base64url').toString());
  if (!Array.isArray(parts) || parts.length !== 3) return undefined;
  const [word, value, key] = parts as unknown[];
  return word === orderWord(order) && isValue(value) && typeof key === 'string' ? { value, key } : undefined;
};

const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined; // not a token of flightlog: refused because it yields no cursor
  }
};

/** True for a token that is an offset. */
export const isOffset = (token: string): boolean => OFFSET.test(token);

/**
 * Decodes the token of a list request: the beginning when it is empty, an offset when it is 1 to 15 digits, else the
 * cursor that it encodes.
 *
 * @throws {RpcError} INVALID_ARGUMENT for any other token, or for one of a list in another order.
 */
export const pageStart = (order: Order, token: string, rpc: string): PageStart => {
  if (token === '') return {};
  if (isOffset(token)) return { offset: Number(token) };
  const after = cursorOf(order, token);
  if (!after) throw new RpcError('INVALID_ARGUMENT', `invalid pagination token ${token.slice(0, 100)} for ${rpc}`);
  return { after };
};
