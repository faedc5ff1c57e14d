import type { Project } from '../../proto/gen/platformidl/admin/project_pb.js';
import type { ProjectEvent } from './events.js';

/** The current project; `undefined` before it is registered. */
export type ProjectState = { readonly project: Project | undefined };

export const initialProject = (): ProjectState => ({ project: undefined });

/** Both events contain the whole project. */
export const evolveProject = (_state: ProjectState, { data }: ProjectEvent): ProjectState => ({
  project: data.project,
});
