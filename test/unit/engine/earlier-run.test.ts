import { create, type DescMessage, type DescMethodUnary, type MessageInitShape } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';

import type { InterfaceClient } from '../../../engine/client.js';
import { readEarlierRun } from '../../../engine/earlier-run.js';
import { taskKey } from '../../../engine/walk/ledger.js';
import {
  type NodeExecutionListRequest,
  NodeExecutionListSchema,
} from '../../../proto/gen/platformidl/admin/node_execution_pb.js';
import {
  type TaskExecutionListRequest,
  TaskExecutionListSchema,
} from '../../../proto/gen/platformidl/admin/task_execution_pb.js';
import {
  NodeExecution_Phase as NodePhase,
  TaskExecution_Phase as TaskPhase,
  WorkflowExecution_Phase as Phase,
} from '../../../proto/gen/platformidl/core/execution_pb.js';
import { WorkflowExecutionIdentifierSchema } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';

const ID = create(WorkflowExecutionIdentifierSchema, { project: 'p', domain: 'd', name: 'run' });
/** The number of nodes, and of attempts of the last node: three pages, of at most 500 each. */
const COUNT = 1_001;

/** A page of a list of `count` numbers from 0, and the token of the next page. */
const page = ({ limit, token }: { readonly limit: number; readonly token: string }, count: number) => {
  const from = Number(token);
  const numbers = Array.from({ length: Math.min(limit, count - from) }, (_, at) => from + at);
  return { numbers, token: from + limit < count ? String(from + limit) : '' };
};

const listNodes = (request: NodeExecutionListRequest) => {
  const { numbers, token } = page(request, COUNT);
  const nodeExecutions = numbers.map((each) => ({
    id: { executionId: ID, nodeId: `n${each}` },
    closure: { phase: each === COUNT - 1 ? NodePhase.RUNNING : NodePhase.SUCCEEDED },
  }));
  return create(NodeExecutionListSchema, { nodeExecutions, token });
};

const listTasks = (request: TaskExecutionListRequest) => {
  const { numbers, token } = page(request, COUNT);
  const taskExecutions = numbers.map((retryAttempt) => ({
    id: { retryAttempt, taskId: { name: 'task' } },
    closure: { phase: retryAttempt === COUNT - 1 ? TaskPhase.RUNNING : TaskPhase.FAILED },
  }));
  return create(TaskExecutionListSchema, { taskExecutions, token });
};

/** The two lists of a control plane in which an execution has many nodes, and the last node has many attempts. */
const client = {
  call: (method: DescMethodUnary, init: MessageInitShape<DescMessage>) => {
    const request = create(method.input, init);
    return Promise.resolve(
      method.name === AdminService.method.listNodeExecutions.name
        ? listNodes(request as NodeExecutionListRequest)
        : listTasks(request as TaskExecutionListRequest),
    );
  },
} as unknown as InterfaceClient;

it('an execution is read with all pages of its nodes and of the attempts of a node', async () => {
  const { known } = await readEarlierRun(client, ID, Phase.RUNNING);
  expect(known.nodes.size).toBe(COUNT);
  expect(known.tasks.size).toBe(COUNT);
  expect(known.tasks.get(taskKey(`n${COUNT - 1}`, COUNT - 1))).toBe(TaskPhase.RUNNING);
});
