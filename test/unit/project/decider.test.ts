import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import {
  type Project,
  Project_ProjectState as State,
  ProjectSchema,
} from '../../../proto/gen/platformidl/admin/project_pb.js';
import { ProjectRegisteredSchema, ProjectUpdatedSchema } from '../../../proto/gen/platformidl/eventlog/project_pb.js';
import { projectAggregate, projectDecider } from '../../../services/project/decider.js';
import type { ProjectEvent } from '../../../services/project/events.js';
import { given } from '../../support/streams/given.js';

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

describe('the stream of a project', () => {
  it('keeps large contents in the scope of the project', () => {
    expect(projectAggregate.payloadScope({ type: 'RegisterProject', project: atlas })).toBe('definitions/atlas');
  });

  it('permanently refuses what exists, and not what may be registered later', () => {
    expect(projectAggregate.isPermanentRefusal({ kind: 'project-exists' })).toBe(true);
    expect(projectAggregate.isPermanentRefusal({ kind: 'project-unknown' })).toBe(false);
  });

  it('is counted with more memory for each label, by the length of its key and value', () => {
    const sizeWith = (values: Record<string, string>): number =>
      projectAggregate.sizeOf(
        projectDecider.evolve(projectDecider.initial(), registered(create(ProjectSchema, { labels: { values } }))),
      );
    const [none, one, longKey, longValue] = [{}, { a: 'b' }, { aaaa: 'b' }, { a: 'bbbb' }].map(sizeWith) as [
      number,
      number,
      number,
      number,
    ];
    expect(one).toBeGreaterThan(none + 2); // more than its key and its value, of one byte each
    expect([longKey - one, longValue - one]).toEqual([3, 3]);
  });
});
