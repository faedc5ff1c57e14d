import { invalid, RpcError } from '../../../services/kernel/rpc.js';
import {
  type Column,
  columnNamed,
  type Columns,
  type LinkedEntities,
  filterFields,
  ownFilterFields,
} from '../columns.js';
import { isJoinable, shortNameOf } from './entities.js';
import { comparisonOf } from './filter-comparison.js';
import { type FilterPiece, parseFilters } from './filter-grammar.js';
import type { Condition } from '../../runtime/read-store.js';

/** A condition of a filter, with its column where that is a single column of the list's own entity. */
export type FilterTerm = { readonly condition: Condition; readonly column?: Column };

/** A parsed `filters` text. */
export type Filters = {
  /** Conditions that must all hold. */
  readonly terms: readonly FilterTerm[];
  /**
   * Names of the filtered fields, without their entities: a default condition of a list on one of them does not apply.
   */
  readonly names: ReadonlySet<string>;
};

/** A filter with its column: of the list's own documents, of one of their pairs, or of another entity's documents. */
type Placed = {
  readonly piece: FilterPiece;
  readonly column: Column;
  readonly name: string;
  /** Name of the entity whose documents have the column; empty for the list's own. */
  readonly entity: string;
};

const NO_ENTITIES: LinkedEntities = new Map();

const refused = (message: string): RpcError => new RpcError('INVALID_ARGUMENT', message);

/** Characters of a name that an error message quotes. */
const SHOWN = 200;

const notAColumn = (shortName: string | undefined, name: string, fields: readonly string[]): RpcError => {
  const which = fields.length > 0 ? `: the fields are ${fields.join(', ')}` : '';
  return refused(`'${shortName ?? ''}.${name.slice(0, SHOWN)}' is invalid filter${which}`);
};

/**
 * Names of the columns of another entity that a list can filter by: those copied into its documents, and those that are
 * looked up.
 */
const joinedFields = (columns: Columns, other: Columns | undefined, prefix: string): readonly string[] => {
  const copied = filterFields(columns).filter((name) => name.startsWith(`${prefix}.`));
  const found = other ? filterFields(other).filter((name) => other.byName[name]?.part === undefined) : [];
  return [...new Set([...copied, ...found.map((name) => `${prefix}.${name}`)])].sort();
};

const split = (field: string): { prefix: string; name: string } => {
  const [prefix = '', ...rest] = field.split('.');
  const isPrefix = rest.length > 0 && shortNameOf(prefix) !== undefined;
  return isPrefix ? { prefix, name: rest.join('.') } : { prefix: '', name: field };
};

const linkedColumn = (columns: Columns, entities: LinkedEntities, prefix: string, name: string): Column => {
  const other = columns.links?.[prefix] === undefined ? undefined : entities.get(prefix)?.columns;
  const column = other && columnNamed(other, name);
  if (!column || column.filter === false || column.part !== undefined)
    throw notAColumn(shortNameOf(prefix), name, joinedFields(columns, other, prefix));
  return column;
};

const placed = (columns: Columns, entities: LinkedEntities, piece: FilterPiece): Placed => {
  const { prefix, name } = split(piece.field);
  const isOwn = prefix === '' || prefix === columns.entity;
  if (!isOwn && !isJoinable(columns.entity, prefix)) {
    throw refused(`'${shortNameOf(prefix) ?? prefix}' entity is not allowed in filters`);
  }
  const column = columnNamed(columns, isOwn ? name : piece.field);
  if (column && column.filter !== false) return { piece, column, name, entity: '' };
  if (isOwn) throw notAColumn(columns.shortName, name, ownFilterFields(columns));
  return { piece, column: linkedColumn(columns, entities, prefix, name), name, entity: prefix };
};

const termOf = (column: Column, condition: Condition): FilterTerm => ({ condition, column });

const grouped = <Item>(items: readonly Item[], by: (item: Item) => string): readonly (readonly Item[])[] => {
  const groups = new Map<string, Item[]>();
  for (const item of items) groups.set(by(item), [...(groups.get(by(item)) ?? []), item]);
  return [...groups.values()];
};

/**
 * The group of a filter on a field of pairs; all filters of a group must hold for one pair. Each label is a group, and
 * the filters that name no label are another one, as a join would have it.
 */
const pairOf = ({ column: { field, key } }: Placed): string => JSON.stringify([field, key]);

const pairTerm = (group: readonly Placed[]): FilterTerm => {
  const { field = '', key } = group[0]?.column ?? {};
  const where = group.map(({ piece, column }) => comparisonOf(piece, { ...column, field: column.part ?? '' }));
  const named: readonly Condition[] = key === undefined ? [] : [{ field: 'key', is: '=', value: key }];
  return { condition: { field, is: 'has pair', where: [...named, ...where] } };
};

const linkTerm = (columns: Columns, entities: LinkedEntities, group: readonly Placed[]): FilterTerm => {
  const { entity = '' } = group[0] ?? {};
  const other = entities.get(entity);
  const field = columns.links?.[entity];
  if (!other || field === undefined) throw invalid('filters', `'${entity}' cannot be looked up`);
  const where = group.map(({ piece, column }) => comparisonOf(piece, column));
  return { condition: { field, is: 'key of', collection: other.collection, where } };
};

/**
 * Parses a `filters` text into conditions.
 *
 * @throws {RpcError} INVALID_ARGUMENT naming the first invalid thing, checked in this order: the syntax of all filters,
 * the entity and the field of each, their values and functions.
 */
export const filtersOf = (columns: Columns, filters: string, entities = NO_ENTITIES): Filters => {
  const all = parseFilters(filters).map((piece) => placed(columns, entities, piece));
  const inPairs = all.filter(({ column }) => column.part !== undefined);
  const linked = all.filter(({ entity }) => entity !== '');
  const direct = all.filter(({ column, entity }) => column.part === undefined && entity === '');
  return {
    terms: [
      ...direct.map(({ piece, column }) => termOf(column, comparisonOf(piece, column))),
      ...grouped(inPairs, pairOf).map(pairTerm),
      ...grouped(linked, ({ entity }) => entity).map((group) => linkTerm(columns, entities, group)),
    ],
    names: new Set(all.map(({ name }) => name)),
  };
};
