import { create } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import {
  type NodeExecutionEventRequest,
  NodeExecutionEventRequestSchema,
} from '../../../proto/gen/platformidl/admin/event_pb.js';
import type {
  NodeExecutionClosure,
  NodeExecutionMetaData,
} from '../../../proto/gen/platformidl/admin/node_execution_pb.js';
import { CatalogCacheStatus as Cache } from '../../../proto/gen/platformidl/core/catalog_pb.js';
import {
  ExecutionError_ErrorKind as Kind,
  NodeExecution_Phase as Phase,
} from '../../../proto/gen/platformidl/core/execution_pb.js';
import { NodeExecutionEventSchema } from '../../../proto/gen/platformidl/event/event_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { type ControlPlane, register, startControlPlane } from '../../support/processes/control-plane.js';
import { withNeeds } from '../../support/requests/fixtures.js';
import { launchHello, literal } from '../../support/requests/hello.js';
import { PLACE } from '../../support/requests/registrations.js';
import { type ExecutionId, HELLO_TASK, nodeReport, second } from '../../support/requests/reports.js';
import { all, type Changed, expectRefused, type Row, sampled } from '../../support/requests/rows.js';
import {
  again,
  type Asked,
  ended,
  expectShown,
  foreign,
  known,
  node,
  ok,
  refused,
  type Step,
  task,
  runSteps,
  workflow,
} from '../../support/requests/report-steps.js';

const { method } = AdminService;
const CHILD = { ...PLACE, name: 'child-of-a-node' };
const UNKNOWN = { ...PLACE, name: 'unknown' };

/** Limit of the server for outputs in an event; 1,000 characters, with the name of the output, are more. */
const MAX_OUTPUT_BYTES = 1_000;

let plane: ControlPlane;
let count = 0;
beforeAll(async () => {
  plane = await startControlPlane({ FLIGHTLOG_MAX_OUTPUT_BYTES: String(MAX_OUTPUT_BYTES) });
  await register(plane.grpc, withNeeds('01-hello'));
  for (const name of [CHILD.name, 'another-child']) await launchHello(plane.grpc, name);
});
afterAll(() => plane.close());

type PhaseName = keyof typeof Phase;
type NodeFields = NonNullable<Parameters<typeof node>[1]>;

const PHASES = [
  'UNDEFINED',
  'QUEUED',
  'RUNNING',
  'SUCCEEDED',
  'FAILING',
  'FAILED',
  'ABORTED',
  'SKIPPED',
  'TIMED_OUT',
  'DYNAMIC_RUNNING',
  'RECOVERED',
] as const;
const ENDS: ReadonlySet<string> = new Set(['SUCCEEDED', 'FAILED', 'ABORTED', 'SKIPPED', 'TIMED_OUT', 'RECOVERED']);

/** The expected answer to a report of `to` for a node in phase `from`. */
const stepTo = (from: string, to: string, ask: Asked): Step => {
  if (from === to) return known(ask);
  return ENDS.has(from) ? ended(ask, from) : ok(ask);
};

const MATRIX = PHASES.flatMap((from) => PHASES.map((to) => ({ from, to })));

/** A report of `n0` that occurred so many seconds after the start of 2026 (UTC). */
const at = (phase: PhaseName, seconds: number, more: NodeFields = {}) =>
  node(phase, { occurredAt: second(seconds), ...more });
const reportFrom = (producerId: string, phase: PhaseName = 'RUNNING') => node(phase, { producerId });
const queuedBy = (producerId: string) => workflow('QUEUED', { producerId });
/** A report of a node inside another one. */
const inside = (parent: string, nodeId = 'n0-0-n1') =>
  node('QUEUED', { parentNodeMetadata: { nodeId: parent } }, nodeId);
/** A report of a node that an attempt of a task of `n0` has created. */
const createdBy =
  (retryAttempt: number, taskId = HELLO_TASK, of?: ExecutionId): Asked =>
  (transport, id) => {
    const nodeExecutionId = { executionId: of ?? id, nodeId: 'n0' };
    return node(
      'QUEUED',
      { parentTaskMetadata: { id: { taskId, nodeExecutionId, retryAttempt } } },
      'dn0',
    )(transport, id);
  };
/** The execution that a workflow node has launched. */
const withChild = (executionId: ExecutionId): NodeFields => ({
  targetMetadata: { case: 'workflowNodeMetadata', value: { executionId } },
});

