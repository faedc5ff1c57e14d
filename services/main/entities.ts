import { executionCollection, executionColumns } from '../../projections/executions/columns.js';
import type { LinkedEntities } from '../../projections/query/columns.js';
import { launchPlanCollection, launchPlanColumns } from '../../projections/launch-plans/columns.js';
import { nodeExecutionCollection, nodeExecutionColumns } from '../../projections/node-executions/columns.js';
import { taskCollection, taskColumns } from '../../projections/tasks/columns.js';
import { workflowCollection, workflowColumns } from '../../projections/workflows/columns.js';

/** The entities that a filter of another entity's list may name, by the prefix of the field (`workflow.name`). */
export const entities: LinkedEntities = new Map([
  ['execution', { collection: executionCollection, columns: executionColumns }],
  ['node_execution', { collection: nodeExecutionCollection, columns: nodeExecutionColumns }],
  ['launch_plan', { collection: launchPlanCollection, columns: launchPlanColumns }],
  ['workflow', { collection: workflowCollection, columns: workflowColumns }],
  ['task', { collection: taskCollection, columns: taskColumns }],
]);
