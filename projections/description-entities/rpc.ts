import type { DescriptionEntityListRequest } from '../../proto/gen/platformidl/admin/description_entity_pb.js';
import { ResourceType } from '../../proto/gen/platformidl/core/identifier_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { entryNotFound, kindOf, nameOf } from '../../services/kernel/values/entity-name.js';
import { type Kind, type SentIdentifier, versionOf, withResourceType } from '../../services/kernel/identifier.js';
import { type Call, missing, type Route, route } from '../../services/kernel/rpc.js';
import { type StreamName, streamName } from '../../services/kernel/stream.js';
import { TASK_CATEGORY, taskStream } from '../../services/task/events.js';
import { WORKFLOW_CATEGORY, workflowStream } from '../../services/workflow/events.js';
import { type Freshness, latestDocument } from '../query/freshness.js';
import { listMessage } from '../query/list-message.js';
import { type Listed, listPage } from '../query/list-query.js';
import type { Condition, ReadStore } from '../runtime/read-store.js';
import { descriptionEntityCollection, descriptionEntityColumns } from './columns.js';

export type DescriptionEntityReads = { readonly store: ReadStore; readonly freshness: Freshness };

type Id = Omit<SentIdentifier, 'resourceType'>;
type Described = { readonly category: string; readonly stream: (id: Id) => StreamName };

const CANNOT = 'Cannot get description entities for resource type';

/** The kinds of entities that can have descriptions; launch plans are registered without. */
const DESCRIBED: Readonly<Partial<Record<Kind, Described>>> = {
  TASK: { category: TASK_CATEGORY, stream: taskStream },
  WORKFLOW: { category: WORKFLOW_CATEGORY, stream: workflowStream },
};

const found = async (
  reads: DescriptionEntityReads,
  sent: SentIdentifier | undefined,
  call: Call,
): Promise<Uint8Array> => {
  const id = withResourceType('TASK', sent);
  if (id === undefined) throw missing('id');
  const kind = kindOf(id.resourceType, CANNOT);
  const version = versionOf(kind, id);
  const stream = DESCRIBED[kind]?.stream(version);
  const entity = { kind, ...version };
  if (stream === undefined) throw entryNotFound(entity, version.version);
  const document = await latestDocument(reads, call, descriptionEntityCollection, { stream, key: stream });
  if (document === undefined) throw entryNotFound(entity, version.version);
  return document.response;
};

const list = async (
  { store, freshness }: DescriptionEntityReads,
  request: DescriptionEntityListRequest,
  call: Call,
): Promise<Uint8Array> => {
  const kind = kindOf(request.resourceType, CANNOT);
  const id = nameOf(request.id);
  const described = DESCRIBED[kind];
  if (described) {
    const prefix = streamName(described.category, [id.project, id.domain, '']);
    await freshness.waitForPrefix(call, prefix, descriptionEntityCollection);
  }
  const listed: Listed = {
    rpc: 'ListDescriptionEntities',
    store,
    collection: descriptionEntityCollection,
    columns: descriptionEntityColumns(kind),
    order: { field: 'recorded', direction: 'descending' },
  };
  const named = Object.entries(id).map(([field, value]): Condition => ({ field, is: '=', value }));
  const where: readonly Condition[] = [{ field: 'resource_type', is: '=', value: ResourceType[kind] }, ...named];
  const page = await listPage(listed, { where }, request);
  return listMessage(page);
};

export const descriptionEntitiesRoutes = (reads: DescriptionEntityReads): readonly Route[] => [
  route(AdminService.method.getDescriptionEntity, ({ id }, call) => found(reads, id, call)),
  route(AdminService.method.listDescriptionEntities, (request, call) => list(reads, request, call)),
];
