import { create } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { projectsRoutes } from '../../../projections/projects/rpc.js';
import { Project_ProjectState as State } from '../../../proto/gen/platformidl/admin/project_pb.js';
import { ProjectRegisteredSchema, ProjectUpdatedSchema } from '../../../proto/gen/platformidl/eventlog/project_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { projectCodec, type ProjectEvent, projectStream } from '../../../services/project/events.js';
import { openReads } from '../../support/views/run-views.js';

const { method } = AdminService;
const { ARCHIVED } = State;

const recorded = (...events: readonly ProjectEvent[]) =>
  events.map((event, index) => ({
    id: new Uint8Array(16),
    ...projectCodec.encode(event),
    metadata: '{}',
    stream: projectStream(event.data.project!.id),
    revision: BigInt(index),
    position: BigInt(index + 1),
  }));

const registered = (id: string): ProjectEvent => ({
  type: 'ProjectRegistered',
  data: create(ProjectRegisteredSchema, { project: { id, name: `the ${id}` } }),
});

describe('reads of projects', () => {
  let reads: Awaited<ReturnType<typeof openReads>>;
  beforeAll(async () => {
    const archived = { id: 'old', name: 'the old', state: ARCHIVED };
    const update: ProjectEvent = {
      type: 'ProjectUpdated',
      data: create(ProjectUpdatedSchema, { project: archived }),
    };
    reads = await openReads(recorded(registered('zoo'), registered('old'), registered('ant'), update), projectsRoutes);
  });
  afterAll(() => reads.close());

  it('answer a project by its id with the configured domains, archived or not', async () => {
    const domains = [{ id: 'development', name: 'Development' }];
    expect(await reads.ask(method.getProject, { id: 'zoo' })).toMatchObject({ id: 'zoo', name: 'the zoo', domains });
    expect(await reads.ask(method.getProject, { id: 'old' })).toMatchObject({ state: ARCHIVED, domains });
  });

  it('list the projects that are not archived in the order of ids, and those that a filter asks for', async () => {
    const list = async (filters: string) => {
      const { projects, token } = await reads.ask(method.listProjects, { filters });
      expect(token).toBe('');
      return projects.map(({ id, domains }) => `${id}: ${domains.map(({ name }) => name).join()}`);
    };
    expect(await list('')).toEqual(['ant: Development', 'zoo: Development']);
    expect(await list(`eq(state,${ARCHIVED})`)).toEqual(['old: Development']);
  });

  it('fail with an error that names the missing project or the missing field', async () => {
    await expect(reads.ask(method.getProject, { id: 'unknown' })).rejects.toMatchObject({
      code: 'NOT_FOUND',
      message: 'project [unknown] not found',
    });
    await expect(reads.ask(method.getProject, {})).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: 'missing project_id',
    });
  });
});
