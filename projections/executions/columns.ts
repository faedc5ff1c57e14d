import { ExecutionMetadata_ExecutionMode, ExecutionState } from '../../proto/gen/platformidl/admin/execution_pb.js';
import {
  ExecutionError_ErrorKind,
  QualityOfService_Tier,
  WorkflowExecution_Phase,
} from '../../proto/gen/platformidl/core/execution_pb.js';
import type { Column, Columns } from '../query/columns.js';
import { durationClass } from '../query/duration-class.js';
import { enumNames, enumValues } from '../query/enum-name.js';
import type { Collection } from '../runtime/read-store.js';

const SCOPE = ['project', 'domain'];
const ACTIVE = [...SCOPE, 'state'];

/** The definitions whose identifiers are copied into an execution; they never change. */
const DEFINITIONS = ['launch_plan', 'workflow', 'task'] as const;
const PARTS = ['project', 'domain', 'name', 'version'] as const;

/** The field for a part of a definition's identifier. */
export const definitionField = (definition: (typeof DEFINITIONS)[number], part: (typeof PARTS)[number]): string =>
  `${definition}_${part}`;

const definitionFields: Collection['fields'] = Object.fromEntries(
  DEFINITIONS.flatMap((each) => [each, ...PARTS.map((part) => definitionField(each, part))].map((f) => [f, 'text'])),
);

const definitionColumns: Readonly<Record<string, Column>> = Object.fromEntries(
  DEFINITIONS.flatMap((each) =>
    PARTS.map((part) => [`${each}.${part}`, { field: definitionField(each, part), kind: 'text' }]),
  ),
);

/** Columns of tags. Tags have no documents of their own: their ids and times are of their execution's creation. */
const tagColumns: Readonly<Record<string, Column>> = Object.fromEntries(
  ['admin_tag', 'execution_tag'].flatMap((tag): readonly (readonly [string, Column])[] => [
    [`${tag}.id`, { field: 'recorded', kind: 'number' }],
    [`${tag}.created_at`, { field: 'created_at', kind: 'time' }],
    [`${tag}.updated_at`, { field: 'created_at', kind: 'time' }],
    [`${tag}.deleted_at`, { field: 'created_at', kind: 'opaque' }],
  ]),
);

/** The phases in which the text of an error can be searched. */
export const PHASES_WITH_ERROR: readonly (keyof typeof WorkflowExecution_Phase)[] = [
  'FAILING',
  'FAILED',
  'ABORTING',
  'ABORTED',
  'TIMED_OUT',
];

/** The fields that `originOf` sets from the event of the creation. Later folds copy them from the stored document. */
export const originFields: readonly string[] = [
  'recorded',
  'launch_entity',
  ...Object.keys(definitionFields),
  'source',
  'parent_node',
  'quality_of_service',
  'queueing_budget',
];

/** The stored executions, with indexes for what clients ask for, such as the newest of a scope, a phase or a user. */
export const executionCollection: Collection = {
  name: 'executions',
  version: 6,
  fields: {
    recorded: 'integer',
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
    error_message: 'text',
    abort_cause: 'text',
    abort_principal: 'text',
    user: 'text',
    cluster: 'text',
    launch_entity: 'text',
    outputs_at: 'integer',
    ...definitionFields,
    source: 'text',
    parent_node: 'text',
    quality_of_service: 'text',
    queueing_budget: 'integer',
    tags: 'pairs',
    start_delay: 'integer',
    duration_class: 'integer',
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
    [...ACTIVE, 'duration_class', 'created_at'],
    [...ACTIVE, 'start_delay'],
    [...ACTIVE, 'launch_plan_name', 'created_at'],
    [...ACTIVE, 'launch_plan_name', 'launch_plan_version', 'created_at'],
    [...ACTIVE, 'workflow_name', 'created_at'],
    [...ACTIVE, 'workflow_name', 'workflow_version', 'created_at'],
    [...ACTIVE, 'task_name', 'created_at'],
  ],
  carried: {
    [[...ACTIVE, 'duration_class', 'created_at'].join('.')]: ['duration'],
    [[...ACTIVE, 'updated_at'].join('.')]: ['phase'],
  },
  values: { phase: enumNames(WorkflowExecution_Phase), state: enumValues(ExecutionState) },
  searched: [{ field: 'name', scope: SCOPE, sort: 'created_at' }],
};

