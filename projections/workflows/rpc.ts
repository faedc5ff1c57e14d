import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { versionNotFound, type SentIdentifier, versionOf, withResourceType } from '../../services/kernel/identifier.js';
import { type Call, type Route, route } from '../../services/kernel/rpc.js';
import { WORKFLOW_CATEGORY, workflowStream } from '../../services/workflow/events.js';
import { type Freshness, latestDocument } from '../query/freshness.js';
import { listMessage } from '../query/list-message.js';
import type { ReadStore } from '../runtime/read-store.js';
import { listVersionNames, listVersions } from '../query/versions/version-list.js';
import { workflowCollection, workflowColumns } from './columns.js';

export type WorkflowReads = { readonly store: ReadStore; readonly freshness: Freshness };

const found = async (reads: WorkflowReads, sent: SentIdentifier | undefined, call: Call): Promise<Uint8Array> => {
  const id = versionOf('WORKFLOW', withResourceType('WORKFLOW', sent));
  const stream = workflowStream(id);
  const document = await latestDocument(reads, call, workflowCollection, { stream, key: stream });
  if (document === undefined) throw versionNotFound('WORKFLOW', id);
  return document.response;
};

export const workflowsRoutes = (reads: WorkflowReads): readonly Route[] => {
  const list = { ...reads, category: WORKFLOW_CATEGORY, collection: workflowCollection, columns: workflowColumns };
  return [
    route(AdminService.method.getWorkflow, ({ id }, call) => found(reads, id, call)),
    route(AdminService.method.listWorkflows, async (request, call) =>
      listMessage(await listVersions({ ...list, rpc: 'ListWorkflows' }, request.id, request, call)),
    ),
    route(AdminService.method.listWorkflowIds, (request, call) =>
      listVersionNames({ ...list, rpc: 'ListWorkflowIds' }, request, call),
    ),
  ];
};
