import { type MessageInitShape } from '@bufbuild/protobuf';
import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { ResourceListRequestSchema } from '../../proto/gen/platformidl/admin/common_pb.js';
import { Sort_Direction as Direction } from '../../proto/gen/platformidl/admin/common_pb.js';
import { type Execution, ExecutionState } from '../../proto/gen/platformidl/admin/execution_pb.js';
import {
  NodeExecution_Phase,
  WorkflowExecution_Phase as Phase,
} from '../../proto/gen/platformidl/core/execution_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { type ControlPlane, register, startControlPlane } from '../support/processes/control-plane.js';
import { fixtureFolder, withNeeds } from '../support/requests/fixtures.js';
import { helloRequest } from '../support/requests/hello.js';
import { allPages, nodesOf } from '../support/clients/lists.js';
import { second, workflowReport } from '../support/requests/reports.js';
import type { Transport } from '../support/clients/transports.js';

const { method } = AdminService;

type ListRequest = Partial<Exclude<MessageInitShape<typeof ResourceListRequestSchema>, { $typeName: string }>>;

const STAGING = { project: 'flytesnacks', domain: 'staging' };
const DEVELOPMENT = { project: 'flytesnacks', domain: 'development' };
/** The execution of `12-big`. */
const BIG = { ...DEVELOPMENT, name: 'big-run' };
/** Executions in staging. */
const COUNT = 120;
/** The phases that the executions reach, by turns. */
const ENDS = [Phase.SUCCEEDED, Phase.FAILED, Phase.RUNNING, Phase.QUEUED];

let plane: ControlPlane;

/**
 * Launches `run-000` and so on in staging; of every four, one each succeeds, fails, runs and waits. Their times differ.
 */
const launchAll = async (transport: Transport): Promise<void> => {
  const launch = async (_: unknown, index: number): Promise<void> => {
    const name = `run-${String(index).padStart(3, '0')}`;
    const inStaging = helloRequest(name, (request) => {
      request.domain = STAGING.domain;
    });
    await transport.call(method.createExecution, inStaging);
    const end = ENDS[index % ENDS.length]!;
    const phases = end === Phase.QUEUED ? [] : [...new Set([Phase.RUNNING, end])];
    for (const phase of phases) {
      const occurredAt = second(phase === Phase.RUNNING ? index : 2 * index + 1);
      await transport.call(method.createWorkflowEvent, workflowReport({ ...STAGING, name }, { phase, occurredAt }));
    }
  };
  await Promise.all(Array.from({ length: COUNT }, launch));
};

beforeAll(async () => {
  plane = await startControlPlane();
  await register(plane.grpc, withNeeds('01-hello', '12-big'));
  const big = fixtureFolder('12-big').entries.find(({ kind }) => kind === 'execution')!;
  expect((await plane.grpc.send(big.method, big.bytes)).code).toBe('OK');
  await plane.run();
  await launchAll(plane.grpc);
});
afterAll(() => plane.close());

const nameOf = ({ id }: Execution): string => id!.name;
/** Milliseconds since 1970; -1 for a time that is not set. */
const ms = (time: Timestamp | undefined): number => (time === undefined ? -1 : timestampMs(time));

