import { descriptionEntities } from '../../projections/description-entities/projection.js';
import { executions } from '../../projections/executions/projection.js';
import type { ReadModel } from '../../projections/runtime/read-model.js';
import { launchPlans } from '../../projections/launch-plans/projection.js';
import { namedEntities } from '../../projections/named-entities/projection.js';
import { nodeExecutions } from '../../projections/node-executions/projection.js';
import { projects } from '../../projections/projects/projection.js';
import { signals } from '../../projections/signals/projection.js';
import { taskExecutions } from '../../projections/task-executions/projection.js';
import { tasks } from '../../projections/tasks/projection.js';
import { workflows } from '../../projections/workflows/projection.js';
import { ATTRIBUTES_CATEGORY, attributesCodec } from '../attributes/events.js';
import { ENGINE_SESSION_CATEGORY, engineSessionCodec } from '../engine-session/events.js';
import { DEAD_LETTER_CATEGORY, deadLetterCodec } from '../dead-letter/events.js';
import { executionCodec } from '../execution/events.js';
import type { EventCodec } from '../kernel/aggregate.js';
import { EXECUTION_CATEGORY } from '../kernel/execution-id.js';
import { PARKED_STREAM_CATEGORY, parkedStreamCodec } from '../parked-stream/events.js';
import { LOG_CATEGORY, logFormatCodec } from '../log-format/events.js';
import { LAUNCH_PLAN_CATEGORY, launchPlanCodec } from '../launch-plan/events.js';
import { NAMED_ENTITY_CATEGORY, namedEntityCodec } from '../named-entity/events.js';
import { SLOTS_CATEGORY, slotsCodec } from '../launch-plan-slots/events.js';
import { NOTIFICATION_CATEGORY, notificationCodec } from '../notification/events.js';
import { PROJECT_CATEGORY, projectCodec } from '../project/events.js';
import { ROLE_BINDING_CATEGORY, roleBindingCodec } from '../role-binding/events.js';
import { SCHEDULE_CATEGORY, scheduleCodec } from '../schedule/events.js';
import { TASK_CATEGORY, taskCodec } from '../task/events.js';
import { WORKFLOW_CATEGORY, workflowCodec } from '../workflow/events.js';
import { executionCollection, executionColumns } from '../../projections/executions/columns.js';
import type { LinkedEntities } from '../../projections/query/columns.js';
import { launchPlanCollection, launchPlanColumns } from '../../projections/launch-plans/columns.js';
import { nodeExecutionCollection, nodeExecutionColumns } from '../../projections/node-executions/columns.js';
import { taskCollection, taskColumns } from '../../projections/tasks/columns.js';
import { workflowCollection, workflowColumns } from '../../projections/workflows/columns.js';

/** Every read model. */
export const models: readonly ReadModel<unknown>[] = [
  executions,
  nodeExecutions,
  taskExecutions,
  tasks,
  workflows,
  launchPlans,
  namedEntities,
  descriptionEntities,
  signals,
  projects,
];

/** The entities that a filter of another entity's list may name, by the prefix of the field (`workflow.name`). */
export const entities: LinkedEntities = new Map([
  ['execution', { collection: executionCollection, columns: executionColumns }],
  ['node_execution', { collection: nodeExecutionCollection, columns: nodeExecutionColumns }],
  ['launch_plan', { collection: launchPlanCollection, columns: launchPlanColumns }],
  ['workflow', { collection: workflowCollection, columns: workflowColumns }],
  ['task', { collection: taskCollection, columns: taskColumns }],
]);

/** The codec of the events of each category: the part of a stream's name before the first dash. */
export const codecs: ReadonlyMap<string, EventCodec<unknown>> = new Map<string, EventCodec<unknown>>([
  [EXECUTION_CATEGORY, executionCodec],
  [TASK_CATEGORY, taskCodec],
  [WORKFLOW_CATEGORY, workflowCodec],
  [LAUNCH_PLAN_CATEGORY, launchPlanCodec],
  [SLOTS_CATEGORY, slotsCodec],
  [NOTIFICATION_CATEGORY, notificationCodec],
  [DEAD_LETTER_CATEGORY, deadLetterCodec],
  [PARKED_STREAM_CATEGORY, parkedStreamCodec],
  [SCHEDULE_CATEGORY, scheduleCodec],
  [ROLE_BINDING_CATEGORY, roleBindingCodec],
  [ENGINE_SESSION_CATEGORY, engineSessionCodec],
  [PROJECT_CATEGORY, projectCodec],
  [ATTRIBUTES_CATEGORY, attributesCodec],
  [NAMED_ENTITY_CATEGORY, namedEntityCodec],
  [LOG_CATEGORY, logFormatCodec],
]);