type Change = Changed<NodeExecutionEventRequest>;

const withoutId: Change = ({ event }) => {
  delete event!.id;
};
const withoutExecution: Change = ({ event }) => {
  delete event!.id!.executionId;
};
const without = (part: 'project' | 'domain' | 'name'): Change => {
  return ({ event }) => void (event!.id!.executionId![part] = '');
};
const unknownExecution: Change = ({ event }) => void (event!.id!.executionId!.name = 'unknown');
/** Sets a oneof of the event. */
const setOneof = (field: 'outputResult' | 'targetMetadata', fields: NodeFields): Change => {
  const value = create(NodeExecutionEventSchema, fields)[field];
  return ({ event }) => void Object.assign(event!, { [field]: value });
};
const outputs = (text: string): NodeFields => ({
  outputResult: { case: 'outputData', value: { literals: { o0: literal(text) } } },
});
const large = setOneof('outputResult', outputs('x'.repeat(MAX_OUTPUT_BYTES)));

type TaskMetadata = Extract<NonNullable<NodeFields['targetMetadata']>, { readonly case?: 'taskNodeMetadata' }>['value'];
const taskMetadata = (value: TaskMetadata & object): NodeFields => ({
  targetMetadata: { case: 'taskNodeMetadata', value },
});
const template = { id: { ...PLACE, name: 'made', version: 'v1' } };
const dynamicWorkflowNamed = (name: string, dynamicJobSpecUri = ''): TaskMetadata & object => ({
  dynamicWorkflow: {
    id: { ...PLACE, name },
    dynamicJobSpecUri,
    compiledWorkflow: { primary: { template: { ...template, id: { ...template.id, name } } } },
  },
});
const withDynamicWorkflow = (dynamicWorkflow: (TaskMetadata & object)['dynamicWorkflow'] & object): Change =>
  setOneof('targetMetadata', taskMetadata({ dynamicWorkflow }));
const workflowId = { ...PLACE, name: 'made' };

/** Invalid requests; a number is the step at which the RPC checks the rule. */
const REFUSED: readonly Row<typeof NodeExecutionEventRequestSchema>[] = [
  {
    rule: '1: an event',
    change: (request) => {
      delete request.event;
    },
    says: 'missing event',
  },
  { rule: '1: an identifier', change: withoutId, says: 'missing id' },
  { rule: '1: an execution in the identifier', change: withoutExecution, says: 'missing execution_id' },
  { rule: '1: a project of the execution', change: without('project'), says: 'missing project' },
  { rule: '1: a domain of the execution', change: without('domain'), says: 'missing domain' },
  { rule: '1: a name of the execution', change: without('name'), says: 'missing name' },
  {
    rule: '1: a node in the identifier',
    change: ({ event }) => void (event!.id!.nodeId = ''),
    says: 'missing node_id',
  },
  {
    rule: 'a time',
    change: ({ event }) => {
      delete event!.occurredAt;
    },
    says: 'missing occurred_at',
  },
  {
    rule: 'a phase that exists',
    change: ({ event }) => void Object.assign(event!, { phase: 11 }),
    says: 'phase: 11',
  },
  {
    rule: '1: the identifier of a dynamic workflow',
    change: withDynamicWorkflow({}),
    says: 'missing id of dynamic_workflow',
  },
  {
    rule: '1: the compiled dynamic workflow',
    change: withDynamicWorkflow({ id: workflowId }),
    says: 'missing compiled dynamic workflow',
  },
  {
    rule: '1: the primary workflow of the compiled dynamic workflow',
    change: withDynamicWorkflow({ id: workflowId, compiledWorkflow: {} }),
    says: 'missing primary dynamic workflow',
  },
  {
    rule: '1: a template of the primary workflow',
    change: withDynamicWorkflow({ id: workflowId, compiledWorkflow: { primary: { connections: {} } } }),
    says: 'missing primary dynamic workflow template',
  },
  {
    rule: '1: the execution in the metadata of a workflow node',
    change: setOneof('targetMetadata', { targetMetadata: { case: 'workflowNodeMetadata', value: {} } }),
    says: 'missing execution_id',
  },
  { rule: '1: outputs up to the limit', change: large, code: 'RESOURCE_EXHAUSTED', says: '> 1000)' },
  {
    rule: '2: an execution that exists',
    change: unknownExecution,
    code: 'NOT_FOUND',
    says: 'type execution with identifier',
  },
  {
    rule: 'order: 1 before 2',
    change: all(large, unknownExecution),
    code: 'RESOURCE_EXHAUSTED',
    says: 'Output data size',
  },
];

