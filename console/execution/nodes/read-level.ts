import type { NodeExecution } from '../../../proto/gen/platformidl/admin/node_execution_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { callRpc } from '../../server/call.js';
import type { ReadLevel } from './node-levels.js';

const PAGE_NODES = 5_000;

/** Reads the nodes below a parent that match the filters from the server, page by page. */
export const readLevel: ReadLevel = async ({ seen: { id, asOf }, parent, signal }, filters) => {
  const request = { workflowExecutionId: id, uniqueParentId: parent, limit: PAGE_NODES, filters, asOf };
  const nodes: NodeExecution[] = [];
  let [token, known] = ['', undefined as bigint | undefined];
  do {
    const { message, position = 0n } = await callRpc(
      AdminService.method.listNodeExecutions,
      { ...request, token },
      signal,
    );
    nodes.push(...message.nodeExecutions);
    ({ token } = message);
    known = known === undefined || position < known ? position : known;
  } while (token !== '');
  return { nodes, position: known };
};
