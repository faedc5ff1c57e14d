import type { Columns } from '../kernel/columns.js';
import type { Collection } from '../kernel/read-store.js';
import { versionColumns, versionFields, versionIndexes } from '../kernel/version-columns.js';

const SCOPE = ['project', 'domain'];

/** The registered launch plans; the active ones are looked for by name and all together. */
export const launchPlanCollection: Collection = {
  name: 'launch-plans',
  version: 1,
  fields: { ...versionFields, state: 'integer', schedule_type: 'text', launch_condition_type: 'text' },
  indexes: [...versionIndexes, [...SCOPE, 'state', 'recorded'], [...SCOPE, 'name', 'state', 'recorded']],
};

/** What filters and sorts of launch plans may name. */
export const launchPlanColumns: Columns = {
  entity: 'launch_plan',
  code: 'l',
  byName: {
    ...versionColumns,
    state: { field: 'state', kind: 'number' },
    schedule_type: { field: 'schedule_type', kind: 'text' },
    launch_condition_type: { field: 'launch_condition_type', kind: 'text' },
  },
};