/** Reports one after another, and the rule that they show; a number is the step at which the RPC checks the rule. */
type Sequence = { readonly rule: string; readonly steps: readonly Step[] };

const DECIDED: readonly Sequence[] = [
  {
    rule: '3: only from the cluster that has the execution, or from propeller, a name that stands for no cluster',
    steps: [
      ok(queuedBy('east')),
      foreign(reportFrom('west'), 'west'),
      ok(reportFrom('east')),
      ok(reportFrom('propeller', 'SUCCEEDED')),
    ],
  },
  {
    rule: '3: only from the default engine where no cluster has the execution',
    steps: [foreign(reportFrom('west'), 'west'), ok(reportFrom('')), ok(reportFrom('propeller', 'SUCCEEDED'))],
  },
  {
    rule: '3 before 5: the cluster before the parent',
    steps: [foreign(node('QUEUED', { producerId: 'west', parentNodeMetadata: { nodeId: 'unknown' } }), 'west')],
  },
  {
    rule: '3 before 7: the cluster before the phase',
    steps: [ok(queuedBy('east')), ok(reportFrom('east')), foreign(reportFrom('west'), 'west')],
  },
  {
    rule: 'before 3: a repeated report is recognized, whichever cluster has the execution',
    steps: [ok(queuedBy('east')), ok(reportFrom('east')), ok(queuedBy('west')), again(reportFrom('east'))],
  },
  { rule: '5: inside a node that exists', steps: [ok(node('RUNNING')), ok(inside('n0'))] },
  {
    rule: '5: not inside a node that does not exist',
    steps: [refused('NOT_FOUND', inside('n0'), 'type node execution')],
  },
  {
    rule: '5: created by an attempt that exists',
    steps: [ok(node('RUNNING')), ok(task('RUNNING', { retryAttempt: 1 })), ok(createdBy(1))],
  },
  {
    rule: '5: not created by an attempt that does not exist',
    steps: [ok(node('RUNNING')), ok(task('RUNNING')), refused('NOT_FOUND', createdBy(1), 'retry_attempt:1')],
  },
  {
    rule: '5: not created by another task',
    steps: [
      ok(node('RUNNING')),
      ok(task('RUNNING')),
      refused('NOT_FOUND', createdBy(0, { ...HELLO_TASK, version: 'v2' }), 'type task execution'),
    ],
  },
  {
    rule: '5: not created by a task of another execution',
    steps: [
      ok(node('RUNNING')),
      ok(task('RUNNING')),
      refused('NOT_FOUND', createdBy(0, HELLO_TASK, CHILD), 'type task execution'),
    ],
  },
  {
    rule: '7: recorded once for the same time and content',
    steps: [ok(node('RUNNING')), again(node('RUNNING')), ok(node('SUCCEEDED')), again(node('RUNNING'))],
  },
  {
    rule: '7: new content of a known phase is recorded',
    steps: [
      ok(node('RUNNING')),
      known(node('RUNNING', { deckUri: 's3://b/d' })),
      again(node('RUNNING', { deckUri: 's3://b/d' })),
    ],
  },
  {
    rule: '7 before 8: a repeated end is already recorded',
    steps: [ok(node('FAILED')), again(node('FAILED')), known(at('FAILED', 60)), ended(node('SUCCEEDED'), 'FAILED')],
  },
  {
    rule: '8 before 9: the end is checked before the child',
    steps: [ok(node('FAILED')), ended(node('RUNNING', withChild(UNKNOWN)), 'FAILED')],
  },
  {
    rule: '9: with a child execution that exists',
    steps: [ok(node('QUEUED')), ok(node('RUNNING', withChild(CHILD)))],
  },
  {
    rule: '9: not with a child execution that does not exist',
    steps: [ok(node('QUEUED')), refused('NOT_FOUND', node('RUNNING', withChild(UNKNOWN)), 'type execution')],
  },
  {
    rule: '9: not with a child execution that does not exist, in the first report of the node either',
    steps: [refused('NOT_FOUND', node('RUNNING', withChild(UNKNOWN)), 'workflow_node_metadata')],
  },
  {
    rule: '9: not with a child execution that does not exist, in a repeated phase either: nothing would correct the link',
    steps: [
      ok(node('RUNNING')),
      refused('NOT_FOUND', node('RUNNING', withChild(UNKNOWN)), 'workflow_node_metadata'),
      known(node('RUNNING', withChild(CHILD))),
    ],
  },
  {
    rule: '10: phases may go back and forth until the end',
    steps: [
      ok(at('RUNNING', 1)),
      ok(at('QUEUED', 2)),
      ok(at('RUNNING', 3)),
      again(at('RUNNING', 1)),
      ok(at('DYNAMIC_RUNNING', 4)),
      ok(at('RUNNING', 5)),
      ok(at('SUCCEEDED', 6)),
    ],
  },
  {
    rule: 'after the end of its execution: one more report, of the end of the node',
    steps: [
      ok(node('RUNNING')),
      ok(workflow('FAILED')),
      ended(node('QUEUED'), 'ABORTED'),
      ok(node('SUCCEEDED')),
      ended(node('FAILED'), 'SUCCEEDED'),
    ],
  },
  {
    rule: 'after the end of its execution: a report of ABORTED',
    steps: [ok(node('RUNNING')), ok(workflow('FAILED')), ok(node('ABORTED')), ended(node('FAILED'), 'ABORTED')],
  },
  {
    rule: 'after the end of its execution: a first report, only of the end of the node',
    steps: [ok(workflow('FAILED')), ended(node('RUNNING'), 'ABORTED'), ok(node('SKIPPED'))],
  },
];

