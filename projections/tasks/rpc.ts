import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { versionNotFound, type SentIdentifier, versionOf, withResourceType } from '../../services/kernel/identifier.js';
import { type Call, type Route, route } from '../../services/kernel/rpc.js';
import { TASK_CATEGORY, taskStream } from '../../services/task/events.js';
import { type Freshness, latestDocument } from '../query/freshness.js';
import { listMessage } from '../query/list-message.js';
import type { ReadStore } from '../runtime/read-store.js';
import { listVersionNames, listVersions } from '../query/versions/version-list.js';
import { taskCollection, taskColumns } from './columns.js';

export type TaskReads = { readonly store: ReadStore; readonly freshness: Freshness };

const found = async (reads: TaskReads, sent: SentIdentifier | undefined, call: Call): Promise<Uint8Array> => {
  const id = versionOf('TASK', withResourceType('TASK', sent));
  const stream = taskStream(id);
  const document = await latestDocument(reads, call, taskCollection, { stream, key: stream });
  if (document === undefined) throw versionNotFound('TASK', id);
  return document.response;
};

export const tasksRoutes = (reads: TaskReads): readonly Route[] => {
  const list = { ...reads, category: TASK_CATEGORY, collection: taskCollection, columns: taskColumns };
  return [
    route(AdminService.method.getTask, ({ id }, call) => found(reads, id, call)),
    route(AdminService.method.listTasks, async (request, call) =>
      listMessage(await listVersions({ ...list, rpc: 'ListTasks' }, request.id, request, call)),
    ),
    route(AdminService.method.listTaskIds, (request, call) =>
      listVersionNames({ ...list, rpc: 'ListTaskIds' }, request, call),
    ),
  ];
};
