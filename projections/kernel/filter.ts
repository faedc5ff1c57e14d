import { invalid, RpcError } from '../../services/kernel/rpc.js';
import { type Column, columnNamed, type Columns } from './columns.js';
import { entityCode, isJoinable } from './entities.js';
import { type FilterPiece, parseFilters } from './filter-grammar.js';
import { VALUE_OF } from './filter-values.js';
import type { Condition } from './read-store.js';

const COMPARISONS = { eq: '=', ne: '<>', gt: '>', gte: '>=', lt: '<', lte: '<=' } as const;

/** In the grammar, and not served yet. */
const LATER: readonly string[] = ['not_like', 'value_not_in'];

const refused = (message: string): RpcError => new RpcError('INVALID_ARGUMENT', message);

const prefixOf = (field: string): string => field.slice(0, Math.max(field.indexOf('.'), 0));

const otherEntity = (columns: Columns, prefix: string, field: string): RpcError =>
  isJoinable(columns.entity, prefix)
    ? refused(`invalid value for filters: '${field}' is a field of another entity, which is not supported yet`)
    : refused(`'${entityCode(prefix) ?? prefix}' entity is not allowed in filters`);

const filterOf = (columns: Columns, field: string): Column => {
  const prefix = prefixOf(field);
  const isOwn = prefix === columns.entity;
  const name = isOwn ? field.slice(prefix.length + 1) : field;
  const column = columnNamed(columns, name);
  if (column && column.filter !== false) return column;
  if (entityCode(prefix) !== undefined && !isOwn) throw otherEntity(columns, prefix, field);
  throw refused(`'${columns.code}.${name}' is invalid filter`);
};

const onlyOne = (piece: FilterPiece, values: readonly (string | number)[]): string | number => {
  const [value] = values;
  if (value === undefined || values.length > 1) throw invalid(piece.field, `${piece.function} takes one value`);
  return value;
};

const contains = (piece: FilterPiece, column: Column, values: readonly (string | number)[]): Condition => {
  const value = onlyOne(piece, values);
  if (typeof value === 'number') throw invalid(piece.field, 'contains takes a field of text');
  return { field: column.field, is: 'contains', value };
};

const conditionOf = (columns: Columns, piece: FilterPiece): Condition => {
  const column = filterOf(columns, piece.field);
  const values = piece.value.split(';').map((text) => VALUE_OF[column.kind](piece.field, text));
  const { field } = column;
  if (piece.function === 'value_in') return { field, is: 'in', values };
  if (piece.function === 'contains') return contains(piece, column, values);
  if (LATER.includes(piece.function)) throw invalid('filters', `function ${piece.function} is not supported yet`);
  if (!Object.hasOwn(COMPARISONS, piece.function)) throw refused(`unrecognized filter function: ${piece.function}`);
  const is = COMPARISONS[piece.function as keyof typeof COMPARISONS];
  return { field, is, value: onlyOne(piece, values) };
};

/**
 * The conditions that a `filters` text stands for, all of which hold.
 *
 * @throws {RpcError} INVALID_ARGUMENT that names what cannot be: the piece, the field, its value or the function.
 */
export const conditionsOf = (columns: Columns, filters: string): readonly Condition[] =>
  parseFilters(filters).map((piece) => conditionOf(columns, piece));
