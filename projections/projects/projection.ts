import { create, fromBinary, toBinary } from '@bufbuild/protobuf';

import { type Project, ProjectSchema } from '../../proto/gen/platformidl/admin/project_pb.js';
import type { ProjectEvent } from '../../services/project/events.js';
import type { SeenEvent } from '../runtime/read-model.js';
import { readModel } from '../runtime/typed-read-model.js';
import { projectCollection } from './columns.js';

/** A project, without the domains that all projects have. Times are microseconds since 1970. */
export type ProjectDocument = {
  readonly project: Project;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** Position of its registration. */
  readonly recorded: number;
};

const changed = (
  document: ProjectDocument | undefined,
  { body, metadata, position }: SeenEvent<ProjectEvent>,
): ProjectDocument => {
  const at = metadata.recordedAtMs * 1_000;
  const { createdAt = at, recorded = Number(position) } = document ?? {};
  return { project: body.data.project ?? create(ProjectSchema), createdAt, updatedAt: at, recorded };
};

/** Projects, one document each, keyed by the project's stream. */
export const projects = readModel<ProjectDocument, ProjectEvent>({
  collection: projectCollection,
  handlers: { ProjectRegistered: { fold: changed }, ProjectUpdated: { fold: changed } },
  encode: (_, { project, createdAt, updatedAt, recorded }) => ({
    fields: {
      recorded,
      identifier: project.id,
      name: project.name,
      description: project.description,
      state: project.state,
      created_at: createdAt,
      updated_at: updatedAt,
    },
    response: toBinary(ProjectSchema, { ...project, domains: [] }),
  }),
  decode: ({ fields, response }) => ({
    project: fromBinary(ProjectSchema, response),
    createdAt: Number(fields['created_at']),
    updatedAt: Number(fields['updated_at']),
    recorded: Number(fields['recorded']),
  }),
});
