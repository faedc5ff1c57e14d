import { Project_ProjectState } from '../../proto/gen/platformidl/admin/project_pb.js';
import type { Columns } from '../query/columns.js';
import { enumValues } from '../query/enum-name.js';
import type { Collection } from '../runtime/read-store.js';

export const projectCollection: Collection = {
  name: 'projects',
  version: 2,
  fields: {
    /** Position of the registration. */
    recorded: 'integer',
    identifier: 'text',
    name: 'text',
    description: 'text',
    state: 'integer',
    created_at: 'integer',
    updated_at: 'integer',
  },
  indexes: [['identifier'], ['state', 'identifier'], ['name'], ['created_at'], ['identifier', 'created_at']],
  values: { state: enumValues(Project_ProjectState) },
};

export const projectColumns: Columns = {
  entity: 'project',
  shortName: 'p',
  byName: {
    identifier: { field: 'identifier', kind: 'text' },
    name: { field: 'name', kind: 'text' },
    description: { field: 'description', kind: 'text' },
    state: { field: 'state', kind: 'number', names: Project_ProjectState },
    created_at: { field: 'created_at', kind: 'time' },
    updated_at: { field: 'updated_at', kind: 'time' },
    id: { field: 'recorded', kind: 'number' },
    // Requests may name these two, as in Flyte; here no field has them: a sort by one of them goes by `identifier`.
    deleted_at: { field: 'identifier', kind: 'opaque' },
    labels: { field: 'identifier', kind: 'opaque' },
  },
};
