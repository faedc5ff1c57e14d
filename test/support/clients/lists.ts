import type { MessageInitShape } from '@bufbuild/protobuf';

import type { NodeExecution } from '../../../proto/gen/platformidl/admin/node_execution_pb.js';
import type { TaskExecution } from '../../../proto/gen/platformidl/admin/task_execution_pb.js';
import type {
  NodeExecutionIdentifierSchema,
  WorkflowExecutionIdentifierSchema,
} from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import type { Transport } from './transports.js';

type ExecutionId = MessageInitShape<typeof WorkflowExecutionIdentifierSchema>;
type NodeId = MessageInitShape<typeof NodeExecutionIdentifierSchema>;

/** The elements of every page, from the first to the one without a token. */
export const allPages = async <Element>(
  page: (token: string) => Promise<{ readonly elements: readonly Element[]; readonly token: string }>,
): Promise<readonly Element[]> => {
  const found: Element[] = [];
  let token = '';
  do {
    const { elements, token: next } = await page(token);
    found.push(...elements);
    token = next;
  } while (token !== '');
  return found;
};

/** The nodes under one parent; for an empty id of a parent, the nodes of the workflow itself. */
const nodesUnder = (
  transport: Transport,
  workflowExecutionId: ExecutionId,
  uniqueParentId: string,
): Promise<readonly NodeExecution[]> =>
  allPages(async (token) => {
    const request = { workflowExecutionId, uniqueParentId, token };
    const page = await transport.call(AdminService.method.listNodeExecutions, request);
    return { elements: page.nodeExecutions, token: page.token };
  });

/** All nodes of an execution, or all under one parent; each before those inside it. */
export const nodesOf = async (
  transport: Transport,
  id: ExecutionId,
  parent = '',
): Promise<readonly NodeExecution[]> => {
  const found: NodeExecution[] = [];
  for (const node of await nodesUnder(transport, id, parent)) {
    found.push(node);
    if (node.metadata?.isParentNode === true) found.push(...(await nodesOf(transport, id, node.id!.nodeId)));
  }
  return found;
};

/** All attempts of the tasks of a node. */
export const tasksOf = (transport: Transport, nodeExecutionId: NodeId): Promise<readonly TaskExecution[]> =>
  allPages(async (token) => {
    const page = await transport.call(AdminService.method.listTaskExecutions, { nodeExecutionId, token });
    return { elements: page.taskExecutions, token: page.token };
  });
