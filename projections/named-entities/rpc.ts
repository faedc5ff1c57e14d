import type { NamedEntityGetRequest, NamedEntityListRequest } from '../../proto/gen/platformidl/admin/common_pb.js';
import { ResourceType } from '../../proto/gen/platformidl/core/identifier_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { entryNotFound, type EntityName, kindOf, nameOf } from '../../services/kernel/values/entity-name.js';
import type { Kind } from '../../services/kernel/identifier.js';
import { type Call, missing, type Route, route } from '../../services/kernel/rpc.js';
import { streamName } from '../../services/kernel/stream.js';
import { LAUNCH_PLAN_CATEGORY, launchPlanStream } from '../../services/launch-plan/events.js';
import { NAMED_ENTITY_CATEGORY, namedEntityStream } from '../../services/named-entity/events.js';
import { TASK_CATEGORY } from '../../services/task/events.js';
import { WORKFLOW_CATEGORY } from '../../services/workflow/events.js';
import { type Freshness, latestDocument } from '../query/freshness.js';
import { listMessage } from '../query/list-message.js';
import { type Listed, listPage, type ListScope } from '../query/list-query.js';
import type { ReadStore, StoredDocument } from '../runtime/read-store.js';
import { namedEntityCollection, namedEntityColumns } from './columns.js';

export type NamedEntityReads = { readonly store: ReadStore; readonly freshness: Freshness };

type Place = { readonly project: string; readonly domain: string };

const CATEGORY_OF: Readonly<Record<Kind, string>> = {
  TASK: TASK_CATEGORY,
  WORKFLOW: WORKFLOW_CATEGORY,
  LAUNCH_PLAN: LAUNCH_PLAN_CATEGORY,
};

/** Prefix of the names of the streams of versions. */
const registrations = (kind: Kind, parts: readonly string[]): string => streamName(CATEGORY_OF[kind], [...parts, '']);

/**
 * Finds a name. It exists from its first registered version, whose stream is not that of the name's metadata: when the
 * metadata's stream gives nothing, the stream of the versions is read. The versions of a task or a workflow have
 * streams of their own: one that this process has acknowledged is read, and without one the read waits for the view; so
 * it does for a long name, which the names of these streams do not contain.
 */
const latest = async (reads: NamedEntityReads, entity: EntityName, call: Call): Promise<StoredDocument | undefined> => {
  const { kind, project, domain, name } = entity;
  const key = namedEntityStream(entity);
  const noted = await latestDocument(reads, call, namedEntityCollection, { stream: key, key });
  if (noted !== undefined) return noted;
  const stream =
    kind === 'LAUNCH_PLAN'
      ? launchPlanStream(entity)
      : reads.freshness.acknowledgedUnder(registrations(kind, [project, domain, name]));
  if (stream !== undefined) return latestDocument(reads, call, namedEntityCollection, { stream, key });
  await reads.freshness.waitForPrefix(call, registrations(kind, [project, domain]), namedEntityCollection);
  return reads.store.get(namedEntityCollection, key);
};

const found = async (
  reads: NamedEntityReads,
  { resourceType, id }: NamedEntityGetRequest,
  call: Call,
): Promise<Uint8Array> => {
  const kind = kindOf(resourceType, 'Cannot get NamedEntityMetadata for resource type');
  const entity = { kind, ...nameOf(id) };
  const document = await latest(reads, entity, call);
  if (document === undefined) throw entryNotFound(entity);
  return document.response;
};

const scopeOf = (kind: Kind, { project, domain }: Place): ListScope => ({
  where: [
    { field: 'resource_type', is: '=', value: ResourceType[kind] },
    { field: 'project', is: '=', value: project },
    { field: 'domain', is: '=', value: domain },
  ],
  unlessFiltered: [{ field: 'generated', is: '=', value: 0 }],
});

const list = async (reads: NamedEntityReads, request: NamedEntityListRequest, call: Call): Promise<Uint8Array> => {
  const { project, domain } = request;
  if (project === '') throw missing('project');
  if (domain === '') throw missing('domain');
  const kind = kindOf(request.resourceType, 'Cannot list entity names for resource type:');
  await reads.freshness.waitForPrefix(call, registrations(kind, [project, domain]), namedEntityCollection);
  await reads.freshness.waitForPrefix(
    call,
    streamName(NAMED_ENTITY_CATEGORY, [project, domain, '']),
    namedEntityCollection,
  );
  const listed: Listed = {
    rpc: 'ListNamedEntities',
    store: reads.store,
    collection: namedEntityCollection,
    columns: namedEntityColumns,
    order: { field: 'name', direction: 'ascending' },
  };
  const page = await listPage(listed, scopeOf(kind, request), request);
  return listMessage(page);
};

export const namedEntitiesRoutes = (reads: NamedEntityReads): readonly Route[] => [
  route(AdminService.method.getNamedEntity, (request, call) => found(reads, request, call)),
  route(AdminService.method.listNamedEntities, (request, call) => list(reads, request, call)),
];
