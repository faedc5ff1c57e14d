import { ResourceType } from '../../proto/gen/platformidl/core/identifier_pb.js';

/** The three kinds of definitions, as URL paths spell them. */
export type Kind = 'workflows' | 'tasks' | 'launch_plans';

type KindInfo = {
  /** The plural. */
  readonly title: string;
  /** The singular. */
  readonly one: string;
  readonly resourceType: ResourceType;
  /** The field of a filter that selects the executions of a definition by its name. */
  readonly filteredBy: string;
  /** The text in place of its last runs. */
  readonly notRun: string;
};

const NOT_RUN = 'It has not run, or its runs are archived.';
const NOT_RUN_ALONE =
  'It was not launched by itself, or that is archived. Its runs in workflows are on the pages of their executions.';

export const KINDS: Readonly<Record<Kind, KindInfo>> = {
  workflows: {
    title: 'Workflows',
    one: 'Workflow',
    resourceType: ResourceType.WORKFLOW,
    filteredBy: 'workflow.name',
    notRun: NOT_RUN,
  },
  tasks: {
    title: 'Tasks',
    one: 'Task',
    resourceType: ResourceType.TASK,
    filteredBy: 'task.name',
    notRun: NOT_RUN_ALONE,
  },
  launch_plans: {
    title: 'Launch plans',
    one: 'Launch plan',
    resourceType: ResourceType.LAUNCH_PLAN,
    filteredBy: 'launch_plan.name',
    notRun: NOT_RUN,
  },
};
