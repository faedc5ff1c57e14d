import { create } from '@bufbuild/protobuf';

import { ProjectSchema } from '../../proto/gen/platformidl/admin/project_pb.js';
import type { Sessions } from '../kernel/ports/sessions.js';
import { projectAggregate } from './decider.js';
import { projectStream } from './events.js';

/** A project from the settings. */
export type ConfiguredProject = { readonly id: string; readonly name: string; readonly description: string };

/** Registers the projects from the settings; existing projects are not changed. */
export const registerConfiguredProjects = async (
  projects: readonly ConfiguredProject[],
  sessions: Sessions,
): Promise<void> => {
  for (const { id, name, description } of projects) {
    const project = create(ProjectSchema, { id, name, description });
    const context = { actor: '', commandId: `configured project ${id}` };
    await sessions.handle(projectAggregate, projectStream(id), { type: 'RegisterProject', project }, context);
  }
};
