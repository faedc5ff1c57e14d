import { invalid } from '../../services/kernel/rpc.js';

/** One piece of a `filters` text, as it was written: `gte(started_at,2024-01-01T00:00:00Z)`. */
export type FilterPiece = { readonly function: string; readonly field: string; readonly values: readonly string[] };

/** The longest `filters` text that is looked at, in characters. */
const MAX_FILTERS = 32_768;
const MAX_PIECES = 64;
const MAX_VALUES = 1_000;

/** How much of a piece is shown to who sent it, in characters. */
const SHOWN = 200;

const refusedPiece = (text: string, why: string): Error =>
  invalid('filters', `'${text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text}' ${why}`);

/** One white space after the comma is no part of the value, unless it is all there is. */
const trimmed = (text: string): string => (/^\s./su.test(text) ? text.slice(1) : text);

const valuesOf = (text: string, value: string): readonly string[] => {
  const values = value.split(';');
  if (values.length > MAX_VALUES) throw refusedPiece(text, `has more than ${MAX_VALUES} values`);
  return values;
};

// From the right, as a greedy pattern matches: what follows the last `)` does not count, and a value has no comma.
const pieceOf = (text: string): FilterPiece => {
  const close = text.lastIndexOf(')');
  const comma = text.lastIndexOf(',', close);
  const open = text.lastIndexOf('(', comma);
  if (close < 0 || comma < 0 || open < 0) throw refusedPiece(text, 'is not function(field,value)');
  const value = trimmed(text.slice(comma + 1, close));
  const piece = { function: text.slice(0, open), field: text.slice(open + 1, comma) };
  if (!piece.function || !piece.field || !value) throw refusedPiece(text, 'lacks a part');
  return { ...piece, values: valuesOf(text, value) };
};

/**
 * The pieces of a `filters` text, joined by `+`; none when it is empty.
 *
 * @throws {RpcError} INVALID_ARGUMENT for a piece that is not `function(field,value)`, and above any of the limits.
 */
export const parseFilters = (filters: string): readonly FilterPiece[] => {
  if (filters === '') return [];
  if (filters.length > MAX_FILTERS) throw invalid('filters', `longer than ${MAX_FILTERS} characters`);
  const pieces = filters.split('+');
  if (pieces.length > MAX_PIECES) throw invalid('filters', `more than ${MAX_PIECES} filters`);
  return pieces.map(pieceOf);
};
