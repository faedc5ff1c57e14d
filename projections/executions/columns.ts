import type { Columns } from '../kernel/columns.js';
import type { Collection } from '../kernel/read-store.js';

const SCOPE = ['project', 'domain'];
const ACTIVE = [...SCOPE, 'state'];

/** The stored executions, and the orders that clients ask for: the newest of a scope, by phase, by user, by mode. */
export const executionCollection: Collection = {
  name: 'executions',
  version: 1,
  fields: {
    project: 'text',
    domain: 'text',
    name: 'text',
    phase: 'text',
    state: 'integer',
    mode: 'integer',
    created_at: 'integer',
    updated_at: 'integer',
    started_at: 'integer',
    duration: 'integer',
    error_kind: 'text',
    error_code: 'text',
    abort_cause: 'text',
    abort_principal: 'text',
    user: 'text',
    cluster: 'text',
    launch_entity: 'text',
    outputs_at: 'integer',
  },
  indexes: [
    [...SCOPE, 'name', 'created_at'],
    [...ACTIVE, 'created_at'],
    [...ACTIVE, 'updated_at'],
    [...ACTIVE, 'started_at'],
    [...ACTIVE, 'duration'],
    [...ACTIVE, 'phase', 'created_at'],
    [...ACTIVE, 'mode', 'created_at'],
    [...ACTIVE, 'user', 'created_at'],
  ],
};

/** What filters and sorts of executions may name. */
export const executionColumns: Columns = {
  entity: 'execution',
  code: 'e',
  byName: {
    execution_project: { field: 'project', kind: 'text' },
    execution_domain: { field: 'domain', kind: 'text' },
    execution_name: { field: 'name', kind: 'text' },
    project: { field: 'project', kind: 'text' },
    domain: { field: 'domain', kind: 'text' },
    name: { field: 'name', kind: 'text' },
    phase: { field: 'phase', kind: 'text' },
    state: { field: 'state', kind: 'number' },
    mode: { field: 'mode', kind: 'number' },
    created_at: { field: 'created_at', kind: 'time' },
    updated_at: { field: 'updated_at', kind: 'time' },
    execution_created_at: { field: 'created_at', kind: 'time' },
    execution_updated_at: { field: 'updated_at', kind: 'time' },
    started_at: { field: 'started_at', kind: 'time' },
    duration: { field: 'duration', kind: 'duration' },
    error_kind: { field: 'error_kind', kind: 'text' },
    error_code: { field: 'error_code', kind: 'text' },
    abort_cause: { field: 'abort_cause', kind: 'text' },
    user: { field: 'user', kind: 'text' },
    cluster: { field: 'cluster', kind: 'text' },
    launch_entity: { field: 'launch_entity', kind: 'text' },
  },
};
