import { RpcError } from '../../services/kernel/rpc.js';
import type { Cursor, FieldValue, Query } from '../runtime/read-store.js';

type Order = Query['orderBy'];

/** Where a page starts. */
export type Start = { readonly after?: Cursor; readonly offset?: number };

const OFFSET = /^\d{1,15}$/u;
const OPAQUE = /^p[A-Za-z0-9_-]+$/u;

/** In characters. Names, causes and codes have no limit of their own, and a token has the one that a page ended with. */
const MAX_TOKEN = 2 ** 21;

const orderWord = ({ field, direction }: Order): string => `${direction === 'ascending' ? '+' : '-'}${field}`;

/** The token of what follows a place in an order. It begins with a letter, so that it is never taken for an offset. */
export const tokenOf = (order: Order, { value, key }: Cursor): string =>
  `p${Buffer.from(JSON.stringify([orderWord(order), value, key])).toString('base64url')}`;

const isValue = (value: unknown): value is FieldValue =>
  value === null || typeof value === 'string' || typeof value === 'number';

const placeOf = (order: Order, token: string): Cursor | undefined => {
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
    return undefined; // a token that we have not made is refused by its place being none
  }
};

/**
 * Where the page of a token starts: the beginning when it is empty, a number of elements from there when it is all
 * digits, else the place that it was made of.
 *
 * @throws {RpcError} INVALID_ARGUMENT for a token that is neither, or of a list in another order.
 */
export const startOf = (order: Order, token: string, rpc: string): Start => {
  if (token === '') return {};
  if (OFFSET.test(token)) return { offset: Number(token) };
  const after = placeOf(order, token);
  if (!after) throw new RpcError('INVALID_ARGUMENT', `invalid pagination token ${token.slice(0, 100)} for ${rpc}`);
  return { after };
};
