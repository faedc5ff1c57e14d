import type { SignalListRequest } from '../../proto/gen/platformidl/admin/signal_pb.js';
import { SignalService } from '../../proto/gen/platformidl/service/signal_pb.js';
import { type Call, type Route, route } from '../../services/kernel/rpc.js';
import type { Freshness } from '../query/freshness.js';
import { listMessage } from '../query/list-message.js';
import { type Listed, listPage, type ListScope } from '../query/list-query.js';
import type { ReadStore } from '../runtime/read-store.js';
import { completeExecutionId, executionStreamPrefix } from '../query/execution-identifiers.js';
import { signalCollection, signalColumns } from './columns.js';
import { executionStream } from '../../services/kernel/execution-id.js';

export type SignalReads = { readonly store: ReadStore; readonly freshness: Freshness };

/**
 * Lists a page of the signals of an execution, by default in the order in which gates asked for them; empty for an
 * execution that does not exist.
 */
const list = async ({ store, freshness }: SignalReads, request: SignalListRequest, call: Call): Promise<Uint8Array> => {
  const id = completeExecutionId(request.workflowExecutionId, 'execution_id');
  await freshness.waitForPrefix(call, executionStreamPrefix(id.project, id.domain), signalCollection);
  const listed: Listed = {
    rpc: 'ListSignals',
    store,
    collection: signalCollection,
    columns: signalColumns,
    order: { field: 'recorded', direction: 'ascending' },
  };
  const scope: ListScope = { where: [{ field: 'execution', is: '=', value: executionStream(id) }] };
  const page = await listPage(listed, scope, request);
  return listMessage(page);
};

export const signalsRoutes = (reads: SignalReads): readonly Route[] => [
  route(SignalService.method.listSignals, (request, call) => list(reads, request, call)),
];
