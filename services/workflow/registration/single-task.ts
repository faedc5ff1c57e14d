import type { CompiledTask } from '../../../proto/gen/platformidl/core/compiler_pb.js';
import { singleTaskWorkflow } from '../../compiler/single-task.js';
import { type Version, versionOf } from '../../kernel/identifier.js';
import type { CommandContext, Sessions } from '../../kernel/ports/sessions.js';
import { workflowAggregate } from '../decider.js';
import { workflowStream } from '../events.js';
import type { Projects } from '../ports.js';
import { compiledFrom } from './compile.js';

export type SingleTaskServices = { readonly sessions: Sessions; readonly projects: Projects };

const UNLIMITED = { nodes: 0, closureBytes: 0 };

/**
 * Registers the workflow `.flytegen.<task>` that runs a single task, unless it exists.
 *
 * @returns the id of the workflow, also when it existed.
 * @throws {RpcError} INVALID_ARGUMENT when nothing can be registered in the task's project and domain, or the workflow
 * does not compile.
 */
export const registerSingleTaskWorkflow = async (
  { sessions, projects }: SingleTaskServices,
  task: CompiledTask,
  context: CommandContext,
): Promise<Version> => {
  if (task.template === undefined) throw new Error('the compiled task has no template');
  const { template } = singleTaskWorkflow(task.template);
  const id = versionOf('WORKFLOW', template.id);
  const isRegistered = await sessions.read(
    workflowAggregate,
    workflowStream(id),
    ({ state }) => state.digest !== undefined,
  );
  if (isRegistered) return id;
  const rejection = await projects.check(id.project, id.domain);
  if (rejection !== undefined) throw rejection;
  const requirements = { task: () => Promise.resolve(task), launchPlan: () => Promise.resolve(undefined) };
  const compiled = await compiledFrom(id, { template, subWorkflows: [] }, requirements, UNLIMITED);
  // The only refusals are of a workflow that exists: another request has registered it since it was looked for.
  await sessions.handle(workflowAggregate, workflowStream(id), { ...compiled, description: undefined }, context);
  return id;
};
