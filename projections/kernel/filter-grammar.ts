import { invalid } from '../../services/kernel/rpc.js';

/** One piece of a `filters` text, as it was written: `gte(started_at,2024-01-01T00:00:00Z)`. */
export type FilterPiece = { readonly function: string; readonly field: string; readonly value: string };

/** The longest `filters` text that is looked at, in characters. */
const MAX_FILTERS = 32_768;

const WHITE_SPACE = /^\s/u;

// From the right, as a greedy pattern matches: what follows the last `)` does not count, and a value has no comma.
const pieceOf = (text: string): FilterPiece => {
  const close = text.lastIndexOf(')');
  const comma = text.lastIndexOf(',', close);
  const open = text.lastIndexOf('(', comma);
  if (close < 0 || comma < 0 || open < 0) throw invalid('filters', `'${text}' is not function(field,value)`);
  const value = text.slice(comma + 1, close).replace(WHITE_SPACE, '');
  const piece = { function: text.slice(0, open), field: text.slice(open + 1, comma), value };
  if (!piece.function || !piece.field || !value) throw invalid('filters', `'${text}' lacks a part`);
  return piece;
};

/**
 * The pieces of a `filters` text, joined by `+`; none when it is empty.
 *
 * @throws {RpcError} INVALID_ARGUMENT for a piece that is not `function(field,value)`.
 */
export const parseFilters = (filters: string): readonly FilterPiece[] => {
  if (filters === '') return [];
  if (filters.length > MAX_FILTERS) throw invalid('filters', `longer than ${MAX_FILTERS} characters`);
  return filters.split('+').map(pieceOf);
};