type Shown = Sequence & {
  readonly closure?: Partial<Record<keyof NodeExecutionClosure, unknown>>;
  readonly metadata?: Partial<Record<keyof NodeExecutionMetaData, unknown>>;
  readonly inputUri?: string;
};

const error = (code: string): NodeFields => ({
  outputResult: { case: 'error', value: { code, message: 'broken', kind: Kind.SYSTEM } },
});
const located = (value: string): NodeFields => ({ outputResult: { case: 'outputUri', value } });
const reading = (value: string): NodeFields => ({ inputValue: { case: 'inputUri', value } });
const catalogKey = { datasetId: { ...PLACE, name: 'catalog' } };
const hit = { cacheStatus: Cache.CACHE_HIT, catalogKey };
const shownTaskMetadata = (value: object) => ({ targetMetadata: { case: 'taskNodeMetadata', value } });

const FOLDS: readonly Shown[] = [
  ...PHASES.map((phase) => ({
    rule: `${phase} from its first event on`,
    steps: [ok(at(phase, 20))],
    closure: { phase: Phase[phase], createdAt: second(20), updatedAt: second(20) },
  })),
  {
    rule: 'created when its first event occurred',
    steps: [ok(at('QUEUED', 20)), ok(at('RUNNING', 10))],
    closure: { createdAt: second(20) },
  },
  {
    rule: 'updated when an event was reported',
    steps: [ok(at('QUEUED', 20, { reportedAt: second(25) }))],
    closure: { updatedAt: second(25) },
  },
  {
    rule: 'updated when the event occurred, if the report has the time zero',
    steps: [ok(at('QUEUED', 20, { reportedAt: {} }))],
    closure: { updatedAt: second(20) },
  },
  {
    rule: 'never updated backwards',
    steps: [ok(at('QUEUED', 20, { reportedAt: second(90) })), ok(at('RUNNING', 30))],
    closure: { updatedAt: second(90) },
  },
  {
    rule: 'started with its earliest RUNNING',
    steps: [ok(at('RUNNING', 20)), ok(at('QUEUED', 25)), ok(at('RUNNING', 30)), known(at('RUNNING', 15))],
    closure: { startedAt: second(15) },
  },
  {
    rule: 'never started where it was not RUNNING',
    steps: [ok(at('QUEUED', 20)), ok(at('DYNAMIC_RUNNING', 25)), ok(at('SUCCEEDED', 30))],
    closure: { startedAt: undefined, duration: undefined },
  },
  ...(['SUCCEEDED', 'FAILED', 'ABORTED', 'SKIPPED', 'TIMED_OUT', 'RECOVERED'] as const).map((phase) => ({
    rule: `with a duration when it is ${phase}`,
    steps: [ok(at('RUNNING', 10)), ok(at(phase, 70))],
    closure: { duration: { seconds: 60n, nanos: 0 } },
  })),
  {
    rule: 'without a duration while it is FAILING',
    steps: [ok(at('RUNNING', 10)), ok(at('FAILING', 70))],
    closure: { duration: undefined },
  },
  {
    rule: 'with the location of its outputs',
    steps: [ok(node('SUCCEEDED', located('s3://b/o')))],
    closure: { outputResult: { case: 'outputUri', value: 's3://b/o' } },
  },
  { rule: 'with its outputs', steps: [ok(node('SUCCEEDED', outputs('all well')))], closure: outputs('all well') },
  { rule: 'with its error', steps: [ok(node('FAILED', error('OOM')))], closure: error('OOM') },
  {
    rule: 'with no result before it ends',
    steps: [ok(node('FAILING', error('OOM')))],
    closure: { outputResult: { case: undefined } },
  },
  {
    rule: 'with the result that came before it ended, where none came with the end',
    steps: [ok(node('FAILING', error('OOM'))), ok(node('FAILED'))],
    closure: error('OOM'),
  },
  {
    rule: 'with a result that came after the end',
    steps: [ok(node('SUCCEEDED')), known(node('SUCCEEDED', located('s3://b/o')))],
    closure: { outputResult: { case: 'outputUri', value: 's3://b/o' } },
  },
  {
    rule: 'without the error of a failure after which it succeeded',
    steps: [ok(node('RUNNING', error('OOM'))), ok(node('SUCCEEDED'))],
    closure: { outputResult: { case: undefined } },
  },
  {
    rule: 'with its deck, whichever phase it came in',
    steps: [ok(node('RUNNING')), known(node('RUNNING', { deckUri: 's3://b/d' })), ok(node('SUCCEEDED'))],
    closure: { deckUri: 's3://b/d' },
  },
  {
    rule: 'with the deck that came last',
    steps: [ok(node('RUNNING', { deckUri: 's3://b/1' })), ok(node('SUCCEEDED', { deckUri: 's3://b/2' }))],
    closure: { deckUri: 's3://b/2' },
  },
  {
    rule: 'with the location of its inputs from the first report that has one',
    steps: [ok(node('QUEUED')), ok(node('RUNNING', reading('s3://b/1'))), ok(node('SUCCEEDED', reading('s3://b/2')))],
    inputUri: 's3://b/1',
  },
  {
    rule: 'with the retry group and the spec id of its first event',
    steps: [ok(node('QUEUED', { retryGroup: '1', specNodeId: 'spec' })), ok(node('RUNNING', { retryGroup: '2' }))],
    metadata: { retryGroup: '1', specNodeId: 'spec' },
  },
  {
    rule: 'with the kinds (parent, dynamic, array, eager) of all its events',
    steps: [
      ok(node('QUEUED', { isParent: true })),
      ok(node('RUNNING', { isDynamic: true })),
      known(node('RUNNING', { isArray: true })),
      ok(node('SUCCEEDED', { isEager: true })),
    ],
    metadata: { isParentNode: true, isDynamic: true, isArray: true, isEager: true },
  },
  {
    rule: 'with no kind where none is reported',
    steps: [ok(node('RUNNING'))],
    metadata: { isParentNode: false, isDynamic: false, isArray: false, isEager: false },
  },
  { rule: 'with its cache status', steps: [ok(node('SUCCEEDED', taskMetadata(hit)))], closure: shownTaskMetadata(hit) },
  {
    rule: 'with its cache status when later events do not report it',
    steps: [ok(node('RUNNING', taskMetadata(hit))), ok(node('SUCCEEDED', taskMetadata({ checkpointUri: 's3://b/c' })))],
    closure: shownTaskMetadata({ ...hit, checkpointUri: 's3://b/c' }),
  },
  {
    rule: 'with the cache status of a repeated report of a phase',
    steps: [ok(node('RUNNING')), known(node('RUNNING', taskMetadata(hit)))],
    closure: shownTaskMetadata(hit),
  },
  {
    rule: 'with its checkpoint',
    steps: [ok(node('RUNNING', taskMetadata({ checkpointUri: 's3://b/c' }))), ok(node('FAILED'))],
    closure: shownTaskMetadata({ checkpointUri: 's3://b/c' }),
  },
  {
    rule: 'with its child execution, also when its first event names it',
    steps: [ok(node('RUNNING', withChild(CHILD))), ok(node('SUCCEEDED'))],
    closure: { targetMetadata: { case: 'workflowNodeMetadata', value: { executionId: CHILD } } },
  },
  {
    rule: 'with its first child execution, which later reports do not replace',
    steps: [
      ok(node('RUNNING')),
      known(node('RUNNING', withChild(CHILD))),
      ok(node('SUCCEEDED', withChild({ ...CHILD, name: 'another-child' }))),
    ],
    closure: { targetMetadata: { case: 'workflowNodeMetadata', value: { executionId: CHILD } } },
  },
  {
    rule: 'with the location of its dynamic workflow',
    steps: [ok(node('DYNAMIC_RUNNING', taskMetadata(dynamicWorkflowNamed('made', 's3://b/j')))), ok(node('SUCCEEDED'))],
    closure: { dynamicJobSpecUri: 's3://b/j' },
  },
  {
    rule: 'ABORTED with its execution, with an error that says so',
    steps: [ok(at('RUNNING', 10)), ok(workflow('FAILED', { occurredAt: second(70) }))],
    closure: {
      phase: Phase.ABORTED,
      updatedAt: second(70),
      duration: { seconds: 60n, nanos: 0 },
      outputResult: { case: 'error', value: { code: 'ExecutionEnded', kind: Kind.SYSTEM } },
    },
  },
  {
    rule: 'ABORTED with an execution that SUCCEEDED, without an error',
    steps: [ok(at('RUNNING', 10)), ok(workflow('SUCCEEDED', { occurredAt: second(70) }))],
    closure: { phase: Phase.ABORTED, outputResult: { case: undefined } },
  },
  {
    rule: 'as its engine reports it after the end of the execution',
    steps: [ok(at('RUNNING', 10)), ok(workflow('FAILED')), ok(at('SUCCEEDED', 20, located('s3://b/o')))],
    closure: {
      phase: Phase.SUCCEEDED,
      duration: { seconds: 10n, nanos: 0 },
      outputResult: { case: 'outputUri', value: 's3://b/o' },
    },
  },
  {
    rule: 'unchanged when its execution ends after it',
    steps: [ok(node('FAILED', error('OOM'))), ok(workflow('FAILED'))],
    closure: { phase: Phase.FAILED, ...error('OOM') },
  },
];

