import type { ReadStore } from '../../projections/kernel/read-store.js';
import type { FreshViews } from '../../projections/kernel/rebuild.js';
import { freshSqliteViews } from '../../projections/store/fresh-views.js';
import { servingReadStore } from '../../projections/store/serving-read-store.js';
import { sqliteReadStore } from '../../projections/store/sqlite-read-store.js';
import { failPoint } from '../store/fail-point.js';

/** Which views a process, or a thread of it, works with. */
export type ReadStoreSource = { readonly directory: string };

/**
 * Opens the views of a configuration.
 *
 * - `keep`: to write them, on a thread of its own.
 * - `read`: to read them, on a thread of its own.
 * - `serve`: to read them on the thread that serves requests.
 *
 * @throws {Fault} when they cannot be used.
 */
export const openReadStore = ({ directory }: ReadStoreSource, use: 'keep' | 'read' | 'serve'): Promise<ReadStore> => {
  if (use === 'serve') return Promise.resolve(servingReadStore({ directory }));
  if (use === 'read') return Promise.resolve(sqliteReadStore({ directory, mode: 'read-only' }));
  const beforeCommit = (): void => failPoint('inside-checkpoint');
  return Promise.resolve(sqliteReadStore({ directory, mode: 'read-write', beforeCommit }));
};

/**
 * Makes the views that a rebuild grows beside those in use.
 *
 * @throws {Fault} when they cannot be made.
 */
export const openFreshViews = ({ directory }: ReadStoreSource): Promise<FreshViews> =>
  Promise.resolve(freshSqliteViews({ directory }));