/** The columns for filters and sorts of executions. */
export const executionColumns: Columns = {
  entity: 'execution',
  shortName: 'e',
  byName: {
    id: { field: 'recorded', kind: 'number' },
    deleted_at: { field: 'created_at', kind: 'opaque' },
    execution_project: { field: 'project', kind: 'text' },
    execution_domain: { field: 'domain', kind: 'text' },
    execution_name: { field: 'name', kind: 'text' },
    project: { field: 'project', kind: 'text' },
    domain: { field: 'domain', kind: 'text' },
    name: { field: 'name', kind: 'text' },
    phase: { field: 'phase', kind: 'text', values: enumNames(WorkflowExecution_Phase) },
    state: { field: 'state', kind: 'number', names: ExecutionState },
    mode: { field: 'mode', kind: 'number', names: ExecutionMetadata_ExecutionMode },
    created_at: { field: 'created_at', kind: 'time' },
    updated_at: { field: 'updated_at', kind: 'time' },
    execution_created_at: { field: 'created_at', kind: 'time' },
    execution_updated_at: { field: 'updated_at', kind: 'time' },
    started_at: { field: 'started_at', kind: 'time', follows: { field: 'created_at', by: 'start_delay' } },
    duration: { field: 'duration', kind: 'duration', classes: { field: 'duration_class', classOf: durationClass } },
    error_kind: { field: 'error_kind', kind: 'text', values: enumNames(ExecutionError_ErrorKind) },
    error_code: { field: 'error_code', kind: 'text' },
    error_message: {
      field: 'error_message',
      kind: 'text',
      sort: false,
      within: [{ field: 'phase', is: 'in', values: PHASES_WITH_ERROR }],
    },
    abort_cause: { field: 'abort_cause', kind: 'text' },
    user: { field: 'user', kind: 'text' },
    cluster: { field: 'cluster', kind: 'text' },
    launch_entity: { field: 'launch_entity', kind: 'text' },
    quality_of_service: { field: 'quality_of_service', kind: 'text', values: enumNames(QualityOfService_Tier) },
    queueing_budget: { field: 'queueing_budget', kind: 'duration' },
    launch_plan_id: { field: 'launch_plan', kind: 'text' },
    workflow_id: { field: 'workflow', kind: 'text' },
    task_id: { field: 'task', kind: 'text' },
    source_execution_id: { field: 'source', kind: 'text' },
    parent_node_execution_id: { field: 'parent_node', kind: 'text' },
    closure: { field: 'created_at', kind: 'opaque' },
    spec: { field: 'created_at', kind: 'opaque' },
    inputs_uri: { field: 'created_at', kind: 'opaque' },
    user_inputs_uri: { field: 'created_at', kind: 'opaque' },
    ...definitionColumns,
    ...tagColumns,
    'admin_tag.name': { field: 'tags', kind: 'text', part: 'key' },
    'execution_tag.key': { field: 'tags', kind: 'text', part: 'key' },
    'execution_tag.value': { field: 'tags', kind: 'text', part: 'value' },
    'execution_tag.execution_project': { field: 'project', kind: 'text' },
    'execution_tag.execution_domain': { field: 'domain', kind: 'text' },
    'execution_tag.execution_name': { field: 'name', kind: 'text' },
  },
  labels: 'tags',
  links: { launch_plan: 'launch_plan', workflow: 'workflow', task: 'task' },
};
