import { create } from '@bufbuild/protobuf';

import {
  DomainSchema,
  GetDomainsResponseSchema,
  type Project,
  Project_ProjectState as State,
  ProjectRegisterResponseSchema,
  ProjectSchema,
  ProjectUpdateResponseSchema,
} from '../../proto/gen/platformidl/admin/project_pb.js';
import { GetVersionResponseSchema } from '../../proto/gen/platformidl/admin/version_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { contextOf } from '../kernel/command-context.js';
import { assertLabels } from '../kernel/values/labels.js';
import { accessOf } from '../kernel/permitted.js';
import { type Call, invalid, missing, route, type Route, RpcError } from '../kernel/rpc.js';
import type { Sessions } from '../kernel/ports/sessions.js';
import { assertVisible } from '../kernel/values/visible-text.js';
import type { ProjectCommand } from './commands.js';
import { projectAggregate, type ProjectRefusal } from './decider.js';
import { projectStream } from './events.js';
import { isProjectId, MAX_PROJECT_DESCRIPTION_BYTES, MAX_PROJECT_NAME_BYTES, PROJECT_ID_RULE } from './rules.js';

/** The build information that GetVersion returns. */
export type BuildInfo = { readonly build: string; readonly version: string; readonly buildTime: string };

export type ProjectServices = {
  readonly sessions: Sessions;
  readonly domains: readonly { readonly id: string; readonly name: string }[];
  readonly build: BuildInfo;
};

const assertLength = (field: string, text: string, max: number): void => {
  if (Buffer.byteLength(text) > max) throw new RpcError('INVALID_ARGUMENT', `${field} cannot exceed ${max} bytes`);
};

const assertId = (id: string): void => {
  if (!isProjectId(id)) throw new RpcError('INVALID_ARGUMENT', `invalid project id [${id}]: ${PROJECT_ID_RULE}`);
};

/**
 * The checks that registrations and updates have in common, in the order in which FlyteAdmin checks.
 *
 * @param known the project before an update. Earlier releases have registered ids and names that are refused for new
 * projects; these can stay.
 */
const assertProject = (
  { id, name, description, labels, domains, state }: Project,
  known?: { readonly name: string },
): void => {
  if (id === '') throw missing('project_id');
  assertLabels(labels);
  if (known === undefined) assertId(id);
  assertLength('project_name', name, MAX_PROJECT_NAME_BYTES);
  if (name !== known?.name) assertVisible('project_name', name);
  assertLength('project_description', description, MAX_PROJECT_DESCRIPTION_BYTES);
  if (domains.length > 0)
    throw new RpcError('INVALID_ARGUMENT', 'domains are system-wide and cannot be set for one project');
  if (!Object.hasOwn(State, state)) throw invalid('state', `${state} is not a project state`);
};

/** A copy without the fields that are never stored. */
const stored = ({ id, name, description, labels, state }: Project): Project =>
  create(ProjectSchema, { id, name, description, ...(labels && { labels }), state });

const refusals: Readonly<Record<ProjectRefusal['kind'], (id: string) => RpcError>> = {
  'project-exists': (id) => new RpcError('ALREADY_EXISTS', `project [${id}] already exists`),
  'project-unknown': (id) => new RpcError('NOT_FOUND', `project [${id}] not found`),
};

const record = async ({ sessions }: ProjectServices, command: ProjectCommand, call: Call): Promise<void> => {
  const { id } = command.project;
  const outcome = await sessions.handle(projectAggregate, projectStream(id), command, contextOf(call));
  call.answeredAt(outcome.position);
  if (outcome.kind === 'refused') throw refusals[outcome.refusal.kind](id);
};

const register = async (services: ProjectServices, project: Project | undefined, call: Call): Promise<void> => {
  if (project === undefined) throw missing('project');
  if (project.name === '') throw missing('project_name');
  assertProject(project);
  await record(services, { type: 'RegisterProject', project: stored(project) }, call);
};

const update = async (services: ProjectServices, project: Project, call: Call): Promise<void> => {
  if (project.id === '') throw missing('project_id');
  const known = await services.sessions.read(
    projectAggregate,
    projectStream(project.id),
    ({ state }) => state.project && { name: state.project.name },
  );
  if (known === undefined) throw refusals['project-unknown'](project.id);
  assertProject(project, known);
  await record(services, { type: 'UpdateProject', project: stored(project) }, call);
};

/** The domains in which the caller may read something. */
const domainsOf = ({ domains }: ProjectServices, call: Call) => {
  const readable = domains.filter(({ id }) => accessOf(call).mayInDomain('read', id));
  return create(GetDomainsResponseSchema, { domains: readable.map((domain) => create(DomainSchema, domain)) });
};

const versionOf = ({ build: { build, version, buildTime } }: ProjectServices) =>
  create(GetVersionResponseSchema, {
    controlPlaneVersion: { Build: build, Version: version, BuildTime: buildTime },
  });

export const projectRoutes = (services: ProjectServices): readonly Route[] => [
  route(AdminService.method.registerProject, async ({ project }, call) => {
    await register(services, project, call);
    return create(ProjectRegisterResponseSchema);
  }),
  route(AdminService.method.updateProject, async (project, call) => {
    await update(services, project, call);
    return create(ProjectUpdateResponseSchema);
  }),
  route(AdminService.method.getDomains, (_request, call) => Promise.resolve(domainsOf(services, call))),
  route(AdminService.method.getVersion, () => Promise.resolve(versionOf(services))),
];
