import { CatalogCacheStatus } from '../../proto/gen/platformidl/core/catalog_pb.js';
import {
  ExecutionError_ErrorKind,
  NodeExecution_Phase,
  WorkflowExecution_Phase,
} from '../../proto/gen/platformidl/core/execution_pb.js';
import type { Columns } from '../query/columns.js';
import { enumNames } from '../query/enum-name.js';
import type { Collection } from '../runtime/read-store.js';

/** The stored node executions, listed by execution and parent. */
export const nodeExecutionCollection: Collection = {
  name: 'node-executions',
  version: 4,
  fields: {
    /** Position of the first event of the node. */
    recorded: 'integer',
    execution: 'text',
    parent: 'text',
    /** The task execution that created this node, as older engines report it. */
    parent_task: 'text',
    execution_project: 'text',
    execution_domain: 'text',
    execution_name: 'text',
    node_id: 'text',
    phase: 'text',
    created_at: 'integer',
    updated_at: 'integer',
    started_at: 'integer',
    duration: 'integer',
    error_kind: 'text',
    error_code: 'text',
    cache_status: 'text',
    input_uri: 'text',
    closed_by: 'text',
    /** Revisions of the events that contain the inputs, the outputs and the compiled dynamic workflow. */
    inputs_at: 'integer',
    outputs_at: 'integer',
    dynamic_at: 'integer',
  },
  indexes: [
    ['execution', 'parent', 'created_at'],
    ['parent_task', 'created_at'],
  ],
};

/** The columns for filters and sorts of node executions. */
export const nodeExecutionColumns: Columns = {
  entity: 'node_execution',
  shortName: 'ne',
  byName: {
    execution_project: { field: 'execution_project', kind: 'text' },
    execution_domain: { field: 'execution_domain', kind: 'text' },
    execution_name: { field: 'execution_name', kind: 'text' },
    node_id: { field: 'node_id', kind: 'text' },
    phase: { field: 'phase', kind: 'text', values: enumNames(NodeExecution_Phase) },
    created_at: { field: 'created_at', kind: 'time' },
    updated_at: { field: 'updated_at', kind: 'time' },
    node_execution_created_at: { field: 'created_at', kind: 'time' },
    node_execution_updated_at: { field: 'updated_at', kind: 'time' },
    started_at: { field: 'started_at', kind: 'time' },
    duration: { field: 'duration', kind: 'duration' },
    error_kind: { field: 'error_kind', kind: 'text', values: enumNames(ExecutionError_ErrorKind) },
    error_code: { field: 'error_code', kind: 'text' },
    cache_status: { field: 'cache_status', kind: 'text', values: enumNames(CatalogCacheStatus) },
    input_uri: { field: 'input_uri', kind: 'text' },
    /**
     * Phase in which the execution ended while this node was open; `ne(closed_by,SUCCEEDED)` excludes nodes open at a
     * success.
     */
    closed_by: { field: 'closed_by', kind: 'text', values: enumNames(WorkflowExecution_Phase) },
    id: { field: 'recorded', kind: 'number' },
    parent_id: { field: 'parent', kind: 'text' },
    parent_task_execution_id: { field: 'parent_task', kind: 'text' },
    deleted_at: { field: 'created_at', kind: 'opaque' },
    closure: { field: 'created_at', kind: 'opaque' },
    node_execution_metadata: { field: 'created_at', kind: 'opaque' },
    dynamic_workflow_remote_closure_reference: { field: 'created_at', kind: 'opaque' },
    internal_data: { field: 'created_at', kind: 'opaque' },
  },
  links: { execution: 'execution' },
};
