import type { Columns } from './columns.js';
import type { Collection, Condition, FieldValue, ReadStore } from './read-store.js';

/** What every list request has; the generated request messages fit as they are. */
export type ListRequest = {
  /** 0 means 100. */
  readonly limit: number;
  /** Empty for the first page; what the page before answered; or a decimal offset. */
  readonly token: string;
  readonly filters: string;
  readonly sortBy?: { readonly key: string; readonly direction: number } | undefined;
};

/** What one list RPC lists. */
export type Listed = {
  /** The RPC's name, for its messages: `ListExecutions`. */
  readonly rpc: string;
  readonly store: ReadStore;
  readonly collection: Collection;
  readonly columns: Columns;
  /** The order when the request names none. */
  readonly order: { readonly field: string; readonly direction: 'ascending' | 'descending' };
  /** `all`: limit 0 means no limit (ListProjects). */
  readonly limitZero?: 'all';
};

/** What the request is about, whatever its filters say. */
export type Scope = {
  readonly where: readonly Condition[];
  /** Each holds unless a filter names its field: an execution's `state = 0`. */
  readonly unlessNamed?: readonly Condition[];
  /** All hold unless there is any filter: a project's `state <> archived`. */
  readonly unlessFiltered?: readonly Condition[];
};

/** One page of a list: elements as they are encoded, and the token of the next page, empty on the last. */
export type ListPage = { readonly elements: readonly Uint8Array[]; readonly token: string };

/** One page of names. */
export type NamePage = { readonly values: readonly FieldValue[]; readonly token: string };

/**
 * Answers a list request with a page of a collection.
 *
 * @throws {RpcError} INVALID_ARGUMENT for a filter, sort or token that cannot be; DEADLINE_EXCEEDED, naming the
 * filter, when the page would take too long to find.
 */
export const listPage = async (_listed: Listed, _scope: Scope, _request: ListRequest): Promise<ListPage> =>
  Promise.reject(new Error('to be filled in'));

/**
 * Answers a request for names: the values of one field in order, each once, filters honoured.
 *
 * @throws {RpcError} as `listPage`.
 */
export const listNames = async (
  _listed: Listed,
  _field: string,
  _scope: Scope,
  _request: ListRequest,
): Promise<NamePage> => Promise.reject(new Error('to be filled in'));