describe.each(['grpc', 'rest'] as const)('a list over %s', (way) => {
  let transport: Transport;
  beforeAll(() => {
    transport = plane[way];
  });

  const executions = async (request: ListRequest = {}): Promise<readonly Execution[]> => {
    const listed = await transport.call(method.listExecutions, { id: STAGING, limit: 1_000, ...request });
    return listed.executions;
  };

  /** The executions of all pages: each page but the last has `limit` of them. */
  const paged = (limit: number, request: ListRequest = {}): Promise<readonly Execution[]> =>
    allPages(async (token) => {
      const page = await transport.call(method.listExecutions, { id: STAGING, ...request, limit, token });
      if (page.token === '') expect(page.executions.length).toBeLessThanOrEqual(limit);
      else expect(page.executions).toHaveLength(limit);
      expect(page.token).not.toMatch(/^\d+$/u); // a number would be an offset
      return { elements: page.executions, token: page.token };
    });

  it('has 100 elements when the request has no limit, and a token for the rest', async () => {
    const page = await transport.call(method.listExecutions, { id: STAGING });
    expect(page.executions.length).toBe(100);
    const rest = await transport.call(method.listExecutions, { id: STAGING, token: page.token });
    expect(rest.executions.length).toBe(COUNT - 100);
    expect(rest.token).toBe('');
  });

  it.each([1, 7, 40, 119, 120, 121])('has no gaps and no repeats in pages of %i', async (limit) => {
    expect((await paged(limit)).map(nameOf)).toEqual((await executions()).map(nameOf));
  });

  it('ends without a token when its last page is full', async () => {
    const page = await transport.call(method.listExecutions, { id: STAGING, limit: COUNT });
    expect([page.executions.length, page.token]).toEqual([COUNT, '']);
  });

  it('starts at an offset, and continues from there with tokens', async () => {
    const all = (await executions()).map(nameOf);
    const page = await transport.call(method.listExecutions, { id: STAGING, limit: 15, token: '30' });
    expect(page.executions.map(nameOf)).toEqual(all.slice(30, 45));
    const next = await transport.call(method.listExecutions, { id: STAGING, limit: 15, token: page.token });
    expect(next.executions.map(nameOf)).toEqual(all.slice(45, 60));
    const beyond = await transport.call(method.listExecutions, { id: STAGING, token: '1000' });
    expect([beyond.executions, beyond.token]).toEqual([[], '']);
  });

  it('skips and repeats nothing while executions are added', async () => {
    const all = (await executions()).map(nameOf);
    const first = await transport.call(method.listExecutions, { id: STAGING, limit: 50 });
    const added = helloRequest(`${way}-added`, (request) => {
      request.domain = STAGING.domain;
    });
    await transport.call(method.createExecution, added);
    const rest = await transport.call(method.listExecutions, { id: STAGING, limit: 1_000, token: first.token });
    expect([...first.executions, ...rest.executions].map(nameOf)).toEqual(all);
    expect((await executions()).map(nameOf)).toEqual([`${way}-added`, ...all]);
    await transport.call(method.updateExecution, {
      id: { ...STAGING, name: `${way}-added` },
      state: ExecutionState.EXECUTION_ARCHIVED,
    });
  });

  it('refuses a token that was made for another order', async () => {
    const { token } = await transport.call(method.listExecutions, { id: STAGING, limit: 5 });
    const other = { id: STAGING, token, sortBy: { key: 'name', direction: Direction.ASCENDING } };
    expect(await transport.attempt(method.listExecutions, other)).toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  const phaseIs =
    (...phases: Phase[]) =>
    ({ closure }: Execution) =>
      phases.includes(closure!.phase);
  const FILTERS: [filters: string, keeps: (execution: Execution) => boolean][] = [
    ['eq(phase,SUCCEEDED)', phaseIs(Phase.SUCCEEDED)],
    ['ne(phase,SUCCEEDED)', ({ closure }) => closure!.phase !== Phase.SUCCEEDED],
    ['value_in(phase,QUEUED;RUNNING)', phaseIs(Phase.QUEUED, Phase.RUNNING)],
    ['contains(name,n-11)', ({ id }) => id!.name.includes('n-11')],
    ['contains(execution_name,N-11)', () => false],
    ['eq(name,run-007)', ({ id }) => id!.name === 'run-007'],
    ['gte(name,run-100)', ({ id }) => id!.name >= 'run-100'],
    ['gt(duration,60)', ({ closure }) => Number(closure!.duration?.seconds ?? -1) > 60],
    ['lte(duration,1m1s)', ({ closure }) => closure!.duration !== undefined && closure!.duration.seconds <= 61n],
    ['gte(started_at,2026-01-01T00:01:00Z)', ({ closure }) => ms(closure!.startedAt) >= Date.UTC(2026, 0, 1, 0, 1)],
    [
      'lt(started_at,2026-01-01T00:00:10.5Z)+eq(phase,RUNNING)',
      (each) => phaseIs(Phase.RUNNING)(each) && ms(each.closure!.startedAt) < Date.UTC(2026, 0, 1, 0, 0, 10, 500),
    ],
    ['eq(mode,0)', () => true],
    ['eq(execution.phase,FAILED)', phaseIs(Phase.FAILED)],
    ['eq(launch_entity,launch_plan)', () => true],
    ['eq(phase,SUCCEEDED)+eq(phase,FAILED)', () => false],
    ['eq(launch_plan.name,unknown)', () => false],
  ];

  it.each(FILTERS)('has what its filters match, also in pages: %s', async (filters, keeps) => {
    const wanted = (await executions()).filter(keeps).map(nameOf);
    expect((await executions({ filters })).map(nameOf)).toEqual(wanted);
    // Filters are applied before limits, so filtered pages are full.
    expect((await paged(7, { filters })).map(nameOf)).toEqual(wanted);
  });

  const SORTS: [key: string, value: (execution: Execution) => number | string][] = [
    ['name', ({ id }) => id!.name],
    ['execution_name', ({ id }) => id!.name],
    ['created_at', ({ closure }) => ms(closure!.createdAt)],
    ['started_at', ({ closure }) => ms(closure!.startedAt)],
    ['updated_at', ({ closure }) => ms(closure!.updatedAt)],
    ['duration', ({ closure }) => Number(closure!.duration?.seconds ?? -1)],
    ['phase', ({ closure }) => Phase[closure!.phase]],
  ];

  it.each(SORTS)('is in the requested order: %s', async (key, value) => {
    for (const direction of [Direction.ASCENDING, Direction.DESCENDING]) {
      const sortBy = { key, direction };
      const sorted = await executions({ sortBy });
      expect(sorted.length).toBe(COUNT);
      const values = sorted.map(value);
      const inOrder = [...values].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
      expect(values).toEqual(direction === Direction.ASCENDING ? inOrder : inOrder.reverse());
      expect((await paged(11, { sortBy })).map(nameOf)).toEqual(sorted.map(nameOf));
    }
  });

  it('has the newest first when the request has no order', async () => {
    const created = (await executions()).map(({ closure }) => ms(closure!.createdAt));
    expect(created).toEqual([...created].sort((a, b) => b - a));
  });

  it('of nodes has each of 347 nodes once, in pages, and can be filtered', async () => {
    const nodes = await nodesOf(transport, BIG);
    const ids = nodes.map(({ id }) => id!.nodeId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length).toBe(347);
    const inPages = await allPages(async (token) => {
      const page = await transport.call(method.listNodeExecutions, { workflowExecutionId: BIG, limit: 50, token });
      return { elements: page.nodeExecutions, token: page.token };
    });
    expect(inPages.map(({ id }) => id!.nodeId)).toEqual(ids);
    const filters = 'eq(phase,SUCCEEDED)+contains(node_id,n1)';
    const some = await transport.call(method.listNodeExecutions, { workflowExecutionId: BIG, limit: 1_000, filters });
    const kept = nodes.filter(({ id, closure }) => {
      return closure!.phase === NodeExecution_Phase.SUCCEEDED && id!.nodeId.includes('n1');
    });
    expect(some.nodeExecutions.map(({ id }) => id!.nodeId)).toEqual(kept.map(({ id }) => id!.nodeId));
  });

  it('of nodes or tasks of an unknown execution is empty, but one of the children of its node is NOT_FOUND', async () => {
    const executionId = { ...STAGING, name: 'unknown' };
    const nodes = await transport.call(method.listNodeExecutions, { workflowExecutionId: executionId });
    expect(nodes.nodeExecutions).toEqual([]);
    const tasks = await transport.call(method.listTaskExecutions, { nodeExecutionId: { executionId, nodeId: 'n0' } });
    expect(tasks.taskExecutions).toEqual([]);
    const children = { workflowExecutionId: executionId, uniqueParentId: 'n0' };
    expect(await transport.attempt(method.listNodeExecutions, children)).toMatchObject({ code: 'NOT_FOUND' });
  });
});
