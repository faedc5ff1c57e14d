import { QueryTooSlow } from '../../services/kernel/fault.js';
import { RpcError } from '../../services/kernel/rpc.js';
import { columnNamed, type Columns, type LinkedEntities, sortKeys } from './columns.js';
import { type Filters, filtersOf } from './filters/filter.js';
import { narrowQuery } from './narrowed-query.js';
import type {
  Collection,
  Condition,
  DocumentReads,
  FieldValue,
  Query,
  ReadStore,
  ValueCounts,
} from '../runtime/read-store.js';
import { isOffset, pageStart, pageToken } from './token.js';

/** The fields that every list request has; the generated request messages can be passed as they are. */
export type ListRequest = {
  /** 0 means 100, or no limit by {@link Listed.limitZero}. */
  readonly limit: number;
  /** Empty for the first page; the token of the previous page; or a decimal offset. */
  readonly token: string;
  readonly filters: string;
  readonly sortBy?: { readonly key: string; readonly direction: number } | undefined;
};

/** Describes what one list RPC returns. */
export type Listed = {
  /** The RPC's name, for its messages: `ListExecutions`. */
  readonly rpc: string;
  readonly store: DocumentReads;
  readonly collection: Collection;
  readonly columns: Columns;
  /** The other entities that filters may name. */
  readonly entities?: LinkedEntities;
  /** The order when the request names none. */
  readonly order: { readonly field: string; readonly direction: 'ascending' | 'descending' };
  /** `all`: limit 0 means no limit (ListProjects). */
  readonly limitZero?: 'all';
};

/** Describes a list whose elements are counted; the index of its order is read. */
export type CountedList = Listed & { readonly store: Pick<ReadStore, 'countBy'> };

/** Conditions of a request besides its filters. */
export type ListScope = {
  readonly where: readonly Condition[];
  /** Each applies unless a filter names its field, even that of another entity: an execution's `state = 0`. */
  readonly unlessNamed?: readonly Condition[];
  /** All apply unless the request has any filter: a project's `state <> archived`. */
  readonly unlessFiltered?: readonly Condition[];
};

/** One page of a list: the encoded elements, and the token of the next page, empty on the last page. */
export type ListPage = { readonly elements: readonly Uint8Array[]; readonly token: string };

/** One page of names. */
export type NamePage = { readonly values: readonly FieldValue[]; readonly token: string };

const DEFAULT_LIMIT = 100;

/** Stands for no limit: more elements than any list has. */
const MAX_LIMIT = 2 ** 32;

/** Characters of a name or a filter that an error message quotes. */
const SHOWN = 200;

const DIRECTIONS = ['descending', 'ascending'] as const;

const notAKey = (key: string, keys: readonly string[]): RpcError =>
  new RpcError('INVALID_ARGUMENT', `invalid sort key '${key.slice(0, SHOWN)}': the keys are ${keys.join(', ')}`);

const orderOf = ({ columns, order }: Listed, { sortBy }: ListRequest): Query['orderBy'] => {
  if (!sortBy) return order;
  const column = columnNamed(columns, sortBy.key);
  if (!column || column.sort === false || sortBy.key.includes('.')) throw notAKey(sortBy.key, sortKeys(columns));
  const direction = DIRECTIONS[sortBy.direction];
  if (!direction)
    throw new RpcError(
      'INVALID_ARGUMENT',
      `invalid sort order specified: ${sortBy.direction}: 0 is DESCENDING, 1 is ASCENDING`,
    );
  return { field: column.order ?? column.field, direction };
};

const implied = (scope: ListScope, { terms, names }: Filters): readonly Condition[] => {
  const unlessNamed = (scope.unlessNamed ?? []).filter(({ field }) => !names.has(field));
  const unlessFiltered = terms.length === 0 ? (scope.unlessFiltered ?? []) : [];
  return [...scope.where, ...unlessNamed, ...unlessFiltered];
};

const limitOf = ({ limitZero }: Listed, { limit }: ListRequest): number =>
  limit || (limitZero === 'all' ? MAX_LIMIT : DEFAULT_LIMIT);

const queryOf = async (listed: Listed, scope: ListScope, request: ListRequest): Promise<Query> => {
  const { columns, entities, store, collection } = listed;
  const filters = filtersOf(columns, request.filters, entities);
  const orderBy = orderOf(listed, request);
  const start = pageStart(orderBy, request.token, listed.rpc);
  const rest = { orderBy, ...start, limit: limitOf(listed, request) };
  return narrowQuery(store, collection, { terms: filters.terms, where: implied(scope, filters), ...rest });
};

const tooSlow = ({ rpc }: Listed, { filters, sortBy, token }: ListRequest): RpcError => {
  const parts = [
    filters && `filters ${filters.slice(0, SHOWN)}`,
    sortBy && `sort key '${sortBy.key}'`,
    isOffset(token) && 'this offset',
  ].filter(Boolean);
  const named = parts.length > 0 ? ` with ${parts.join(' and ')}` : '';
  return new RpcError('DEADLINE_EXCEEDED', `${rpc}${named} takes too long: narrow it down`);
};

const inTime = async <Result>(listed: Listed, request: ListRequest, found: Promise<Result>): Promise<Result> => {
  try {
    return await found;
  } catch (error) {
    throw error instanceof QueryTooSlow ? tooSlow(listed, request) : error;
  }
};

/**
 * Answers a list request with a page of a collection.
 *
 * @throws {RpcError} INVALID_ARGUMENT for an invalid filter, sort key or token; DEADLINE_EXCEEDED, naming the filters,
 * the sort key and an offset, when the page would take too long to find.
 */
export const listPage = async (listed: Listed, scope: ListScope, request: ListRequest): Promise<ListPage> => {
  const query = await inTime(listed, request, queryOf(listed, scope, request));
  const { elements, next } = await inTime(listed, request, listed.store.find(listed.collection, query));
  return { elements, token: next ? pageToken(query.orderBy, next) : '' };
};

/**
 * Answers a request for names: the distinct values of the field that the list is sorted by, with filters applied. The
 * request may reverse the order. It may sort by that field, or by one whose value the scope sets, such as the project:
 * all names have that value, so they are sorted by themselves.
 *
 * @throws {RpcError} as `listPage`.
 */
export const listNames = async (listed: Listed, scope: ListScope, sent: ListRequest): Promise<NamePage> => {
  const { field: name } = listed.order;
  const keys = [name, ...scope.where.filter(({ is }) => is === '=').map(({ field }) => field)];
  if (sent.sortBy && !keys.includes(sent.sortBy.key)) throw notAKey(sent.sortBy.key, keys);
  const request = sent.sortBy ? { ...sent, sortBy: { ...sent.sortBy, key: name } } : sent;
  const query = await inTime(listed, request, queryOf(listed, scope, request));
  const { values, hasMore } = await inTime(listed, request, listed.store.findDistinct(listed.collection, query));
  const last = values.at(-1);
  return { values, token: hasMore && last !== undefined ? pageToken(query.orderBy, { value: last, key: '' }) : '' };
};

/**
 * Counts the elements that match a filter by the values of a field.
 *
 * @throws {RpcError} as `listPage`.
 */
export const valueCounts = async (
  listed: CountedList,
  scope: ListScope,
  filters: string,
  by: string,
): Promise<ValueCounts> => {
  const request: ListRequest = { filters, limit: 0, token: '' };
  const query = await inTime(listed, request, queryOf(listed, scope, request));
  return inTime(listed, request, listed.store.countBy(listed.collection, query, by));
};
