import type { FilledStore } from '../../runtime/prefix-fold.js';
import type { ReadModel } from '../../runtime/read-model.js';
import { sqliteReadStore } from './sqlite-read-store.js';

/** Opens an empty store for these read models, which is deleted when it is closed. Its indexes are made by `finish`. */
export const temporaryReadStore = async (models: readonly ReadModel<unknown>[]): Promise<FilledStore> => {
  const store = sqliteReadStore({ directory: undefined, mode: 'read-write', isGrowing: true });
  await store.prepare(models.map(({ collection }) => collection));
  return store;
};
