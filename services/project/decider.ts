import { create, equals } from '@bufbuild/protobuf';

import { type Project, ProjectSchema } from '../../proto/gen/platformidl/admin/project_pb.js';
import { ProjectRegisteredSchema, ProjectUpdatedSchema } from '../../proto/gen/platformidl/eventlog/project_pb.js';
import type { Aggregate, Decider, Decision } from '../kernel/aggregate.js';
import type { ProjectCommand } from './commands.js';
import { PROJECT_CATEGORY, projectCodec, type ProjectEvent } from './events.js';
import { evolveProject, initialProject, type ProjectState } from './state.js';

export type ProjectRefusal = { readonly kind: 'project-exists' | 'project-unknown' };

type ProjectDecision = Decision<ProjectEvent, ProjectRefusal>;

const register = ({ project: known }: ProjectState, project: Project): ProjectDecision =>
  known === undefined
    ? {
        kind: 'accepted',
        events: [{ type: 'ProjectRegistered', data: create(ProjectRegisteredSchema, { project }) }],
      }
    : { kind: 'refused', refusal: { kind: 'project-exists' } };

const updated = (known: Project, { name, description, labels, state }: Project): Project => {
  const newLabels = labels ?? known.labels;
  return create(ProjectSchema, {
    id: known.id,
    name: name || known.name,
    description: description || known.description,
    ...(newLabels && { labels: newLabels }),
    state,
  });
};

const update = ({ project: known }: ProjectState, project: Project): ProjectDecision => {
  if (known === undefined) return { kind: 'refused', refusal: { kind: 'project-unknown' } };
  const next = updated(known, project);
  return {
    kind: 'accepted',
    events: equals(ProjectSchema, known, next)
      ? []
      : [{ type: 'ProjectUpdated', data: create(ProjectUpdatedSchema, { project: next }) }],
  };
};

export const projectDecider: Decider<ProjectState, ProjectCommand, ProjectEvent, ProjectRefusal> = {
  initial: initialProject,
  evolve: evolveProject,
  decide: (state, { type, project }) =>
    type === 'RegisterProject' ? register(state, project) : update(state, project),
};

const STATE_BYTES = 1_000;
const LABEL_BYTES = 64;

/** The approximate memory of the labels, in bytes. */
const sizeOfLabels = ({ project }: ProjectState): number =>
  Object.entries(project?.labels?.values ?? {}).reduce(
    (bytes, [key, value]) => bytes + LABEL_BYTES + key.length + value.length,
    0,
  );

export const projectAggregate: Aggregate<ProjectState, ProjectCommand, ProjectEvent, ProjectRefusal> = {
  category: PROJECT_CATEGORY,
  decider: projectDecider,
  codec: projectCodec,
  payloadScope: ({ project }) => `definitions/${project.id}`,
  isPermanentRefusal: ({ kind }) => kind === 'project-exists',
  sizeOf: (state) => STATE_BYTES + sizeOfLabels(state),
};
