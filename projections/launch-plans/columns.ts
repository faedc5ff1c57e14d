import { LaunchPlanState } from '../../proto/gen/platformidl/admin/launch_plan_pb.js';
import type { Columns } from '../query/columns.js';
import { enumValues } from '../query/enum-name.js';
import type { Collection } from '../runtime/read-store.js';
import {
  versionCarried,
  versionColumns,
  versionFields,
  versionIndexes,
  versionSearched,
} from '../query/versions/version-columns.js';

const SCOPE = ['project', 'domain'];

/** The types of schedules, as clients filter by them. */
const SCHEDULE_TYPES = ['NONE', 'CRON', 'RATE'];

/** The stored launch plans; active ones are queried by name and by project and domain. */
export const launchPlanCollection: Collection = {
  name: 'launch-plans',
  version: 3,
  fields: {
    ...versionFields,
    state: 'integer',
    schedule_type: 'text',
    launch_condition_type: 'text',
    workflow: 'text',
    workflow_project: 'text',
    workflow_domain: 'text',
    workflow_name: 'text',
    workflow_version: 'text',
  },
  indexes: [
    ...versionIndexes,
    [...SCOPE, 'state', 'recorded'],
    [...SCOPE, 'name', 'state', 'recorded'],
    [...SCOPE, 'schedule_type', 'recorded'],
    [...SCOPE, 'workflow_name', 'recorded'],
    [...SCOPE, 'workflow_name', 'workflow_version', 'recorded'],
  ],
  carried: versionCarried,
  searched: versionSearched,
  values: { state: enumValues(LaunchPlanState) },
};

/** The columns for filters and sorts of launch plans. */
export const launchPlanColumns: Columns = {
  entity: 'launch_plan',
  shortName: 'l',
  byName: {
    ...versionColumns,
    state: { field: 'state', kind: 'number', names: LaunchPlanState },
    schedule_type: { field: 'schedule_type', kind: 'text', values: SCHEDULE_TYPES },
    launch_condition_type: { field: 'launch_condition_type', kind: 'text' },
    spec: { field: 'recorded', kind: 'opaque' },
    workflow_id: { field: 'workflow', kind: 'text' },
    'workflow.project': { field: 'workflow_project', kind: 'text' },
    'workflow.domain': { field: 'workflow_domain', kind: 'text' },
    'workflow.name': { field: 'workflow_name', kind: 'text' },
    'workflow.version': { field: 'workflow_version', kind: 'text' },
  },
  links: { workflow: 'workflow' },
};