type Found = Sequence & { readonly filters: string };

const FILTERS: readonly Found[] = [
  { rule: 'its phase', steps: [ok(node('FAILING'))], filters: 'eq(phase,FAILING)' },
  { rule: 'its time of creation', steps: [ok(at('QUEUED', 20))], filters: 'eq(created_at,2026-01-01T00:00:20Z)' },
  { rule: 'its time of start', steps: [ok(at('RUNNING', 20))], filters: 'eq(started_at,2026-01-01T00:00:20Z)' },
  {
    rule: 'its time of update',
    steps: [ok(at('RUNNING', 20, { reportedAt: second(25) }))],
    filters: 'eq(node_execution_updated_at,2026-01-01T00:00:25Z)',
  },
  { rule: 'its duration', steps: [ok(at('RUNNING', 10)), ok(at('FAILED', 70))], filters: 'eq(duration,60)' },
  { rule: 'the kind of its error', steps: [ok(node('FAILED', error('OOM')))], filters: 'eq(error_kind,SYSTEM)' },
  { rule: 'the code of its error', steps: [ok(node('FAILED', error('OOM')))], filters: 'eq(error_code,OOM)' },
  {
    rule: 'its cache status',
    steps: [ok(node('SUCCEEDED', taskMetadata(hit)))],
    filters: 'eq(cache_status,CACHE_HIT)',
  },
  {
    rule: 'the URI of its inputs',
    steps: [ok(node('QUEUED', reading('s3://b/i')))],
    filters: 'eq(input_uri,s3://b/i)',
  },
];

