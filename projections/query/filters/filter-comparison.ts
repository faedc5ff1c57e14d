import { invalid, RpcError } from '../../../services/kernel/rpc.js';
import type { Column } from '../columns.js';
import type { FilterPiece } from './filter-grammar.js';
import { filterValue } from './filter-values.js';
import { ANY_TEXT, patternTokens, plainText } from './like-pattern.js';
import type { Condition } from '../../runtime/read-store.js';

/** Maximum number of `%` in a pattern: matching tries each character position for each of them. */
const MAX_ANY_TEXT = 8;

/** Characters of a value or a name that an error message quotes. */
const SHOWN = 200;

type Values = readonly (string | number)[];

/** Phases that Flyte's console filters by although no entity has them. Filters accept them, so that its pages work. */
const CONSOLE_PHASES: ReadonlySet<string> = new Set(['PAUSED', 'UNKNOWN', 'WAITING']);

/** Functions whose value is a pattern or a part of a text. */
const OF_PATTERNS: ReadonlySet<string> = new Set(['contains', 'not_like']);

/** Refuses a value that the column never has. */
const assertPossible = (piece: FilterPiece, { field, values }: Column): void => {
  if (values === undefined || OF_PATTERNS.has(piece.function)) return;
  const isKnown = (text: string): boolean => values.includes(text) || (field === 'phase' && CONSOLE_PHASES.has(text));
  const wrong = piece.values.find((text) => !isKnown(text));
  if (wrong === undefined) return;
  throw invalid(piece.field, `'${wrong.slice(0, SHOWN)}' is not one of ${values.join(', ')}`);
};

const onlyOne = (piece: FilterPiece, values: Values): string | number => {
  const [value] = values;
  if (value === undefined || values.length > 1) throw invalid(piece.field, `${piece.function} takes one value`);
  return value;
};

const onlyText = (piece: FilterPiece, values: Values): string => {
  const value = onlyOne(piece, values);
  if (typeof value === 'number') throw invalid(piece.field, `${piece.function} takes a field of text`);
  return value;
};

const plainOf = (piece: FilterPiece, pattern: string): string | undefined => {
  const parts = patternTokens(pattern);
  if (parts === undefined) throw invalid(piece.field, 'a backslash must be followed by the character that it escapes');
  if (parts.filter((part) => part === ANY_TEXT).length > MAX_ANY_TEXT)
    throw invalid(piece.field, `more than ${MAX_ANY_TEXT} % signs in the pattern`);
  return plainText(parts);
};

const contains = (piece: FilterPiece, field: string, values: Values): Condition => {
  const pattern = onlyText(piece, values);
  const plain = plainOf(piece, pattern);
  return plain === undefined ? { field, is: 'like', pattern: `%${pattern}%` } : { field, is: 'contains', value: plain };
};

const notLike = (piece: FilterPiece, field: string, values: Values): Condition => {
  const pattern = onlyText(piece, values);
  const plain = plainOf(piece, pattern);
  return plain === undefined ? { field, is: 'not like', pattern } : { field, is: '<>', value: plain };
};

type Comparison = (piece: FilterPiece, field: string, values: Values) => Condition;

const compared =
  (is: '=' | '<>' | '<' | '<=' | '>' | '>='): Comparison =>
  (piece, field, values) => ({ field, is, value: onlyOne(piece, values) });

const FUNCTIONS: Readonly<Record<string, Comparison>> = {
  eq: compared('='),
  ne: compared('<>'),
  gt: compared('>'),
  gte: compared('>='),
  lt: compared('<'),
  lte: compared('<='),
  contains,
  not_like: notLike,
  value_in: (_, field, values) => ({ field, is: 'in', values }),
  value_not_in: (_, field, values) => ({ field, is: 'not in', values }),
};

/**
 * Converts a filter on a column to a condition.
 *
 * @throws {RpcError} INVALID_ARGUMENT naming the field whose value is invalid, or the unknown function.
 */
export const comparisonOf = (given: FilterPiece, column: Column): Condition => {
  const { field, kind } = column;
  // People write spaces after the semicolons of a list of names.
  const piece = column.values ? { ...given, values: given.values.map((text) => text.trim()) } : given;
  const values = piece.values.map((text) => filterValue(column, piece.field, text));
  const comparison = Object.hasOwn(FUNCTIONS, piece.function) ? FUNCTIONS[piece.function] : undefined;
  if (!comparison) {
    const known = Object.keys(FUNCTIONS).join(', ');
    const name = piece.function.slice(0, SHOWN);
    throw new RpcError('INVALID_ARGUMENT', `unrecognized filter function: ${name}: the functions are ${known}`);
  }
  assertPossible(piece, column);
  const condition = comparison(piece, field, values);
  return kind === 'opaque' ? { field, is: 'in', values: [] } : condition;
};
