import type { Project } from '../../proto/gen/platformidl/admin/project_pb.js';
import type { ProjectEvent } from './events.js';

/** The project as it is now; `undefined` before it is registered. */
export type ProjectState = { readonly project: Project | undefined };

export const initialProject = (): ProjectState => ({ project: undefined });

/** Both events carry the project as a whole. */
export const evolveProject = (_state: ProjectState, { data }: ProjectEvent): ProjectState => ({
  project: data.project,
});
