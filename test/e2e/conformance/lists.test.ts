import type { MessageInitShape } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import {
  type ResourceListRequestSchema,
  Sort_Direction as Direction,
} from '../../../proto/gen/platformidl/admin/common_pb.js';
import {
  ExecutionMetadata_ExecutionMode as Mode,
  ExecutionState,
} from '../../../proto/gen/platformidl/admin/execution_pb.js';
import { LaunchPlanState } from '../../../proto/gen/platformidl/admin/launch_plan_pb.js';
import { WorkflowExecution_Phase as Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import { ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { ExecutionCountService } from '../../../proto/gen/platformidl/eventlog/execution_count_service_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { executionColumns } from '../../../projections/executions/columns.js';
import { launchPlanColumns } from '../../../projections/launch-plans/columns.js';
import { nodeExecutionColumns } from '../../../projections/node-executions/columns.js';
import { projectColumns } from '../../../projections/projects/columns.js';
import type { Columns } from '../../../projections/query/columns.js';
import { taskExecutionColumns } from '../../../projections/task-executions/columns.js';
import { taskColumns } from '../../../projections/tasks/columns.js';
import { workflowColumns } from '../../../projections/workflows/columns.js';
import { counted } from '../../support/runner/cases.js';
import { type ControlPlane, register, startControlPlane } from '../../support/processes/control-plane.js';
import { withNeeds } from '../../support/requests/fixtures.js';
import { helloRequest } from '../../support/requests/hello.js';
import { allPages, nodesOf } from '../../support/clients/lists.js';
import { registerTask } from '../../support/requests/registrations.js';
import type { Answer, Transport } from '../../support/clients/transports.js';

const { method } = AdminService;

type Request = Partial<Exclude<MessageInitShape<typeof ResourceListRequestSchema>, { $typeName: string }>>;

const PLACE = { project: 'flytesnacks', domain: 'development' };
const GREET = { ...PLACE, name: 'hello.greet', version: 'v1' };
/** The executions that are not archived. */
const ALL = ['labelled', 'nightly', 'plain', 'single'];
/** Those of `ALL` that the launch plan `hello.hello` has launched. */
const OF_PLAN = ['labelled', 'nightly', 'plain'];
const RUN = { ...PLACE, name: 'plain' };
/** Sort keys of every list, besides the columns of its entity. */
const BOOKKEEPING = ['id', 'created_at', 'updated_at', 'deleted_at'];

let plane: ControlPlane;
/** The node of the execution `plain` that runs the task. */
let nodeId: string;

const launchAll = async ({ call }: Transport): Promise<void> => {
  const labelled = helloRequest('labelled', (request) => {
    request.spec!.labels = { $typeName: 'platformidl.admin.Labels', values: { team: 'red', tier: 'high' } };
    request.spec!.metadata!.mode = Mode.SCHEDULED;
  });
  const nightly = helloRequest('nightly', (request) => {
    request.spec!.tags = ['nightly', 'team'];
  });
  const single = helloRequest('single', (request) => {
    Object.assign(request.spec!.launchPlan!, { ...GREET, resourceType: ResourceType.TASK });
  });
  for (const request of [labelled, nightly, helloRequest('plain'), single, helloRequest('archived')])
    await call(method.createExecution, request);
};

beforeAll(async () => {
  plane = await startControlPlane();
  const { call } = plane.grpc;
  await register(plane.grpc, withNeeds('01-hello'));
  for (const version of ['v2', 'v3']) await registerTask(plane.grpc, { name: 'hello.greet', version });
  await call(method.updateLaunchPlan, {
    id: { ...PLACE, name: 'hello.hello', version: 'v1', resourceType: ResourceType.LAUNCH_PLAN },
    state: LaunchPlanState.ACTIVE,
  });
  await launchAll(plane.grpc);
  await plane.run();
  await call(method.updateExecution, { id: { ...PLACE, name: 'archived' }, state: ExecutionState.EXECUTION_ARCHIVED });
  const nodes = await nodesOf(plane.grpc, RUN);
  nodeId = nodes.map(({ id }) => id!.nodeId).find((each) => each !== 'start-node' && each !== 'end-node')!;
});
afterAll(() => plane.close());

/** Gives the names of the elements of a list; those of executions, tasks, workflows and launch plans are sorted. */
type Lister = (transport: Transport, request: Request) => Promise<readonly string[]>;

const executions: Lister = async ({ call }, request) =>
  (await call(method.listExecutions, { id: PLACE, ...request })).executions.map(({ id }) => id!.name).sort();
const nodes: Lister = async ({ call }, request) =>
  (await call(method.listNodeExecutions, { workflowExecutionId: RUN, ...request })).nodeExecutions.map(
    ({ id }) => id!.nodeId,
  );
const attempts: Lister = async ({ call }, request) =>
  (
    await call(method.listTaskExecutions, { nodeExecutionId: { executionId: RUN, nodeId }, ...request })
  ).taskExecutions.map(({ id }) => `${id!.taskId!.name}/${id!.retryAttempt}`);
const tasks: Lister = async ({ call }, request) =>
  (await call(method.listTasks, { id: PLACE, ...request })).tasks.map(({ id }) => `${id!.name}@${id!.version}`).sort();
const workflows: Lister = async ({ call }, request) =>
  (await call(method.listWorkflows, { id: PLACE, ...request })).workflows.map(({ id }) => id!.name).sort();
const plans: Lister = async ({ call }, request) =>
  (await call(method.listLaunchPlans, { id: PLACE, ...request })).launchPlans.map(({ id }) => id!.name).sort();
const projects: Lister = async ({ call }, request) =>
  (await call(method.listProjects, request)).projects.map(({ id }) => id);

/** The kind of value that a column has; `end` is a phase of executions, `other` is text, or equal to no value. */
type Kind = keyof typeof VALUES;

/** The columns of an entity, and by kind the names of those by which it can be sorted. */
type Named = readonly [string, Lister, Columns, Readonly<Partial<Record<Kind, readonly string[]>>>];

/** Entities with all their sort keys, besides `BOOKKEEPING`. */
const COLUMNS: readonly Named[] = [
  [
    'executions',
    executions,
    executionColumns,
    {
      text: [
        ...['execution_project', 'execution_domain', 'execution_name', 'project', 'domain', 'name'],
        ...['abort_cause', 'cluster'],
      ],
      phase: ['phase'],
      error: ['error_kind'],
      number: ['mode', 'state'],
      tier: ['quality_of_service'],
      time: ['started_at', 'execution_created_at', 'execution_updated_at'],
      duration: ['duration', 'queueing_budget'],
      other: [
        ...['launch_plan_id', 'workflow_id', 'task_id', 'closure', 'spec', 'source_execution_id'],
        ...['parent_node_execution_id', 'inputs_uri', 'user_inputs_uri', 'error_code', 'user'],
        'launch_entity',
      ],
    },
  ],
  [
    'node executions',
    nodes,
    nodeExecutionColumns,
    {
      text: ['execution_project', 'execution_domain', 'execution_name', 'node_id', 'input_uri'],
      phase: ['phase'],
      error: ['error_kind'],
      cache: ['cache_status'],
      end: ['closed_by'],
      time: ['started_at', 'node_execution_created_at', 'node_execution_updated_at'],
      duration: ['duration'],
      other: [
        ...['closure', 'node_execution_metadata', 'parent_id', 'parent_task_execution_id', 'error_code'],
        ...['dynamic_workflow_remote_closure_reference', 'internal_data'],
      ],
    },
  ],
  [
    'task executions',
    attempts,
    taskExecutionColumns,
    {
      text: [
        ...['project', 'domain', 'name', 'version', 'execution_project', 'execution_domain', 'execution_name'],
        ...['node_id', 'input_uri'],
      ],
      phase: ['phase'],
      end: ['closed_by'],
      number: ['retry_attempt', 'phase_version'],
      time: ['started_at', 'task_execution_created_at', 'task_execution_updated_at'],
      duration: ['duration'],
      other: ['closure'],
    },
  ],
  [
    'tasks',
    tasks,
    taskColumns,
    { text: ['project', 'domain', 'name', 'version', 'digest', 'type', 'short_description'], other: ['closure'] },
  ],
  [
    'workflows',
    workflows,
    workflowColumns,
    {
      text: ['project', 'domain', 'name', 'version', 'digest', 'short_description'],
      other: ['closure', 'typed_interface', 'remote_closure_identifier'],
    },
  ],
  [
    'launch plans',
    plans,
    launchPlanColumns,
    {
      text: ['project', 'domain', 'name', 'version', 'digest'],
      schedule: ['schedule_type'],
      number: ['state'],
      other: ['spec', 'workflow_id', 'closure', 'launch_condition_type'],
    },
  ],
  [
    'projects',
    projects,
    projectColumns,
    { text: ['identifier', 'name', 'description'], number: ['state'], other: ['labels'] },
  ],
];

/** For each kind of column, a valid value that no element has. */
const VALUES = {
  text: 'nothing of the kind',
  phase: 'UNKNOWN',
  end: 'TIMED_OUT',
  tier: 'LOW',
  error: 'SYSTEM',
  cache: 'CACHE_HIT',
  schedule: 'RATE',
  number: '-1',
  time: '1970-01-01T00:00:00Z',
  duration: '-1s',
  other: 'x',
};

/** Filters of executions, with the names that each keeps. `state` 0 is active and 1 archived; `mode` 1 is SCHEDULED. */
const FILTERS: readonly (readonly [string, readonly string[]])[] = [
  ['', ALL],
  ['eq(state,0)', ALL],
  ['eq(state,1)', ['archived']],
  ['value_in(state,0;1)', ['archived', ...ALL]],
  ['eq(execution.state,1)', ['archived']],
  ['eq(execution_name,plain)', ['plain']],
  ['eq(execution_name, plain)', ['plain']],
  ['eq(execution_name,plain) what follows does not count', ['plain']],
  ['eq(name,plain)', ['plain']],
  ['ne(execution_name,plain)', ['labelled', 'nightly', 'single']],
  ['gt(execution_name,nightly)', ['plain', 'single']],
  ['gte(execution_name,nightly)', ['nightly', 'plain', 'single']],
  ['lt(execution_name,nightly)', ['labelled']],
  ['lte(execution_name,nightly)', ['labelled', 'nightly']],
  ['contains(execution_name,l)', ['labelled', 'nightly', 'plain', 'single']],
  ['contains(execution_name,L)', []],
  ['contains(execution_name,p_a%n)', ['plain']],
  ['contains(execution_name,\\_)', []],
  ['not_like(execution_name,plain)', ['labelled', 'nightly', 'single']],
  ['not_like(execution_name,%n%)', ['labelled']],
  ['value_in(execution_name,plain;single;unknown)', ['plain', 'single']],
  ['value_in(execution_name,plain)', ['plain']],
  ['value_not_in(execution_name,plain;single)', ['labelled', 'nightly']],
  ['eq(phase,SUCCEEDED)', ALL],
  ['value_in(phase,FAILED;SUCCEEDED)', ALL],
  ['ne(phase,SUCCEEDED)', []],
  ['eq(mode,1)', ['labelled']],
  ['eq(mode,SCHEDULED)', ['labelled']],
  ['eq(state,EXECUTION_ARCHIVED)', ['archived']],
  ['ne(mode,1)', ['nightly', 'plain', 'single']],
  ['gt(duration,-1)', ALL],
  ['lt(duration,1h)', ALL],
  ['gt(duration,1h30m)', []],
  ['gte(started_at,2020-01-01T00:00:00Z)', ALL],
  ['gte(started_at,2020-01-01T00:00:00.123456789-02:00)', ALL],
  ['lte(started_at,2020-01-01)', []],
  ['gt(created_at,2020-01-01T00:00:00Z)+lt(created_at,2020-01-02T00:00:00Z)', []],
  ['gte(updated_at,2020-01-01)', ALL],
  ['gte(updated_at,2020-01-01)+value_in(phase,FAILED;SUCCEEDED)+eq(mode,1)', ['labelled']],
  ['lt(updated_at,2020-01-01)', []],
  ['eq(launch_entity,task)', ['single']],
  ['eq(launch_plan.name,hello.hello)', OF_PLAN],
  ['eq(launch_plan.project,flytesnacks)+eq(launch_plan.domain,development)+eq(launch_plan.version,v1)', OF_PLAN],
  ['ne(launch_plan.name,unknown)', OF_PLAN],
  ['eq(launch_plan.name,unknown)', []],
  ['eq(workflow.name,hello.hello)+eq(workflow.version,v1)', OF_PLAN],
  ['contains(workflow.short_description,nothing of the kind)', []],
  ['eq(task.name,hello.greet)', ['single']],
  ['eq(task.type,python-task)', ['single']],
  ['eq(task.type,container)', []],
  // A filter on the state of a launch plan counts as a filter on the state of executions: archived ones are included.
  ['eq(launch_plan.state,1)', ['archived', ...OF_PLAN]],
  ['eq(launch_plan.state,0)', []],
  ['eq(launch_plan.schedule_type,NONE)', OF_PLAN],
  ['eq(admin_tag.name,nightly)', ['nightly']],
  ['eq(admin_tag.name,team)', ['labelled', 'nightly']],
  ['eq(execution_tag.key,team)', ['labelled', 'nightly']],
  ['eq(execution_tag.key,team)+eq(execution_tag.value,red)', ['labelled']],
  ['eq(execution_tag.key,tier)+eq(execution_tag.value,red)', []],
  ['value_in(execution_tag.value,red;high)', ['labelled']],
  ['eq(label.team,red)', ['labelled']],
  ['eq(label.team,red)+eq(label.tier,high)', ['labelled']],
  ['eq(label.team,high)', []],
  ['ne(label.team,red)', ['nightly']],
  ['value_in(label.team,red;none)+contains(execution.label.tier,ig)', ['labelled']],
  ['contains(error_message,x)', []],
  ['gt(execution_tag.created_at,2020-01-01T00:00:00Z)+eq(execution_tag.key,tier)', ['labelled']],
  ...['execution_tag', 'admin_tag'].flatMap((tag): readonly (readonly [string, readonly string[]])[] => [
    [`lt(${tag}.created_at,2020-01-01T00:00:00Z)`, []],
    [`lt(${tag}.updated_at,2020-01-01T00:00:00Z)`, []],
    [`eq(${tag}.id,0)`, []],
    [`ne(${tag}.deleted_at,x)`, []],
  ]),
  ['ne(closure,x)', []],
];

/** Invalid filters of executions, with the text of the refusal. */
const REFUSED: readonly (readonly [string, string])[] = [
  ['phase', 'invalid value for filters'],
  ['eq(phase)', 'invalid value for filters'],
  ['eq(phase,)', 'invalid value for filters'],
  ['ne(schedule_type,)', 'invalid value for filters'],
  ['eq(phase,A)+', 'invalid value for filters'],
  ['+eq(phase,A)', 'invalid value for filters'],
  ['eq(signal.signal_id,x)', "'s' entity is not allowed in filters"],
  ['eq(node_execution.phase,x)', "'ne' entity is not allowed in filters"],
  ['eq(project.name,x)', "'p' entity is not allowed in filters"],
  ['eq(nothing,x)', "'e.nothing' is invalid filter"],
  ['eq(launch_plan.nothing,x)', "'l.nothing' is invalid filter"],
  ['eq(unknown.name,x)', "'e.unknown.name' is invalid filter"],
  ['eq(execution_tag.nothing,x)', "'et.nothing' is invalid filter"],
  ['gt(duration,soon)', 'Failed to parse duration [soon]'],
  ['gt(started_at,soon)', 'started_at'],
  // Values cannot contain a plus sign.
  ['gt(started_at,2020-01-01T00:00:00+02:00)', 'invalid value for filters'],
  ['eq(mode,soon)', "'soon' is neither a whole number nor one of"],
  ['eq(colour,x)', 'the fields are abort_cause, admin_tag'],
  ['eq(labels.team,x)', "'e.labels.team' is invalid filter"],
  ['gt(error_message,)', 'invalid value for filters'],
  ['eq(error_message,a;b)', 'error_message: eq takes one value'],
  ['eq(phase,A;B)', 'phase'],
  ['soon(phase,A)', 'unrecognized filter function: soon: the functions are eq, ne'],
  ['eq(phase,WRONG)', "invalid value for phase: 'WRONG' is not one of ABORTED, ABORTING, FAILED"],
  ['value_in(phase,SUCCEEDED;running)', "'running' is not one of"],
  ['eq(error_kind,OURS)', "invalid value for error_kind: 'OURS' is not one of SYSTEM, UNKNOWN, USER"],
  ['eq(quality_of_service,SOON)', "'SOON' is not one of HIGH, LOW, MEDIUM, UNDEFINED"],
  ['eq(launch_plan.schedule_type,HOURLY)', "'HOURLY' is not one of NONE, CRON, RATE"],
];

describe.each(['grpc', 'rest'] as const)('a list over %s', (way) => {
  let transport: Transport;
  beforeAll(() => {
    transport = plane[way];
  });
  const refused = (request: Request): Promise<Answer> =>
    transport.attempt(method.listExecutions, { id: PLACE, ...request });

  it.each(FILTERS)(
    'of executions has those that the filter %j selects, and so has their count',
    async (filters, expected) => {
      expect(await executions(transport, { filters })).toEqual(expected);
      const { phases } = await transport.call(ExecutionCountService.method.count, { ...PLACE, filters });
      const counts = phases.map(({ phase, count }) => [Phase[phase], Number(count)]);
      expect(counts).toEqual(expected.length > 0 ? [['SUCCEEDED', expected.length]] : []);
    },
  );

  it.each(REFUSED)('of executions refuses the filter %j, and so does their count', async (filters, text) => {
    const { code, message } = await refused({ filters });
    expect([code, message]).toEqual(['INVALID_ARGUMENT', expect.stringContaining(text)]);
    const count = await transport.attempt(ExecutionCountService.method.count, { ...PLACE, filters });
    expect([count.code, count.message]).toEqual([code, message]);
  });

  it.for(COLUMNS)(
    'of %s accepts every sort key, and each but id and deleted_at as a column of filters',
    async ([, list, { byName }, kinds], context) => {
      const named = Object.entries({ ...kinds, time: [...(kinds.time ?? []), 'created_at', 'updated_at'] });
      const sortKeys = Object.entries(byName).filter(([key, { sort }]) => sort !== false && !key.includes('.'));
      expect(new Set([...named.flatMap(([, names]) => names), ...BOOKKEEPING])).toEqual(
        new Set(sortKeys.map(([key]) => key)),
      );
      const all = [...(await list(transport, {}))].sort();
      expect(all.length).toBeGreaterThan(0);
      let cases = 0;
      for (const [kind, names] of named) {
        for (const key of names) {
          for (const direction of [Direction.DESCENDING, Direction.ASCENDING])
            expect([...(await list(transport, { sortBy: { key, direction } }))].sort()).toEqual(all);
          const value = VALUES[kind as Kind];
          expect(await list(transport, { filters: `eq(${key},${value})` })).toEqual([]);
          cases += 3; // two directions and a filter
        }
      }
      for (const key of BOOKKEEPING) {
        expect([...(await list(transport, { sortBy: { key, direction: Direction.ASCENDING } }))].sort()).toEqual(all);
        cases += 1;
      }
      counted(context, cases);
    },
  );

  it.each([
    [nodes, 'eq(execution.phase,SUCCEEDED)', true],
    [nodes, 'eq(execution.phase,FAILED)', false],
    [nodes, 'eq(node_execution.phase,SUCCEEDED)', true],
    [attempts, 'eq(task.name,hello.greet)', true],
    [attempts, 'eq(task.type,python-task)', true],
    [attempts, 'eq(task.type,spark)', false],
    [attempts, 'eq(execution.phase,SUCCEEDED)', true],
    [attempts, 'eq(node_execution.phase,FAILED)', false],
    [attempts, 'eq(retry_attempt,0)', true],
    [plans, 'eq(workflow.name,hello.hello)', true],
    [plans, 'eq(workflow.name,unknown)', false],
    [plans, 'ne(schedule_type,NONE)', false],
    [tasks, 'contains(version,v)+eq(task.name,hello.greet)', true],
  ] as const)(
    'filters by its own fields and by those of related entities: %o with %s has elements: %s',
    async (list, filters, isThere) => {
      expect((await list(transport, { filters })).length > 0).toBe(isThere);
    },
  );

  it.each([
    [nodes, 'eq(task.name,x)', "'t' entity is not allowed in filters"],
    [attempts, 'eq(launch_plan.name,x)', "'l' entity is not allowed in filters"],
    [tasks, 'eq(workflow.name,x)', "'w' entity is not allowed in filters"],
    [workflows, 'eq(task.name,x)', "'t' entity is not allowed in filters"],
    [plans, 'eq(execution.phase,x)', "'e' entity is not allowed in filters"],
    [projects, 'eq(execution.phase,x)', "'e' entity is not allowed in filters"],
    [projects, 'eq(nothing,x)', "'p.nothing' is invalid filter"],
    [nodes, 'eq(nothing,x)', "'ne.nothing' is invalid filter"],
    [attempts, 'eq(nothing,x)', "'te.nothing' is invalid filter"],
    [tasks, 'eq(nothing,x)', "'t.nothing' is invalid filter"],
    [workflows, 'eq(nothing,x)', "'w.nothing' is invalid filter"],
    [plans, 'eq(nothing,x)', "'l.nothing' is invalid filter"],
  ] as const)('refuses an entity or field that it does not have: %o %s', async (list, filters, text) => {
    await expect(list(transport, { filters })).rejects.toThrow(text);
  });

  it.each([
    ['launch_plan.name', "invalid sort key 'launch_plan.name'"],
    ['nothing', "invalid sort key 'nothing'"],
  ])('refuses to be sorted by %s', async (key, text) => {
    expect(await refused({ sortBy: { key, direction: Direction.DESCENDING } })).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining(text) as string,
    });
  });

  it('is in descending order where the direction is left out', async () => {
    const { executions: sorted } = await transport.call(method.listExecutions, {
      id: PLACE,
      sortBy: { key: 'execution_name' },
    });
    expect(sorted.map(({ id }) => id!.name)).toEqual([...ALL].reverse());
  });

  it.each(['-1', 'soon', '1.5'])('refuses the token %s', async (token) => {
    const { code, message } = await refused({ token });
    expect([code, message]).toEqual(['INVALID_ARGUMENT', `invalid pagination token ${token} for ListExecutions`]);
  });

  it('has next pages after names of 20,000 characters', async () => {
    const place = { ...PLACE, domain: way === 'grpc' ? 'staging' : 'production' };
    const long = ['a', 'b', 'c'].map((letter) => letter.repeat(20_000));
    for (const name of long) await registerTask(transport, { domain: place.domain, name });
    const byName = { key: 'name', direction: Direction.ASCENDING };
    const pages: ((token: string) => Promise<{ elements: readonly string[]; token: string }>)[] = [
      async (token) => {
        const page = await transport.call(method.listTasks, { id: place, limit: 1, token, sortBy: byName });
        return { elements: page.tasks.map(({ id }) => id!.name), token: page.token };
      },
      async (token) => {
        const page = await transport.call(method.listTaskIds, { ...place, limit: 1, token });
        return { elements: page.entities.map(({ name }) => name), token: page.token };
      },
      async (token) => {
        const resourceType = ResourceType.TASK;
        const page = await transport.call(method.listNamedEntities, { resourceType, ...place, limit: 1, token });
        return { elements: page.entities.map(({ id }) => id!.name), token: page.token };
      },
    ];
    for (const page of pages) expect(await allPages(page)).toEqual(long);
  });

  it('of names honours filters, and has each name once', async () => {
    const names = async (filters: string): Promise<readonly string[]> =>
      (await transport.call(method.listTaskIds, { ...PLACE, filters })).entities.map(({ name }) => name);
    expect(await names('')).toEqual(['hello.greet']);
    expect(await names('eq(version,v3)')).toEqual(['hello.greet']);
    expect(await names('eq(version,v9)')).toEqual([]);
  });

  it.each(['project', 'domain', 'name'])('of names accepts %s as its sort key', async (key) => {
    const sortBy = { key, direction: Direction.ASCENDING };
    const { entities } = await transport.call(method.listTaskIds, { ...PLACE, sortBy });
    expect(entities.map(({ name }) => name)).toEqual(['hello.greet']);
  });

  it('of names is not sorted by a column in which versions of a name differ', async () => {
    const sortBy = { key: 'version', direction: Direction.ASCENDING };
    expect(await transport.attempt(method.listTaskIds, { ...PLACE, sortBy })).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: "invalid sort key 'version': the keys are name, project, domain",
    });
  });

  it('of active launch plans has the active one', async () => {
    const { launchPlans } = await transport.call(method.listActiveLaunchPlans, PLACE);
    expect(launchPlans.map(({ id }) => id!.name)).toEqual(['hello.hello']);
  });

  it('has the newest version with a limit of 1, sorted by creation time, descending', async () => {
    const { tasks: newest } = await transport.call(method.listTasks, {
      id: { ...PLACE, name: 'hello.greet' },
      limit: 1,
      sortBy: { key: 'created_at', direction: Direction.DESCENDING },
    });
    expect(newest.map(({ id }) => id!.version)).toEqual(['v3']);
  });
});