describe.each(['grpc', 'rest'] as const)('over %s', (way) => {
  const launch = (): Promise<ExecutionId> => launchHello(plane[way], `steps-${way}-${(count += 1)}`);
  const get = (executionId: ExecutionId, nodeId = 'n0') =>
    plane[way].call(method.getNodeExecution, { id: { executionId, nodeId } });
  const childrenOf = async (workflowExecutionId: ExecutionId, uniqueParentId = '', filters = '') => {
    const request = { workflowExecutionId, uniqueParentId, filters };
    const { nodeExecutions } = await plane[way].call(method.listNodeExecutions, request);
    return nodeExecutions.map(({ id }) => id!.nodeId);
  };

  describe('CreateNodeEvent requires', () => {
    let id: ExecutionId;
    beforeAll(async () => {
      id = await launch();
    });
    const whole = () => create(NodeExecutionEventRequestSchema, nodeReport({ ...id }, 'n0', { phase: Phase.RUNNING }));

    it.each(REFUSED)('$rule', async (row) => {
      await expectRefused(plane, way, [method.createNodeEvent, whole], row);
    });
  });

  describe('a node has the phase that was reported last, unless it had ended before:', () => {
    let id: ExecutionId;
    beforeAll(async () => {
      id = await launch();
    });

    it.each(sampled(way, MATRIX))('$from, then $to', async ({ from: before, to }) => {
      const nodeId = `${before}-${to}`;
      const step = stepTo(before, to, node(to, { occurredAt: second(60) }, nodeId));
      await runSteps(plane, way, id, [ok(node(before, {}, nodeId)), step]);
      expect(Phase[(await get(id, nodeId)).closure!.phase]).toBe(step.code === 'OK' ? to : before);
    });
  });

  describe('a report of a node is accepted or refused', () => {
    it.each(DECIDED)('$rule', async ({ steps }) => runSteps(plane, way, await launch(), steps));
  });

  describe('a node is shown', () => {
    it.each(sampled(way, FOLDS))('$rule', async ({ steps, closure = {}, metadata = {}, inputUri = '' }) => {
      const id = await launch();
      await runSteps(plane, way, id, steps);
      const shown = await get(id);
      expectShown(shown.closure, closure);
      expectShown(shown.metadata, metadata);
      expect(shown.inputUri).toBe(inputUri);
    });

    it('under its parent, and nowhere else', async () => {
      const id = await launch();
      await runSteps(plane, way, id, [ok(node('RUNNING')), ok(inside('n0')), ok(node('RUNNING', {}, 'n0-0-n1'))]);
      expect([await childrenOf(id), await childrenOf(id, 'n0')]).toEqual([['n0'], ['n0-0-n1']]);
    });

    it('not at the root when a task has created it', async () => {
      const id = await launch();
      await runSteps(plane, way, id, [ok(node('RUNNING')), ok(task('RUNNING')), ok(createdBy(0))]);
      expect(await childrenOf(id)).toEqual(['n0']);
    });

    it('with the inputs and the outputs that came with its events', async () => {
      const executionId = await launch();
      const inputs: NodeFields = { inputValue: { case: 'inputData', value: { literals: { name: literal('Ada') } } } };
      await runSteps(plane, way, executionId, [ok(node('RUNNING', inputs)), ok(node('SUCCEEDED', outputs('Hello')))]);
      const data = await plane[way].call(method.getNodeExecutionData, { id: { executionId, nodeId: 'n0' } });
      expectShown(data, {
        fullInputs: { literals: { name: literal('Ada') } },
        fullOutputs: { literals: { o0: literal('Hello') } },
      });
    });

    it('with its latest dynamic workflow', async () => {
      const executionId = await launch();
      const twice = [
        ok(node('RUNNING', taskMetadata(dynamicWorkflowNamed('first')))),
        ok(node('DYNAMIC_RUNNING', taskMetadata(dynamicWorkflowNamed('last')))),
      ];
      await runSteps(plane, way, executionId, [...twice, ok(node('SUCCEEDED', taskMetadata(hit)))]);
      const id = { executionId, nodeId: 'n0' };
      const { compiledWorkflow } = await plane[way].call(method.getDynamicNodeWorkflow, { id });
      expect(compiledWorkflow!.primary!.template!.id!.name).toBe('last');
    });
  });

  describe('a node is found by', () => {
    it.each(FILTERS)('$rule', async ({ steps, filters }) => {
      const id = await launch();
      await runSteps(plane, way, id, [ok(node('UNDEFINED', {}, 'other')), ...steps]);
      expect(await childrenOf(id, '', filters)).toEqual(['n0']);
    });
  });
});
