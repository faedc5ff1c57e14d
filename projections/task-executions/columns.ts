import { TaskExecution_Phase, WorkflowExecution_Phase } from '../../proto/gen/platformidl/core/execution_pb.js';
import type { Columns } from '../query/columns.js';
import { enumNames } from '../query/enum-name.js';
import type { Collection } from '../runtime/read-store.js';

/** The stored task executions, listed by node. */
export const taskExecutionCollection: Collection = {
  name: 'task-executions',
  version: 6,
  fields: {
    recorded: 'integer',
    task: 'text',
    execution: 'text',
    node: 'text',
    project: 'text',
    domain: 'text',
    name: 'text',
    version: 'text',
    execution_project: 'text',
    execution_domain: 'text',
    execution_name: 'text',
    node_id: 'text',
    retry_attempt: 'integer',
    phase: 'text',
    phase_version: 'integer',
    created_at: 'integer',
    updated_at: 'integer',
    started_at: 'integer',
    duration: 'integer',
    input_uri: 'text',
    closed_by: 'text',
    inputs_at: 'integer',
    outputs_at: 'integer',
  },
  indexes: [['node', 'created_at']],
};

export const taskExecutionColumns: Columns = {
  entity: 'task_execution',
  shortName: 'te',
  byName: {
    project: { field: 'project', kind: 'text' },
    domain: { field: 'domain', kind: 'text' },
    name: { field: 'name', kind: 'text' },
    version: { field: 'version', kind: 'text' },
    execution_project: { field: 'execution_project', kind: 'text' },
    execution_domain: { field: 'execution_domain', kind: 'text' },
    execution_name: { field: 'execution_name', kind: 'text' },
    node_id: { field: 'node_id', kind: 'text' },
    retry_attempt: { field: 'retry_attempt', kind: 'number' },
    phase: { field: 'phase', kind: 'text', values: enumNames(TaskExecution_Phase) },
    phase_version: { field: 'phase_version', kind: 'number' },
    created_at: { field: 'created_at', kind: 'time' },
    updated_at: { field: 'updated_at', kind: 'time' },
    task_execution_created_at: { field: 'created_at', kind: 'time' },
    task_execution_updated_at: { field: 'updated_at', kind: 'time' },
    started_at: { field: 'started_at', kind: 'time' },
    duration: { field: 'duration', kind: 'duration' },
    input_uri: { field: 'input_uri', kind: 'text' },
    /**
     * Phase in which the execution ended while this attempt was open, otherwise empty. `ne(closed_by,SUCCEEDED)`
     * excludes only the attempts that were open when the execution succeeded.
     */
    closed_by: { field: 'closed_by', kind: 'text', values: enumNames(WorkflowExecution_Phase) },
    id: { field: 'recorded', kind: 'number' },
    deleted_at: { field: 'created_at', kind: 'opaque' },
    closure: { field: 'created_at', kind: 'opaque' },
    'task.project': { field: 'project', kind: 'text' },
    'task.domain': { field: 'domain', kind: 'text' },
    'task.name': { field: 'name', kind: 'text' },
    'task.version': { field: 'version', kind: 'text' },
  },
  links: { task: 'task', execution: 'execution', node_execution: 'node' },
};
