import type { Columns } from '../query/columns.js';
import type { Collection } from '../runtime/read-store.js';

export const signalCollection: Collection = {
  name: 'signals',
  version: 1,
  fields: {
    execution: 'text',
    execution_project: 'text',
    execution_domain: 'text',
    execution_name: 'text',
    signal_id: 'text',
    created_at: 'integer',
    updated_at: 'integer',
    /** Position of the creation: the order in which gates asked for signals. */
    recorded: 'integer',
  },
  indexes: [
    ['execution', 'recorded'],
    ['execution', 'signal_id'],
    ['execution', 'updated_at'],
  ],
};

export const signalColumns: Columns = {
  entity: 'signal',
  shortName: 's',
  byName: {
    execution_project: { field: 'execution_project', kind: 'text' },
    execution_domain: { field: 'execution_domain', kind: 'text' },
    execution_name: { field: 'execution_name', kind: 'text' },
    signal_id: { field: 'signal_id', kind: 'text' },
    created_at: { field: 'created_at', kind: 'time', order: 'recorded' },
    updated_at: { field: 'updated_at', kind: 'time' },
    id: { field: 'recorded', kind: 'number' },
    deleted_at: { field: 'recorded', kind: 'opaque' },
    type: { field: 'recorded', kind: 'opaque' },
    value: { field: 'recorded', kind: 'opaque' },
  },
};
