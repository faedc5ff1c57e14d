import { create, fromBinary, toBinary } from '@bufbuild/protobuf';

import { type Project, ProjectSchema } from '../../proto/gen/platformidl/admin/project_pb.js';
import type { ProjectEvent } from '../../services/project/events.js';
import type { ReadModel } from '../runtime/read-model.js';
import { projectCollection } from './columns.js';

/** A project, without the domains that all projects have. Times are microseconds since 1970. */
export type ProjectDocument = {
  readonly project: Project;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Position of its registration. */
  readonly recorded: number;
};

/** Projects, one document each, keyed by the project's stream. */
export const projects: ReadModel<ProjectDocument> = {
  collection: projectCollection,
  follows: ['ProjectRegistered', 'ProjectUpdated'],
  touches: ({ stream }) => [stream],
  fold: (document, { body, metadata, position }) => {
    const { project } = (body as ProjectEvent).data;
    const at = metadata.recordedAtMs * 1_000;
    const { createdAt = at, recorded = Number(position) } = document ?? {};
    return { project: project ?? create(ProjectSchema), createdAt, updatedAt: at, recorded };
  },
  store: (_, { project, createdAt, updatedAt, recorded }) => ({
    fields: {
      recorded,
      identifier: project.id,
      name: project.name,
      description: project.description,
      state: project.state,
      created_at: createdAt,
      updated_at: updatedAt,
    },
    answer: toBinary(ProjectSchema, { ...project, domains: [] }),
  }),
  load: ({ fields, answer }) => ({
    project: fromBinary(ProjectSchema, answer),
    createdAt: Number(fields['created_at']),
    updatedAt: Number(fields['updated_at']),
    recorded: Number(fields['recorded']),
  }),
};
