import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { Sort_Direction as Direction } from '../../../proto/gen/platformidl/admin/common_pb.js';
import {
  NodeExecution_Phase as NodePhase,
  TaskExecution_Phase as TaskPhase,
  WorkflowExecution_Phase as Phase,
} from '../../../proto/gen/platformidl/core/execution_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { type ControlPlane, register, startControlPlane } from '../../support/processes/control-plane.js';
import { withNeeds } from '../../support/requests/fixtures.js';
import { launchHello } from '../../support/requests/hello.js';
import { allPages } from '../../support/clients/lists.js';
import { type ExecutionId, nodeReport, taskReport, workflowReport } from '../../support/requests/reports.js';
import type { Transport } from '../../support/clients/transports.js';

const { method } = AdminService;
const PLACE = { project: 'flytesnacks', domain: 'development' };

/** Times of engines' clocks, from the first second that a message can hold to the last. */
const CLOCKS = {
  first: { seconds: -62_135_596_800n, nanos: 0 },
  before: { seconds: -5n, nanos: 123_456_789 },
  now: { seconds: 1_767_225_600n, nanos: 0 },
  last: { seconds: 253_402_300_799n, nanos: 999_999_999 },
} as const;
type Clock = keyof typeof CLOCKS;
const NAMES = Object.keys(CLOCKS) as Clock[];

let plane: ControlPlane;

/** Reports a run with times of one clock; its end has the first time of the range, or the last one for `first`. */
const run = async ({ call }: Transport, id: ExecutionId, clock: Clock): Promise<void> => {
  const occurredAt = CLOCKS[clock];
  const endedAt = { occurredAt: CLOCKS[clock === 'first' ? 'last' : 'first'] };
  await call(method.createWorkflowEvent, workflowReport(id, { phase: Phase.RUNNING, occurredAt }));
  await call(method.createNodeEvent, nodeReport(id, clock, { phase: NodePhase.RUNNING, occurredAt }));
  await call(method.createTaskEvent, taskReport(id, clock, { phase: TaskPhase.RUNNING, occurredAt }));
  await call(method.createTaskEvent, taskReport(id, clock, { phase: TaskPhase.SUCCEEDED, ...endedAt }));
  await call(method.createNodeEvent, nodeReport(id, clock, { phase: NodePhase.SUCCEEDED, ...endedAt }));
  await call(method.createWorkflowEvent, workflowReport(id, { phase: Phase.SUCCEEDED, ...endedAt }));
};

beforeAll(async () => {
  plane = await startControlPlane();
  await register(plane.grpc, withNeeds('01-hello'));
  const withEveryClock = await launchHello(plane.grpc, 'all');
  // The last time comes first, so that no order of times is that of the events in the log.
  for (const clock of NAMES.toReversed()) {
    await run(plane.grpc, await launchHello(plane.grpc, clock), clock);
    const report = nodeReport(withEveryClock, clock, { phase: NodePhase.RUNNING, occurredAt: CLOCKS[clock] });
    await plane.grpc.call(method.createNodeEvent, report);
  }
});
afterAll(() => plane.close());

describe.each(['grpc', 'rest'] as const)('times of wrong clocks, over %s,', (way) => {
  const executions = (request: { readonly filters?: string; readonly key?: string; readonly direction?: Direction }) =>
    allPages(async (token) => {
      const { key = 'started_at', direction = Direction.ASCENDING, filters = '' } = request;
      const sortBy = { key, direction };
      const page = await plane[way].call(method.listExecutions, { id: PLACE, limit: 1, token, filters, sortBy });
      return { elements: page.executions.map(({ id }) => id!.name), token: page.token };
    });
  const started = 'gte(started_at,0001-01-01)';

  it('order executions by their start, page by page, both ways', async () => {
    expect(await executions({ filters: started })).toEqual(NAMES);
    expect(await executions({ filters: started, direction: Direction.DESCENDING })).toEqual(NAMES.toReversed());
  });

  it.each([
    // These keys sort a time as at most 142 years before or after 1970, and a duration as at most 142 years; equal
    // keys are sorted by name.
    ['duration', ['before', 'last', 'now', 'first']],
    ['created_at', NAMES.toReversed()],
    ['updated_at', ['now', 'before', 'first', 'last']],
    ['execution_updated_at', ['now', 'before', 'first', 'last']],
  ])('order executions by %s, ascending and descending', async (key, expected) => {
    expect(await executions({ filters: started, key })).toEqual(expected);
    const down = await executions({ filters: started, key, direction: Direction.DESCENDING });
    expect(down).toEqual(expected.toReversed());
  });

  it.each([
    ['lt(started_at,1970-01-01)', ['first', 'before']],
    ['eq(started_at,9999-12-31T23:59:59.999999Z)', ['last']],
    ['eq(started_at,1969-12-31T23:59:55.123456Z)', ['before']],
    ['gt(duration,1000000h)', ['first']],
    ['lt(duration,0)', ['before', 'now', 'last']],
  ])('are compared with those of the filter %s', async (filters, expected) => {
    expect(await executions({ filters })).toEqual(expected);
  });

  it('order nodes by their creation', async () => {
    const workflowExecutionId = { ...PLACE, name: 'all' };
    const { nodeExecutions } = await plane[way].call(method.listNodeExecutions, { workflowExecutionId });
    expect(nodeExecutions.map(({ id }) => id!.nodeId)).toEqual(NAMES);
  });

  it.each(NAMES)('are shown of an execution and its task, and do not prevent spans: %s', async (name) => {
    const id = { ...PLACE, name };
    const { closure } = await plane[way].call(method.getExecution, { id });
    expect(closure!.startedAt).toMatchObject(CLOCKS[name]);
    const nodeExecutionId = { nodeId: name, executionId: id };
    const { taskExecutions } = await plane[way].call(method.listTaskExecutions, { nodeExecutionId });
    expect(taskExecutions.map((task) => task.closure!.startedAt)).toMatchObject([CLOCKS[name]]);
    const { span } = await plane[way].call(method.getExecutionMetrics, { id, depth: -1 });
    expect(span!.id.case).toBe('workflowId');
  });
});
