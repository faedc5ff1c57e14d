import { ResourceType } from '../../proto/gen/platformidl/core/identifier_pb.js';

/** The three kinds of definitions, as they are spelled in addresses. */
export type Kind = 'workflows' | 'tasks' | 'launch_plans';

type KindFacts = {
  readonly title: string;
  readonly one: string;
  readonly resourceType: ResourceType;
  readonly filteredBy: string;
};

export const KINDS: Readonly<Record<Kind, KindFacts>> = {
  workflows: { title: 'Workflows', one: 'Workflow', resourceType: ResourceType.WORKFLOW, filteredBy: 'workflow.name' },
  tasks: { title: 'Tasks', one: 'Task', resourceType: ResourceType.TASK, filteredBy: 'task.name' },
  launch_plans: {
    title: 'Launch plans',
    one: 'Launch plan',
    resourceType: ResourceType.LAUNCH_PLAN,
    filteredBy: 'launch_plan.name',
  },
};
