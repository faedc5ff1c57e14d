import { create, fromBinary, toBinary } from '@bufbuild/protobuf';

import {
  type ProjectListRequest,
  Project_ProjectState as State,
  ProjectSchema,
} from '../../proto/gen/platformidl/admin/project_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { type Access, UNLIMITED } from '../../services/kernel/access.js';
import { accessOf } from '../../services/kernel/permitted.js';
import { type Call, missing, type Route, route, RpcError } from '../../services/kernel/rpc.js';
import { PROJECT_CATEGORY, projectStream } from '../../services/project/events.js';
import { type Freshness, latestDocument } from '../query/freshness.js';
import { listMessage } from '../query/list-message.js';
import { type Listed, listPage } from '../query/list-query.js';
import type { Condition, ReadStore } from '../runtime/read-store.js';
import { projectCollection, projectColumns } from './columns.js';

export type ProjectReads = {
  readonly store: ReadStore;
  readonly freshness: Freshness;
  /** The domains of every project, from the configuration. */
  readonly domains: readonly { readonly id: string; readonly name: string }[];
};

/**
 * Adds the domains to an encoded project: the concatenation of two encodings of a message is the encoding of both
 * merged.
 */
const joined = (project: Uint8Array, domains: Uint8Array): Uint8Array => Buffer.concat([project, domains]);

/** The domains of a project in which the caller may read. */
const domainsOf = ({ domains }: ProjectReads, project: Uint8Array, access: Access): Uint8Array => {
  const { id: projectId } = access === UNLIMITED ? { id: '' } : fromBinary(ProjectSchema, project);
  const readable = domains.filter(({ id }) => access.may('read', projectId, id));
  return toBinary(ProjectSchema, create(ProjectSchema, { domains: readable.map(({ id, name }) => ({ id, name })) }));
};

/** Selects the projects in which the caller may read something. */
const readableBy = (access: Access): readonly Condition[] => {
  const projects = access.projectsWith('read');
  return projects === undefined ? [] : [{ field: 'identifier', is: 'in', values: projects }];
};

const found = async (reads: ProjectReads, id: string, call: Call): Promise<Uint8Array> => {
  if (!id) throw missing('project_id');
  const stream = projectStream(id);
  const document = await latestDocument(reads, call, projectCollection, { stream, key: stream });
  if (document === undefined) throw new RpcError('NOT_FOUND', `project [${id}] not found`);
  return joined(document.response, domainsOf(reads, document.response, accessOf(call)));
};

const list = async (reads: ProjectReads, request: ProjectListRequest, call: Call): Promise<Uint8Array> => {
  await reads.freshness.waitForPrefix(call, `${PROJECT_CATEGORY}-`, projectCollection);
  const listed: Listed = {
    rpc: 'ListProjects',
    store: reads.store,
    collection: projectCollection,
    columns: projectColumns,
    order: { field: 'identifier', direction: 'ascending' },
    limitZero: 'all',
  };
  const notArchived = { field: 'state', is: '<>', value: State.ARCHIVED } as const;
  const access = accessOf(call);
  const page = await listPage(listed, { where: readableBy(access), unlessFiltered: [notArchived] }, request);
  const elements = page.elements.map((project) => joined(project, domainsOf(reads, project, access)));
  return listMessage({ ...page, elements });
};

/** Routes of the reads of projects. */
export const projectsRoutes = (reads: ProjectReads): readonly Route[] => [
  route(AdminService.method.getProject, ({ id }, call) => found(reads, id, call)),
  route(AdminService.method.listProjects, (request, call) => list(reads, request, call)),
];
