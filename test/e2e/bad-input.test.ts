import {
  clone,
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
} from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { ExecutionCreateRequestSchema } from '../../proto/gen/platformidl/admin/execution_pb.js';
import { LaunchPlanState } from '../../proto/gen/platformidl/admin/launch_plan_pb.js';
import { TaskCreateRequestSchema } from '../../proto/gen/platformidl/admin/task_pb.js';
import {
  NodeExecution_Phase as NodePhase,
  TaskExecution_Phase as TaskPhase,
  WorkflowExecution_Phase as Phase,
} from '../../proto/gen/platformidl/core/execution_pb.js';
import { LiteralSchema } from '../../proto/gen/platformidl/core/literals_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { type ControlPlane, register, startControlPlane } from '../support/processes/control-plane.js';
import { fixtureBytes, withNeeds } from '../support/requests/fixtures.js';
import { helloRequest, literal } from '../support/requests/hello.js';
import { nodeReport, taskReport, workflowReport } from '../support/requests/reports.js';
import type { Answer, Transport } from '../support/clients/transports.js';

const { method } = AdminService;
const SCOPE = { project: 'flytesnacks', domain: 'development' };
/** Nothing is registered or launched under this id. */
const NOWHERE = { ...SCOPE, name: 'nobody-launched-this' };

let plane: ControlPlane;

beforeAll(async () => {
  plane = await startControlPlane();
  await register(plane.grpc, withNeeds('01-hello', '02-diamond'));
});
afterAll(() => plane.close());

/** One bad request of an RPC: its fault, the expected status and message, and the function that sends it. */
type Bad = readonly [what: string, code: string, text: RegExp, ask: (transport: Transport) => Promise<Answer>];

const bad = <I extends DescMessage>(
  what: string,
  rpc: DescMethodUnary<I>,
  request: MessageInitShape<I>,
  [code, text]: readonly [code: string, text: RegExp],
): Bad => [what, code, text, (transport) => transport.attempt(rpc, request)];

/** A launch of `hello.hello` with one change that makes it bad. */
const launches = (what: string, change: Parameters<typeof helloRequest>[1], text: RegExp, code = 'INVALID_ARGUMENT') =>
  bad(what, method.createExecution, helloRequest('never-launched', change), [code, text]);

const recordedTask = fromBinary(TaskCreateRequestSchema, fixtureBytes('01-hello/001-task.create_request.pb'));
/** The same version of the task with another content. */
const otherTask = clone(TaskCreateRequestSchema, recordedTask);
otherTask.spec!.template!.metadata!.discoverable = true;
const diamond = fromBinary(ExecutionCreateRequestSchema, fixtureBytes('02-diamond/execute-01.create_request.pb'));
/** A launch without the input `survey`, which its launch plan requires. */
const withoutSurvey = (): typeof diamond => {
  const { survey: _, ...literals } = diamond.inputs!.literals;
  return { ...diamond, name: 'never-launched', inputs: { ...diamond.inputs!, literals } };
};

