import type { FaultCode } from '../../services/kernel/fault.js';
import type { Collection, Query, ReadStore } from '../kernel/read-store.js';

/** What the thread for long queries is started with. */
export type QueryThreadSettings = { readonly directory: string; readonly queryLimitMs: number };

/** The queries of the port. */
export type QueryMethod = 'find' | 'findDistinct';

/** A query on its way to the thread. */
export type Asked = {
  readonly id: number;
  readonly method: QueryMethod;
  readonly collection: Collection;
  readonly query: Query;
};

/** What a query comes to. */
export type QueryResult = Awaited<ReturnType<ReadStore[QueryMethod]>>;

/** Its answer on the way back. */
export type Answered = {
  readonly id: number;
  readonly result?: QueryResult;
  readonly fault?: { readonly code: FaultCode; readonly message: string };
};
