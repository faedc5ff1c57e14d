import { create } from '@bufbuild/protobuf';
import { describe, it } from 'vitest';

import {
  type Project,
  Project_ProjectState as State,
  ProjectSchema,
} from '../../../proto/gen/platformidl/admin/project_pb.js';
import { ProjectRegisteredSchema, ProjectUpdatedSchema } from '../../../proto/gen/platformidl/eventlog/project_pb.js';
import { projectDecider } from '../../../services/project/decider.js';
import type { ProjectEvent } from '../../../services/project/events.js';
import { given } from '../../support/given.js';

const atlas = create(ProjectSchema, {
  id: 'atlas',
  name: 'Atlas',
  description: 'maps',
  labels: { values: { team: 'geo' } },
});
const registered = (project: Project): ProjectEvent => ({
  type: 'ProjectRegistered',
  data: create(ProjectRegisteredSchema, { project }),
});
const updated = (project: Project): ProjectEvent => ({
  type: 'ProjectUpdated',
  data: create(ProjectUpdatedSchema, { project }),
});

describe('a project', () => {
  it('is registered', () => {
    given(projectDecider).when({ type: 'RegisterProject', project: atlas }).then(registered(atlas));
  });

  it('is not registered twice', () => {
    given(projectDecider, registered(atlas))
      .when({ type: 'RegisterProject', project: atlas })
      .thenRefused({ kind: 'project-exists' });
  });

  it('is not updated before it is registered', () => {
    given(projectDecider).when({ type: 'UpdateProject', project: atlas }).thenRefused({ kind: 'project-unknown' });
  });

  it('keeps what an update leaves empty, but for the state', () => {
    const archived = create(ProjectSchema, { ...atlas, state: State.ARCHIVED });
    given(projectDecider, registered(atlas))
      .when({ type: 'UpdateProject', project: create(ProjectSchema, { id: 'atlas', state: State.ARCHIVED }) })
      .then(updated(archived));
    given(projectDecider, registered(atlas), updated(archived))
      .when({ type: 'UpdateProject', project: create(ProjectSchema, { id: 'atlas' }) })
      .then(updated(atlas));
  });

  it('takes a new name and description, and labels as a whole, even none', () => {
    const change = create(ProjectSchema, { id: 'atlas', name: 'A', description: 'b', labels: {} });
    given(projectDecider, registered(atlas)).when({ type: 'UpdateProject', project: change }).then(updated(change));
  });

  it('records nothing when an update changes nothing', () => {
    given(projectDecider, registered(atlas)).when({ type: 'UpdateProject', project: atlas }).thenNothing();
  });
});