const WRITES: readonly Bad[] = [
  launches(
    'an unknown project',
    (request) => {
      request.project = 'atlantis';
    },
    /project \[atlantis\]/u,
  ),
  launches(
    'an unknown domain',
    (request) => {
      request.domain = 'qa';
    },
    /domain \[qa\]/u,
  ),
  launches(
    'a missing launch plan',
    (request) => {
      delete request.spec!.launchPlan;
    },
    /missing id of spec\.launch_plan$/u,
  ),
  launches(
    'a malformed name',
    (request) => {
      request.name = 'Never_launched';
    },
    /invalid name format: Never_launched/u,
  ),
  launches(
    'a wrong input type',
    (request) => {
      request.inputs!.literals['times'] = create(LiteralSchema, literal('twice'));
    },
    /invalid times input wrong type/u,
  ),
  launches(
    'an input that the launch plan does not have',
    (request) => {
      request.inputs!.literals['colour'] = create(LiteralSchema, literal('red'));
    },
    /invalid input colour/u,
  ),
  bad('a missing required input', method.createExecution, withoutSurvey(), [
    'INVALID_ARGUMENT',
    /expected_inputs survey missing/u,
  ]),
  launches(
    'an unknown launch plan',
    (request) => {
      request.spec!.launchPlan!.name = 'hello.goodbye';
    },
    /missing entity of type LAUNCH_PLAN .*hello\.goodbye/u,
    'NOT_FOUND',
  ),
  bad('a duplicate version', method.createTask, recordedTask, ['ALREADY_EXISTS', /identical/u]),
  bad('a duplicate version with another content', method.createTask, otherTask, ['ALREADY_EXISTS', /different/u]),
  bad(
    'a workflow event for an unknown execution',
    method.createWorkflowEvent,
    workflowReport(NOWHERE, { phase: Phase.RUNNING }),
    ['NOT_FOUND', /missing entity of type execution .*nobody-launched-this/u],
  ),
  bad(
    'a node event for an unknown execution',
    method.createNodeEvent,
    nodeReport(NOWHERE, 'n0', { phase: NodePhase.RUNNING }),
    ['NOT_FOUND', /execution.*nobody-launched-this/u],
  ),
  bad(
    'a task event for an unknown execution',
    method.createTaskEvent,
    taskReport(NOWHERE, 'n0', { phase: TaskPhase.RUNNING }),
    ['NOT_FOUND', /missing entity of type execution .*nobody-launched-this/u],
  ),
  bad('a report without its event', method.createWorkflowEvent, {}, ['INVALID_ARGUMENT', /event/u]),
  bad('an event without an execution', method.createWorkflowEvent, { event: { phase: Phase.RUNNING } }, [
    'INVALID_ARGUMENT',
    /missing execution_id/u,
  ]),
  bad(
    'an event without a time',
    method.createTaskEvent,
    taskReport(NOWHERE, 'n0', { phase: TaskPhase.RUNNING, occurredAt: undefined }),
    ['INVALID_ARGUMENT', /occurred_at/u],
  ),
  bad(
    'an event of a node without an id',
    method.createNodeEvent,
    nodeReport(NOWHERE, '', { phase: NodePhase.RUNNING }),
    ['INVALID_ARGUMENT', /node_id/u],
  ),
  bad('a termination of an unknown execution', method.terminateExecution, { id: NOWHERE, cause: 'tired of it' }, [
    'NOT_FOUND',
    /missing entity of type execution/u,
  ]),
  bad('a recovery of an unknown execution', method.recoverExecution, { id: NOWHERE }, ['NOT_FOUND', /execution/u]),
  bad('a relaunch without an id', method.relaunchExecution, {}, ['INVALID_ARGUMENT', /missing id/u]),
  bad(
    'an activation of an unknown launch plan',
    method.updateLaunchPlan,
    { id: { ...NOWHERE, version: 'v1' }, state: LaunchPlanState.ACTIVE },
    ['NOT_FOUND', /LAUNCH_PLAN/u],
  ),
];

const list = { id: SCOPE };
const sortBy = (key: string, direction = 0) => ({ ...list, sortBy: { key, direction } });
const INVALID = 'INVALID_ARGUMENT';

const READS: readonly Bad[] = [
  bad('an execution that is not there', method.getExecution, { id: NOWHERE }, [
    'NOT_FOUND',
    /execution .*nobody-launched/u,
  ]),
  bad('a version that is not there', method.getWorkflow, { id: { ...NOWHERE, version: 'v9' } }, [
    'NOT_FOUND',
    /WORKFLOW/u,
  ]),
  bad('a project that is not there', method.getProject, { id: 'atlantis' }, ['NOT_FOUND', /project \[atlantis\]/u]),
  bad('an unknown filter field', method.listExecutions, { ...list, filters: 'eq(colour,red)' }, [
    INVALID,
    /e\.colour.* is invalid filter/u,
  ]),
  bad('an unknown filter function', method.listExecutions, { ...list, filters: 'like(phase,RUNNING)' }, [
    INVALID,
    /unrecognized filter function: like/u,
  ]),
  bad('a filter without a function', method.listExecutions, { ...list, filters: 'phase=RUNNING' }, [
    INVALID,
    /invalid value for filters/u,
  ]),
  bad('filters that end with a plus sign', method.listTasks, { ...list, filters: 'eq(name,x)+' }, [
    INVALID,
    /invalid value for filters/u,
  ]),
  bad('a filter by a malformed time', method.listExecutions, { ...list, filters: 'gte(started_at,yesterday)' }, [
    INVALID,
    /started_at.*yesterday/u,
  ]),
  bad('a filter by a malformed duration', method.listExecutions, { ...list, filters: 'gt(duration,long)' }, [
    INVALID,
    /duration \[long\]/u,
  ]),
  bad('a bad token', method.listExecutions, { ...list, token: 'next' }, [
    INVALID,
    /invalid pagination token next for ListExecutions/u,
  ]),
  bad('a negative offset', method.listWorkflows, { ...list, token: '-1' }, [
    INVALID,
    /invalid pagination token -1 for ListWorkflows/u,
  ]),
  bad('a bad sort key', method.listExecutions, sortBy('colour'), [INVALID, /invalid sort key 'colour'/u]),
  bad('a bad sort order', method.listLaunchPlans, sortBy('name', 7), [
    INVALID,
    /(?:invalid sort order specified|invalid value for sort_by\.direction): .?7/u,
  ]),
];

describe.each(['grpc', 'rest'] as const)('an invalid request over %s', (way) => {
  let transport: Transport;
  beforeAll(() => {
    transport = plane[way];
  });

  it.each([...WRITES, ...READS])(
    'is refused with a status and message for its fault, and changes nothing: %s',
    async (_what, code, text, ask) => {
      const answer = await plane.unchanged(() => ask(transport));
      expect([answer.code, answer.message]).toEqual([code, expect.stringMatching(text)]);
    },
  );
});
