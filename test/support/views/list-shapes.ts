import { executionCollection, executionColumns } from '../../../projections/executions/columns.js';
import type { Columns } from '../../../projections/query/columns.js';
import type { Listed, ListRequest, ListScope } from '../../../projections/query/list-query.js';
import type { Collection, Condition } from '../../../projections/runtime/read-store.js';
import { launchPlanCollection, launchPlanColumns } from '../../../projections/launch-plans/columns.js';
import { namedEntityCollection, namedEntityColumns } from '../../../projections/named-entities/columns.js';
import { nodeExecutionCollection, nodeExecutionColumns } from '../../../projections/node-executions/columns.js';
import { projectCollection, projectColumns } from '../../../projections/projects/columns.js';
import { taskExecutionCollection, taskExecutionColumns } from '../../../projections/task-executions/columns.js';
import { taskCollection, taskColumns } from '../../../projections/tasks/columns.js';
import { workflowCollection, workflowColumns } from '../../../projections/workflows/columns.js';
import { FIRST_AT, SCOPE } from './many-documents.js';

// Numbers of the interface that the lists name: `state` 0 is active (or, of launch plans, inactive) and 1 is archived
// (or active), `resource_type` 2 is a workflow, and `direction` 0 is descending and 1 ascending.

/** The list that one list RPC answers: its collection, order and scope. */
export type ListShape = {
  readonly collection: Collection;
  readonly columns: Columns;
  /** The field by which the list is sorted by default. */
  readonly order: string;
  readonly scope: ListScope;
  /** Descending by default. */
  readonly direction?: Listed['order']['direction'];
  /** Each value of `order` once, as List*Ids answer. */
  readonly isOfNames?: true;
};

/** Conditions that fields have these values. */
const equal = (fields: Readonly<Record<string, string | number>>): readonly Condition[] =>
  Object.entries(fields).map(([field, value]) => ({ field, is: '=', value }));

/** The executions of the scope. */
export const executions: ListShape = {
  collection: executionCollection,
  columns: executionColumns,
  order: 'created_at',
  scope: { where: equal(SCOPE), unlessNamed: equal({ state: 0 }) },
};
const tasks: ListShape = {
  collection: taskCollection,
  columns: taskColumns,
  order: 'recorded',
  scope: { where: equal(SCOPE) },
};
const tasksOfName: ListShape = { ...tasks, scope: { where: equal({ ...SCOPE, name: 'name-1' }) } };
const plans: ListShape = { ...tasks, collection: launchPlanCollection, columns: launchPlanColumns };
const nodes: ListShape = {
  collection: nodeExecutionCollection,
  columns: nodeExecutionColumns,
  order: 'created_at',
  scope: { where: equal({ execution: 'execution-p:d:e', parent: '' }) },
  direction: 'ascending',
};
const attempts: ListShape = {
  collection: taskExecutionCollection,
  columns: taskExecutionColumns,
  order: 'created_at',
  scope: { where: equal({ node: 'execution-p:d:e/n3' }) },
  direction: 'ascending',
};
const workflows: ListShape = { ...tasks, collection: workflowCollection, columns: workflowColumns };
const names: ListShape = {
  collection: namedEntityCollection,
  columns: namedEntityColumns,
  order: 'name',
  scope: { where: equal({ resource_type: 2, ...SCOPE }), unlessFiltered: equal({ generated: 0 }) },
  direction: 'ascending',
};
const projects: ListShape = {
  collection: projectCollection,
  columns: projectColumns,
  order: 'identifier',
  scope: { where: [], unlessFiltered: [{ field: 'state', is: '<>', value: 1 }] },
  direction: 'ascending',
};
/** The list of the names in another list. */
const idsOf = (list: ListShape): ListShape => ({ ...list, order: 'name', direction: 'ascending', isOfNames: true });

const plansOfName: ListShape = { ...plans, scope: tasksOfName.scope };

const CREATED = { key: 'created_at', direction: 0 };
const BY_NAME = { key: 'name', direction: 1 };
/** The creation time of the execution with this number, as a filter has it. */
const at = (seconds: number): string => new Date(FIRST_AT / 1_000 + seconds * 1_000).toISOString();

/** Texts that are in one name or version, every twentieth, every second or none; some of them resemble another. */
const SEARCHED = ['oddity', 'nightly', 'stable', '37-odd', 'stab_e', 'nobody', 'table-night'] as const;

/** True for texts that match no document. */
const isAbsent = (text: string): boolean => text === 'nobody' || text === 'table-night';

/** Lists that are searched for a text, each with every text of `SEARCHED`. */
const SEARCHES = (
  [
    ['executions', 'name', executions, CREATED],
    ['executions, the oldest first,', 'name', executions, { key: 'created_at', direction: 1 }],
    ['workflows', 'name', workflows, CREATED],
    ['versions of a task', 'version', tasksOfName, CREATED],
    ['versions of a launch plan', 'version', plansOfName, CREATED],
    ['names', 'name', names, BY_NAME],
  ] as const
).flatMap(([what, field, list, sortBy]) =>
  SEARCHED.map(
    (text) =>
      [`${what} with the ${field} …${text}…`, list, () => ({ filters: `contains(${field},${text})`, sortBy })] as const,
  ),
);

/** The names of the searches for the texts that `isWanted` accepts. */
const searchesFor = (isWanted: (text: string) => boolean): readonly string[] =>
  SEARCHES.map(([name]) => name).filter((name) => isWanted(name.split('…')[1] ?? ''));

/** The searches that match no document. */
export const ABSENT: ReadonlySet<string> = new Set(searchesFor(isAbsent));

