import type { Columns } from '../query/columns.js';
import type { Collection } from '../runtime/read-store.js';
import {
  versionCarried,
  versionColumns,
  versionFields,
  versionIndexes,
  versionSearched,
} from '../query/versions/version-columns.js';

export const workflowCollection: Collection = {
  name: 'workflows',
  version: 3,
  fields: { ...versionFields, short_description: 'text' },
  indexes: versionIndexes,
  carried: versionCarried,
  searched: versionSearched,
};

export const workflowColumns: Columns = {
  entity: 'workflow',
  shortName: 'w',
  byName: {
    ...versionColumns,
    short_description: { field: 'short_description', kind: 'text' },
    typed_interface: { field: 'recorded', kind: 'opaque' },
    remote_closure_identifier: { field: 'recorded', kind: 'opaque' },
  },
};
