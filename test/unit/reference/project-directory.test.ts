import { create, toBinary } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';

import { Project_ProjectState as State, ProjectSchema } from '../../../proto/gen/platformidl/admin/project_pb.js';
import { ProjectRegisteredSchema } from '../../../proto/gen/platformidl/eventlog/project_pb.js';
import { projectStream } from '../../../services/project/events.js';
import { projectDirectory, projectFold } from '../../../services/reference/project-directory.js';
import { newEvent } from '../../support/streams/filled-log.js';

it('a project is read from its own stream until the events that were recorded at the start are folded', async () => {
  const project = { id: 'flytesnacks', state: State.ACTIVE };
  const registered = create(ProjectRegisteredSchema, { project });
  const fold = projectFold();
  fold.fold({
    ...newEvent('ProjectRegistered', toBinary(ProjectRegisteredSchema, registered)),
    stream: projectStream(project.id),
    revision: 0n,
    position: 1n,
  });
  const archived = create(ProjectSchema, { ...project, state: State.ARCHIVED });
  let isCaughtUp = false;
  const directory = projectDirectory({
    fold,
    following: { hasReached: () => isCaughtUp },
    domains: [],
    acknowledged: { ofStream: () => undefined },
    readProject: () => Promise.resolve({ state: { project: archived }, revision: 1n, position: 2n }),
  });
  expect(await directory.lifecycle(project.id)).toBe('inactive');
  isCaughtUp = true;
  expect(await directory.lifecycle(project.id)).toBe('active');
});
