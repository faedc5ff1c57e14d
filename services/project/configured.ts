import { create } from '@bufbuild/protobuf';

import { ProjectSchema } from '../../proto/gen/platformidl/admin/project_pb.js';
import type { Sessions } from '../kernel/ports/sessions.js';
import { projectAggregate } from './decider.js';
import { projectStream } from './events.js';

export type ConfiguredProject = { readonly id: string; readonly name: string; readonly description: string };

/** The beginning of the command id; the id of the project follows. */
const COMMAND = 'configured project ';

/** True for the command id of the registration of a project from the settings. */
export const isOfConfiguredProject = (commandId: string): boolean => commandId.startsWith(COMMAND);

/**
 * Registers the projects from the settings; existing projects are not changed.
 *
 * @returns true when it has registered any.
 */
export const registerConfiguredProjects = async (
  projects: readonly ConfiguredProject[],
  sessions: Sessions,
): Promise<boolean> => {
  let hasRegistered = false;
  for (const { id, name, description } of projects) {
    const project = create(ProjectSchema, { id, name, description });
    const context = { actor: '', commandId: `${COMMAND}${id}` };
    const command = { type: 'RegisterProject', project } as const;
    const { kind } = await sessions.handle(projectAggregate, projectStream(id), command, context);
    hasRegistered ||= kind === 'accepted';
  }
  return hasRegistered;
};
