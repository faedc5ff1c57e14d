import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { executionCollection } from '../../../projections/executions/columns.js';
import { durationClass } from '../../../projections/query/duration-class.js';
import type { Collection, ReadStore, StoredDocument } from '../../../projections/runtime/read-store.js';
import { launchPlanCollection } from '../../../projections/launch-plans/columns.js';
import { namedEntityCollection } from '../../../projections/named-entities/columns.js';
import { nodeExecutionCollection } from '../../../projections/node-executions/columns.js';
import { projectCollection } from '../../../projections/projects/columns.js';
import { sqliteReadStore, type SqliteReadStore } from '../../../projections/store/sqlite/sqlite-read-store.js';
import { taskExecutionCollection } from '../../../projections/task-executions/columns.js';
import { taskCollection } from '../../../projections/tasks/columns.js';
import { workflowCollection } from '../../../projections/workflows/columns.js';

type Fields = StoredDocument['fields'];

/** The project and domain of all documents. */
export const SCOPE = { project: 'p', domain: 'd' } as const;
const PHASES = ['SUCCEEDED', 'FAILED', 'RUNNING', 'ABORTED', 'SUCCEEDED'];
/** In microseconds. */
const SECOND = 1_000_000;
/** The creation time of the first execution, in microseconds since 1970; each next one is a second later. */
export const FIRST_AT = Date.UTC(2026, 0, 1) * 1_000;

/** Words in searched texts: one document has a rare word, every twentieth has another, and every second a third. */
const words = (index: number): string => {
  if (index === 37) return '-oddity';
  if (index % 20 === 7) return '-nightly';
  return index % 2 === 0 ? '-stable' : '';
};

/** A number with seven digits, so that names sort as their numbers do. */
const digits = (index: number): string => String(index).padStart(7, '0');

/** The duration of an execution in microseconds: some minutes at most for every second, hours for the others. */
const durationOf = (index: number): number => {
  const part = (index * 37) % 4_000;
  return index % 2 === 0 ? part * 100_000 : 6_000 * SECOND + part * 2_400_000;
};

/** An execution that an engine starts within seconds. */
const execution = (index: number): Fields => {
  const created = FIRST_AT + index * SECOND;
  const delay = ((index * 7) % 4) * SECOND;
  const duration = durationOf(index);
  const plan = { name: `plan-${index % 4}`, version: `v${Math.floor(index / 4) % 2}` };
  return {
    ...SCOPE,
    name: `e${digits(index)}${words(index)}`,
    phase: PHASES[index % PHASES.length] ?? null,
    state: 0,
    mode: index % 3,
    user: `user-${index % 4}`,
    created_at: created,
    updated_at: created + delay + duration,
    started_at: created + delay,
    start_delay: delay,
    duration,
    duration_class: durationClass(duration),
    launch_plan_project: SCOPE.project,
    launch_plan_domain: SCOPE.domain,
    launch_plan_name: plan.name,
    launch_plan_version: plan.version,
    workflow_name: plan.name,
    workflow_version: plan.version,
    task_name: index % 2 ? 'task' : null,
    recorded: index,
  };
};

/** A version of one of two tasks. */
const version = (index: number): Fields => ({
  ...SCOPE,
  name: `name-${index % 2}`,
  version: `v${Math.floor(index / 2)}${words(Math.floor(index / 2))}`,
  created_at: FIRST_AT + index * SECOND,
  updated_at: FIRST_AT + index * SECOND,
  recorded: index,
});

const plan = (index: number): Fields => ({
  ...version(index),
  state: index % 3 === 0 ? 1 : 0,
  schedule_type: ['NONE', 'NONE', 'CRON', 'RATE'][index % 4] ?? null,
  workflow_name: `workflow-${index % 2}`,
  workflow_version: `v${Math.floor(index / 2) % 2}`,
});

const node = (index: number): Fields => ({
  execution: 'execution-p:d:e',
  parent: '',
  node_id: `n${digits(index)}`,
  phase: 'SUCCEEDED',
  created_at: FIRST_AT + index,
});

/** Two documents of each of many names. */
const workflow = (index: number): Fields => {
  const at = Math.floor(index / 2);
  return { ...version(index), name: `workflow-${digits(at)}${words(at)}` };
};

/** A name; every third is archived, and every fourth was made by the control plane. */
const named = (index: number): Fields => ({
  ...SCOPE,
  resource_type: 2,
  name: `${index % 4 === 3 ? '.flytegen.' : ''}workflow-${digits(index)}${words(index)}`,
  state: index % 3 === 2 ? 1 : 0,
  description: '',
  generated: index % 4 === 3 ? 1 : 0,
});

/** An attempt of one of many nodes, which have four each. */
const attempt = (index: number): Fields => ({
  node: `execution-p:d:e/n${Math.floor(index / 4)}`,
  retry_attempt: index % 4,
  phase: 'SUCCEEDED',
  created_at: FIRST_AT + index,
});

const project = (index: number): Fields => ({
  identifier: `project-${digits(index)}`,
  name: `project ${index}`,
  state: index % 5 === 4 ? 1 : 0,
  created_at: FIRST_AT + index * SECOND,
  recorded: index,
});

const MADE: readonly (readonly [Collection, (index: number) => Fields])[] = [
  [executionCollection, execution],
  [taskCollection, version],
  [launchPlanCollection, plan],
  [nodeExecutionCollection, node],
  [workflowCollection, workflow],
  [namedEntityCollection, named],
  [taskExecutionCollection, attempt],
  [projectCollection, project],
];

/** The number of documents in one write. */
const BATCH = 5_000;

/**
 * Writes `count` executions, and half as many tasks, launch plans, nodes of one execution, workflows, named entities,
 * attempts and projects, all with the same stored `response`.
 */
export const fillWithMany = async (store: ReadStore, count: number, response: Uint8Array): Promise<void> => {
  await store.prepare(MADE.map(([collection]) => collection));
  for (const [collection, fieldsOf] of MADE) {
    const end = collection === executionCollection ? count : count / 2;
    for (let first = 0; first < end; first += BATCH) {
      const documents = Array.from({ length: Math.min(BATCH, end - first) }, (_, i) => ({
        collection,
        document: { key: `k${digits(first + i)}`, position: 1n, fields: fieldsOf(first + i), response },
      }));
      const name = `${collection.name} ${first}`;
      await store.write({ documents, checkpoints: [{ name, from: undefined, to: { logId: 'l', position: 1n } }] });
    }
  }
};

/** Opens a store in a new directory, filled as by {@link fillWithMany}; the caller closes and removes it. */
export const storeOfMany = async (
  count: number,
  response: Uint8Array,
): Promise<{ store: SqliteReadStore; directory: string }> => {
  const directory = mkdtempSync(join(tmpdir(), 'flightlog-many-'));
  const store = sqliteReadStore({ directory, mode: 'read-write', isGrowing: true, queryLimitMs: 60_000 });
  await fillWithMany(store, count, response);
  await store.finish();
  return { store, directory };
};
