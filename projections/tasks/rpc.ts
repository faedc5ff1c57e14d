import { create } from '@bufbuild/protobuf';

import { NamedEntityIdentifierListSchema } from '../../proto/gen/platformidl/admin/common_pb.js';
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

const LIST_FIELDS = { elements: 1, token: 2 };

const found = async (reads: TaskReads, sent: SentIdentifier | undefined, call: Call): Promise<Uint8Array> => {
  const id = versionOf('TASK', withResourceType('TASK', sent));
  const stream = taskStream(id);
  const document = await latestDocument(reads, call, taskCollection, { stream, key: stream });
  if (document === undefined) throw versionNotFound('TASK', id);
  return document.response;
};

/** Routes of the reads of tasks. */
export const tasksRoutes = (reads: TaskReads): readonly Route[] => {
  const list = { ...reads, category: TASK_CATEGORY, collection: taskCollection, columns: taskColumns };
  return [
    route(AdminService.method.getTask, ({ id }, call) => found(reads, id, call)),
    route(AdminService.method.listTasks, async (request, call) => {
      const page = await listVersions({ ...list, rpc: 'ListTasks' }, request.id, request, call);
      return listMessage(LIST_FIELDS, page.elements, page.token);
    }),
    route(AdminService.method.listTaskIds, async (request, call) => {
      const { project, domain } = request;
      const scope = { project, domain };
      const { values, token } = await listVersionNames({ ...list, rpc: 'ListTaskIds' }, scope, request, call);
      const entities = values.map((name) => ({ ...scope, name: String(name) }));
      return create(NamedEntityIdentifierListSchema, { entities, token });
    }),
  ];
};
