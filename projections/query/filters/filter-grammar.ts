import { invalid } from '../../../services/kernel/rpc.js';

/** One filter of a `filters` text, as it was written: `gte(started_at,2024-01-01T00:00:00Z)`. */
export type FilterPiece = { readonly function: string; readonly field: string; readonly values: readonly string[] };

/** Maximum length of a `filters` text, in characters. */
const MAX_FILTERS = 32_768;
const MAX_PIECES = 64;
const MAX_VALUES = 1_000;

/** Characters of a filter that an error message quotes. */
const SHOWN = 200;

const refusedPiece = (text: string, reason: string): Error =>
  invalid('filters', `'${text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text}' ${reason}`);

/** One whitespace character after the comma is not part of the value, unless the value consists of it. */
const trimmed = (text: string): string => (/^\s./su.test(text) ? text.slice(1) : text);

const valuesOf = (text: string, value: string): readonly string[] => {
  const values = value.split(';');
  if (values.length > MAX_VALUES) throw refusedPiece(text, `has more than ${MAX_VALUES} values`);
  return values;
};

// Parsed from the right, as a greedy pattern matches: text after the last `)` is ignored, and a value contains no
// comma.
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
 * Parses a `filters` text, whose filters are joined by `+`.
 *
 * @returns the filters in order; empty for an empty text.
 * @throws {RpcError} INVALID_ARGUMENT for a filter that is not `function(field,value)`, and above any of the limits.
 */
export const parseFilters = (filters: string): readonly FilterPiece[] => {
  if (filters === '') return [];
  if (filters.length > MAX_FILTERS) throw invalid('filters', `longer than ${MAX_FILTERS} characters`);
  const pieces = filters.split('+');
  if (pieces.length > MAX_PIECES) throw invalid('filters', `more than ${MAX_PIECES} filters`);
  return pieces.map(pieceOf);
};
