import type { Identifier } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import type { WorkflowTemplate } from '../../../proto/gen/platformidl/core/workflow_pb.js';
import { identifierKey } from '../identifier-key.js';
import { everyNode } from './node-walk.js';

/** Ids of the tasks and launch plans that a workflow refers to, sorted and without duplicates. */
export type RequiredVersions = { readonly tasks: readonly Identifier[]; readonly launchPlans: readonly Identifier[] };

/** Removes duplicates and sorts. */
const distinct = (ids: readonly Identifier[]): readonly Identifier[] =>
  [...new Map(ids.map((id) => [identifierKey(id), id]))].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, id]) => id);

const taskReferences = (template: WorkflowTemplate): readonly Identifier[] =>
  everyNode(template).flatMap(({ target }) => (target.case === 'taskNode' ? (target.value.reference.value ?? []) : []));

/**
 * True for the launch plan with the workflow's own id. It is registered after the workflow, so it cannot be looked up.
 */
export const isOwnLaunchPlan = (template: WorkflowTemplate, id: Identifier): boolean =>
  template.id !== undefined && identifierKey(template.id) === identifierKey(id);

const launchPlanReferences = (template: WorkflowTemplate): readonly Identifier[] =>
  everyNode(template).flatMap(({ target }) => {
    const reference = target.case === 'workflowNode' ? target.value.reference : undefined;
    if (reference?.case !== 'launchplanRef' || isOwnLaunchPlan(template, reference.value)) return [];
    return [reference.value];
  });

/** Lists the registered tasks and launch plans that must be looked up before a workflow can be compiled. */
export const requirementsOf = (
  template: WorkflowTemplate,
  subWorkflows: readonly WorkflowTemplate[],
): RequiredVersions => {
  const templates = [template, ...subWorkflows];
  return {
    tasks: distinct(templates.flatMap(taskReferences)),
    launchPlans: distinct(templates.flatMap(launchPlanReferences)),
  };
};
