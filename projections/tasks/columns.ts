import type { Columns } from '../query/columns.js';
import type { Collection } from '../runtime/read-store.js';
import {
  versionCarried,
  versionColumns,
  versionFields,
  versionIndexes,
  versionSearched,
} from '../query/versions/version-columns.js';

export const taskCollection: Collection = {
  name: 'tasks',
  version: 3,
  fields: { ...versionFields, type: 'text', short_description: 'text' },
  indexes: versionIndexes,
  carried: versionCarried,
  searched: versionSearched,
};

export const taskColumns: Columns = {
  entity: 'task',
  shortName: 't',
  byName: {
    ...versionColumns,
    type: { field: 'type', kind: 'text' },
    short_description: { field: 'short_description', kind: 'text' },
  },
};