/** Lists as the command line, the Python SDK and the web console request them; `count` is the number of executions. */
export const ASKED: readonly (readonly [string, ListShape, (count: number) => Partial<ListRequest>])[] = [
  ['executions, the newest', executions, () => ({})],
  ['executions as the command line asks', executions, () => ({ sortBy: CREATED })],
  ['executions, the oldest first', executions, () => ({ sortBy: { key: 'created_at', direction: 1 } })],
  ...['updated_at', 'started_at', 'duration'].map(
    (key) => [`executions by ${key}`, executions, () => ({ sortBy: { key, direction: 0 } })] as const,
  ),
  ...[
    'eq(state,0)',
    'eq(phase,SUCCEEDED)',
    'value_in(phase,SUCCEEDED;FAILED)',
    'ne(phase,SUCCEEDED)',
    'eq(mode,1)',
    'ne(mode,1)',
    'eq(user,user-1)',
    'eq(launch_plan.name,plan-1)',
    'eq(launch_plan.name,plan-1)+eq(launch_plan.version,v1)',
    'eq(workflow.name,plan-2)',
    'eq(workflow.name,plan-2)+eq(workflow.version,v0)',
    'eq(task.name,task)',
    'eq(launch_plan.project,p)+eq(launch_plan.domain,d)+eq(launch_plan.name,plan-1)+eq(launch_plan.version,v1)',
    'eq(launch_plan.project,p)',
    'eq(launch_plan.domain,d)',
    'gt(duration,60)',
    'lt(duration,120)',
    'gt(duration,60)+lt(duration,300)',
    // The web console's: below an hour, above it, two to three hours, and three to four.
    'lt(duration,3600)',
    'gt(duration,3600)',
    'gte(duration,7200)+lte(duration,10800)',
    'gte(duration,10800)+lt(duration,14400)',
  ].map((filters) => [`executions with ${filters}`, executions, () => ({ filters, sortBy: CREATED })] as const),
  [
    'executions started since',
    executions,
    (count) => ({ filters: `gte(started_at,${at(count / 4)})`, sortBy: CREATED }),
  ],
  [
    'executions started until',
    executions,
    (count) => ({ filters: `lte(started_at,${at(count / 2)})`, sortBy: CREATED }),
  ],
  [
    'executions started between, the oldest first',
    executions,
    (count) => ({
      filters: `gte(started_at,${at(count / 4)})+lte(started_at,${at((3 * count) / 4)})`,
      sortBy: { key: 'created_at', direction: 1 },
    }),
  ],
  ['versions of all tasks', tasks, () => ({ sortBy: CREATED })],
  ['versions of a task', tasksOfName, () => ({ sortBy: CREATED })],
  ['a task of a name', tasks, () => ({ filters: 'eq(name,name-1)', sortBy: CREATED })],
  ['some versions of a task', tasksOfName, () => ({ filters: 'value_in(version,v1;v3;v5)', sortBy: CREATED })],
  ['versions with a text that most have', tasksOfName, () => ({ filters: 'contains(version,v)', sortBy: CREATED })],
  ['a version of tasks', tasks, () => ({ filters: 'eq(version,v3)', sortBy: CREATED })],
  ['tasks by name', tasks, () => ({ sortBy: { key: 'name', direction: 1 } })],
  ['launch plans, the newest', plans, () => ({ sortBy: CREATED })],
  ['active launch plans', plans, () => ({ filters: 'eq(state,1)', sortBy: CREATED })],
  ['launch plans with a schedule', plans, () => ({ filters: 'ne(schedule_type,NONE)', sortBy: CREATED })],
  ['launch plans of a workflow', plans, () => ({ filters: 'eq(workflow.name,workflow-1)', sortBy: CREATED })],
  [
    'launch plans of a version of a workflow',
    plans,
    () => ({ filters: 'eq(workflow.name,workflow-1)+eq(workflow.version,v1)', sortBy: CREATED }),
  ],
  ['nodes of an execution', nodes, () => ({})],
  ['attempts of a node', attempts, () => ({})],
  ['an attempt of a node', attempts, () => ({ filters: 'eq(retry_attempt,2)' })],
  ['workflows, the newest', workflows, () => ({ sortBy: CREATED })],
  ['workflows with a text in the name', workflows, () => ({ filters: 'contains(name,flow)', sortBy: CREATED })],
  ['a workflow of a name', workflows, () => ({ filters: 'eq(name,workflow-0000009)', sortBy: CREATED })],
  ['names of tasks', idsOf(tasks), () => ({})],
  ['names of workflows', idsOf(workflows), () => ({})],
  ['names of launch plans', idsOf(plans), () => ({})],
  ['named entities', names, () => ({})],
  ['names that are not archived', names, () => ({ filters: 'eq(state,0)', sortBy: BY_NAME })],
  ['names that are archived', names, () => ({ filters: 'eq(state,1)', sortBy: BY_NAME })],
  ['names with a text', names, () => ({ filters: 'contains(name,flow)+eq(state,0)', sortBy: BY_NAME })],
  ['projects', projects, () => ({})],
  ['a project of an id', projects, () => ({ filters: 'eq(identifier,project-0000042)', sortBy: CREATED })],
  ...SEARCHES,
];

/** The searches that match every twentieth document. */
export const SOME: ReadonlySet<string> = new Set(searchesFor((text) => text === 'nightly'));

/** The lists and searches that have too few documents for a page. */
export const FEW: ReadonlySet<string> = new Set([
  ...searchesFor((text) => isAbsent(text) || text.includes('odd')),
  'some versions of a task',
  'a version of tasks',
  'attempts of a node',
  'an attempt of a node',
  'a workflow of a name',
  'names of tasks',
  'names of launch plans',
  'a project of an id',
]);
