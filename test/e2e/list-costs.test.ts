import { rmSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { executionCollection, executionColumns } from '../../projections/executions/columns.js';
import type { Columns } from '../../projections/kernel/columns.js';
import { listMessage } from '../../projections/kernel/list-message.js';
import { type Listed, listPage, type ListRequest, type Scope } from '../../projections/kernel/list-query.js';
import type { Collection, Condition, Query } from '../../projections/kernel/read-store.js';
import { launchPlanCollection, launchPlanColumns } from '../../projections/launch-plans/columns.js';
import { nodeExecutionCollection, nodeExecutionColumns } from '../../projections/node-executions/columns.js';
import { servingReadStore } from '../../projections/store/serving-read-store.js';
import type { SqliteReadStore } from '../../projections/store/sqlite-read-store.js';
import { taskCollection, taskColumns } from '../../projections/tasks/columns.js';
import { FIRST_AT, SCOPE, storeOfMany } from '../support/many-documents.js';

const LIMIT = 25;
const ANSWER_BYTES = 600;
const MEBIBYTE = 1_048_576;

type List = {
  readonly collection: Collection;
  readonly columns: Columns;
  readonly order: string;
  readonly scope: Scope;
};

const equal = (fields: Readonly<Record<string, string | number>>): readonly Condition[] =>
  Object.entries(fields).map(([field, value]) => ({ field, is: '=', value }));

const executions: List = {
  collection: executionCollection,
  columns: executionColumns,
  order: 'created_at',
  scope: { where: equal(SCOPE), unlessNamed: equal({ state: 0 }) },
};
const tasks: List = {
  collection: taskCollection,
  columns: taskColumns,
  order: 'recorded',
  scope: { where: equal(SCOPE) },
};
const tasksOfName: List = { ...tasks, scope: { where: equal({ ...SCOPE, name: 'name-1' }) } };
const plans: List = { ...tasks, collection: launchPlanCollection, columns: launchPlanColumns };
const nodes: List = {
  collection: nodeExecutionCollection,
  columns: nodeExecutionColumns,
  order: 'created_at',
  scope: { where: equal({ execution: 'execution-p:d:e', parent: '' }) },
};

const CREATED = { key: 'created_at', direction: 0 };
const at = (seconds: number): string => new Date(FIRST_AT / 1_000 + seconds * 1_000).toISOString();

/** What the command line, the Python SDK and the web console ask for; `count` is how many documents there are. */
const ASKED: readonly (readonly [string, List, (count: number) => Partial<ListRequest>])[] = [
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
    'gt(duration,60)',
    'lt(duration,120)',
    'gt(duration,60)+lt(duration,300)',
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
];

/** So few fit that there is no such page. */
const FEW: ReadonlySet<string> = new Set(['some versions of a task', 'a version of tasks']);

type Costs = { keys: number; documents: number; elements: number };

describe.each([100, 100_000])('a page of %i', (count) => {
  let store: SqliteReadStore;
  let directory: string;
  beforeAll(async () => {
    ({ store, directory } = await storeOfMany(count, new Uint8Array(ANSWER_BYTES)));
  }, 180_000);
  afterAll(async () => {
    await store.close();
    rmSync(directory, { recursive: true });
  });

  /** Answers a request, and adds up what everything that was asked of the store has looked at. */
  const page = async (
    { scope, order, ...list }: List,
    request: Partial<ListRequest>,
  ): Promise<Costs & { token: string }> => {
    const costs = { keys: 0, documents: 0 };
    const counted = async (collection: Collection, query: Query, method: 'find' | 'findDistinct'): Promise<void> => {
      const { keys, documents } = await store.examined(collection, query, method);
      costs.keys += keys;
      costs.documents += documents;
    };
    const counting = {
      ...store,
      find: async (collection: Collection, query: Query) => {
        await counted(collection, query, 'find');
        return store.find(collection, query);
      },
      findDistinct: async (collection: Collection, query: Query) => {
        await counted(collection, query, 'findDistinct');
        return store.findDistinct(collection, query);
      },
    };
    const direction = list.collection === nodeExecutionCollection ? 'ascending' : 'descending';
    const listed: Listed = { rpc: 'List', store: counting, ...list, order: { field: order, direction } };
    const { elements, token } = await listPage(listed, scope, {
      limit: LIMIT,
      token: '',
      filters: '',
      ...request,
    });
    return { ...costs, elements: elements.length, token };
  };

  const expectCheap = ({ keys, documents }: Costs): void => {
    expect(keys).toBeLessThanOrEqual(5 * LIMIT);
    expect(documents).toBeLessThanOrEqual(2 * LIMIT);
  };

  it.each(ASKED)('costs what it shows: %s', async (_, list, requestOf) => {
    const first = await page(list, requestOf(count));
    expect(first.elements).toBeGreaterThan(0);
    expectCheap(first);
  });

  it.runIf(count > 500 * LIMIT).each(ASKED)('costs no more as the 500th: %s', async (name, list, requestOf) => {
    const { token, elements } = await page(list, { ...requestOf(count), token: String(498 * LIMIT) });
    if (FEW.has(name)) return;
    expect(elements).toBe(LIMIT);
    const fiveHundredth = await page(list, { ...requestOf(count), token });
    expect(fiveHundredth.elements).toBe(LIMIT);
    expectCheap(fiveHundredth);
  });

  it('of all that there is takes memory for little more than the answer', async () => {
    const { order, scope, ...list } = executions;
    const serving = servingReadStore({ directory });
    const listed: Listed = { rpc: 'List', store: serving, ...list, order: { field: order, direction: 'descending' } };
    const request = { limit: 4_294_967_295, token: '', filters: '' };
    await listPage(listed, scope, { ...request, limit: 200 }); // starts the thread
    const before = process.memoryUsage().rss;
    let most = before;
    const sampling = setInterval(() => {
      most = Math.max(most, process.memoryUsage().rss);
    }, 2);
    const { elements, token } = await listPage(listed, scope, request);
    const message = listMessage({ elements: 1, token: 2 }, elements, token);
    most = Math.max(most, process.memoryUsage().rss);
    clearInterval(sampling);
    expect([elements.length, token]).toEqual([count, '']);
    expect(message.length).toBeGreaterThan(count * ANSWER_BYTES);
    expect((most - before) / MEBIBYTE).toBeLessThan((2 * message.length) / MEBIBYTE + 64);
    await serving.close();
  });
});
