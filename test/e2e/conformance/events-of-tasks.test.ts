import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import {
  type TaskExecutionEventRequest,
  TaskExecutionEventRequestSchema,
} from '../../../proto/gen/platformidl/admin/event_pb.js';
import type { TaskExecutionClosure } from '../../../proto/gen/platformidl/admin/task_execution_pb.js';
import { CatalogCacheStatus as Cache } from '../../../proto/gen/platformidl/core/catalog_pb.js';
import {
  ExecutionError_ErrorKind as Kind,
  TaskExecution_Phase as Phase,
} from '../../../proto/gen/platformidl/core/execution_pb.js';
import { ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import {
  type ExternalResourceInfoSchema,
  TaskExecutionEventSchema,
  TaskExecutionMetadata_InstanceClass as Instance,
} from '../../../proto/gen/platformidl/event/event_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { type ControlPlane, register, startControlPlane } from '../../support/processes/control-plane.js';
import { withNeeds } from '../../support/requests/fixtures.js';
import { launchHello, literal } from '../../support/requests/hello.js';
import { type ExecutionId, HELLO_TASK, second, taskReport } from '../../support/requests/reports.js';
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
  type Step,
  task,
  runSteps,
  workflow,
} from '../../support/requests/report-steps.js';

const { method } = AdminService;

/** Limit of the server for outputs in an event; 1,000 characters, with the name of the output, are more. */
const MAX_OUTPUT_BYTES = 1_000;

let plane: ControlPlane;
let count = 0;
beforeAll(async () => {
  plane = await startControlPlane({ FLIGHTLOG_MAX_OUTPUT_BYTES: String(MAX_OUTPUT_BYTES) });
  await register(plane.grpc, withNeeds('01-hello'));
});
afterAll(() => plane.close());

type PhaseName = keyof typeof Phase;
type TaskFields = NonNullable<Parameters<typeof task>[1]>;

const PHASES = [
  'UNDEFINED',
  'QUEUED',
  'RUNNING',
  'SUCCEEDED',
  'ABORTED',
  'FAILED',
  'INITIALIZING',
  'WAITING_FOR_RESOURCES',
  'RETRYABLE_FAILED',
] as const;
const ENDS: ReadonlySet<string> = new Set(['SUCCEEDED', 'ABORTED', 'FAILED']);

/** The expected answer to a report of `to` for an attempt in phase `from`. */
const stepTo = (from: string, to: string, ask: Asked): Step => {
  if (from === to) return known(ask);
  return ENDS.has(from) ? ended(ask, from) : ok(ask);
};

/** Every pair of phases; each has its own attempt, so that all can be reported of one task. */
const MATRIX = PHASES.flatMap((from, row) =>
  PHASES.map((to, column) => ({ from, to, attempt: row * PHASES.length + column })),
);

/** A report that occurred so many seconds after the start of 2026 (UTC). */
const at = (phase: PhaseName, seconds: number, more: TaskFields = {}) =>
  task(phase, { occurredAt: second(seconds), ...more });
/** A report of a version of a phase. */
const version = (phase: PhaseName, phaseVersion: number, seconds = phaseVersion) =>
  at(phase, seconds, { phaseVersion });
const reportFrom = (producerId: string, phase: PhaseName = 'RUNNING') => task(phase, { producerId });
const queuedBy = (producerId: string) => workflow('QUEUED', { producerId });

type Change = Changed<TaskExecutionEventRequest>;

const noTime: Change = ({ event }) => {
  delete event!.occurredAt;
};
const noNode: Change = ({ event }) => {
  delete event!.parentNodeExecutionId;
};
const noExecution: Change = ({ event }) => {
  delete event!.parentNodeExecutionId!.executionId;
};
const noTask: Change = ({ event }) => {
  delete event!.taskId;
};
const withoutPart = (part: 'project' | 'domain' | 'name'): Change => {
  return ({ event }) => void (event!.parentNodeExecutionId!.executionId![part] = '');
};
const taskWithout = (part: 'project' | 'domain' | 'name' | 'version'): Change => {
  return ({ event }) => void (event!.taskId![part] = '');
};
const ofNode =
  (nodeId: string): Change =>
  ({ event }) =>
    void (event!.parentNodeExecutionId!.nodeId = nodeId);
const ofType =
  (type: ResourceType): Change =>
  ({ event }) =>
    void (event!.taskId!.resourceType = type);
const unknownExecution: Change = ({ event }) => void (event!.parentNodeExecutionId!.executionId!.name = 'unknown');
const west: Change = ({ event }) => void (event!.producerId = 'west');
const outputs = (text: string): TaskFields => ({
  outputResult: { case: 'outputData', value: { literals: { o0: literal(text) } } },
});
const large: Change = ({ event }) => {
  event!.outputResult = create(TaskExecutionEventSchema, outputs('x'.repeat(MAX_OUTPUT_BYTES))).outputResult;
};

/** Invalid requests; a number is the step at which the RPC checks the rule. */
const REFUSED: readonly Row<typeof TaskExecutionEventRequestSchema>[] = [
  {
    rule: '1: an event',
    change: (request) => {
      delete request.event;
    },
    says: 'missing event',
  },
  { rule: '1: a time', change: noTime, says: 'missing occurred_at' },
  { rule: '2: outputs up to the limit', change: large, code: 'RESOURCE_EXHAUSTED', says: '> 1000)' },
  { rule: '3: a node', change: noNode, says: 'missing node_execution_id' },
  { rule: '3: an execution of the node', change: noExecution, says: 'missing execution_id' },
  { rule: '3: a project of the execution', change: withoutPart('project'), says: 'missing project' },
  { rule: '3: a domain of the execution', change: withoutPart('domain'), says: 'missing domain' },
  { rule: '3: a name of the execution', change: withoutPart('name'), says: 'missing name' },
  { rule: '3: an id of the node', change: ofNode(''), says: 'missing node_id' },
  { rule: '3: a task id', change: noTask, says: 'missing task_id' },
  { rule: '3: a task id of resource type TASK', change: ofType(ResourceType.WORKFLOW), says: 'resource_type' },
  { rule: '3: a resource type in the task id', change: ofType(ResourceType.UNSPECIFIED), says: 'resource_type' },
  { rule: '3: a project in the task id', change: taskWithout('project'), says: 'missing project of task_id' },
  { rule: '3: a domain in the task id', change: taskWithout('domain'), says: 'missing domain of task_id' },
  { rule: '3: a name in the task id', change: taskWithout('name'), says: 'missing name of task_id' },
  { rule: '3: a version in the task id', change: taskWithout('version'), says: 'missing version of task_id' },
  { rule: 'a phase that exists', change: ({ event }) => void Object.assign(event!, { phase: 9 }), says: 'phase: 9' },
  { rule: '4: an execution that exists', change: unknownExecution, code: 'NOT_FOUND', says: 'type execution with' },
  { rule: '5: the cluster that has the execution', change: west, code: 'FAILED_PRECONDITION', says: 'cluster [west]' },
  { rule: '6: a node that exists', change: ofNode('n9'), code: 'NOT_FOUND', says: 'type node execution' },
  { rule: 'order: 1 before 2', change: all(noTime, large), says: 'missing occurred_at' },
  { rule: 'order: 2 before 3', change: all(large, noTask), code: 'RESOURCE_EXHAUSTED', says: 'Output data size' },
  { rule: 'order: 3 before 4', change: all(noTask, unknownExecution), says: 'missing task_id' },
  { rule: 'order: 4 before 5', change: all(unknownExecution, west), code: 'NOT_FOUND', says: 'type execution with' },
  {
    rule: 'order: 5 before 6',
    change: all(west, ofNode('n9')),
    code: 'FAILED_PRECONDITION',
    says: 'cluster [west]',
  },
];

/** Reports one after another, and the rule that they show; a number is the step at which the RPC checks the rule. */
type Sequence = { readonly rule: string; readonly steps: readonly Step[] };

const DECIDED: readonly Sequence[] = [
  {
    rule: '5: only from the cluster that has the execution, or from propeller, a name that stands for no cluster',
    steps: [
      ok(queuedBy('east')),
      foreign(reportFrom('west'), 'west'),
      ok(reportFrom('east')),
      ok(reportFrom('propeller', 'SUCCEEDED')),
    ],
  },
  {
    rule: '5 before 8: the cluster before the phase',
    steps: [ok(queuedBy('east')), ok(reportFrom('east')), foreign(reportFrom('west'), 'west')],
  },
  {
    rule: 'before 5: a repeated report is recognized, whichever cluster has the execution',
    steps: [ok(queuedBy('east')), ok(reportFrom('east')), ok(queuedBy('west')), again(reportFrom('east'))],
  },
  {
    rule: '7: each attempt has phases of its own',
    steps: [ok(task('FAILED')), ok(task('QUEUED', { retryAttempt: 1 }))],
  },
  {
    rule: '7: each task of a node has phases of its own',
    steps: [ok(task('FAILED')), ok(task('QUEUED', { taskId: { ...HELLO_TASK, version: 'v2' } }))],
  },
  {
    rule: '8: recorded once for the same time and content',
    steps: [ok(task('RUNNING')), again(task('RUNNING')), ok(task('SUCCEEDED')), again(task('RUNNING'))],
  },
  {
    rule: '8: with a phase version above the last one of the phase',
    steps: [ok(version('RUNNING', 0)), ok(version('RUNNING', 1)), ok(version('RUNNING', 7))],
  },
  {
    rule: '8: not with the last phase version again, but its new content is recorded',
    steps: [ok(version('RUNNING', 2)), again(version('RUNNING', 2)), known(version('RUNNING', 2, 5))],
  },
  {
    rule: '8: not with a lower phase version, but its new content is recorded',
    steps: [ok(version('RUNNING', 2)), known(version('RUNNING', 1)), again(version('RUNNING', 1))],
  },
  {
    rule: '8: with a lower phase version after a report of another phase',
    steps: [ok(version('INITIALIZING', 1)), ok(version('RUNNING', 0)), ok(version('RUNNING', 1, 3))],
  },
  {
    rule: '8: with a lower phase version when the task returns to a phase',
    steps: [
      ok(version('QUEUED', 3)),
      ok(version('RUNNING', 0)),
      ok(version('QUEUED', 1, 9)),
      again(version('QUEUED', 3)),
    ],
  },
  {
    rule: '8 before 9: a repeated end is already recorded',
    steps: [ok(at('FAILED', 1)), again(at('FAILED', 1)), known(at('FAILED', 2))],
  },
  {
    rule: '9: not after the end, whatever the phase version',
    steps: [ok(version('FAILED', 0)), ended(version('FAILED', 1), 'FAILED'), ended(version('RUNNING', 9), 'FAILED')],
  },
  {
    rule: '10: phases may go back and forth until the end',
    steps: [
      ok(at('RUNNING', 1)),
      ok(at('QUEUED', 2)),
      ok(at('RUNNING', 3)),
      again(at('RUNNING', 1)),
      ok(at('FAILED', 4)),
    ],
  },
  {
    rule: '10: phases may follow RETRYABLE_FAILED, which is no end',
    steps: [ok(task('RETRYABLE_FAILED')), ok(task('RUNNING')), ok(task('SUCCEEDED'))],
  },
  {
    rule: 'after the end of its execution: one more report, of the end of the task',
    steps: [
      ok(task('RUNNING')),
      ok(workflow('FAILED')),
      ended(task('QUEUED'), 'ABORTED'),
      ok(task('SUCCEEDED')),
      ended(task('FAILED'), 'SUCCEEDED'),
    ],
  },
  {
    rule: 'after the end of its execution: a first report, only of the end of the task',
    steps: [ok(workflow('FAILED')), ended(task('RUNNING'), 'ABORTED'), ok(task('SUCCEEDED'))],
  },
];

type Shown = Sequence & {
  readonly closure?: Partial<Record<keyof TaskExecutionClosure, unknown>>;
  readonly inputUri?: string;
};

const error = (code: string): TaskFields => ({
  outputResult: { case: 'error', value: { code, message: 'broken', kind: Kind.USER } },
});
const located = (value: string): TaskFields => ({ outputResult: { case: 'outputUri', value } });
const reading = (value: string): TaskFields => ({ inputValue: { case: 'inputUri', value } });

type Log = NonNullable<TaskFields['logs']>[number];
const log = (name: string, uri: string, more: object = {}): Log => ({ name, uri, ...more });
const links = (...logs: readonly Log[]): TaskFields => ({ logs: [...logs] });
const [ALWAYS, PENDING, RUNNING] = [
  log('always', 's3://l/1', { ShowWhilePending: true }),
  log('pending', 's3://l/2', { ShowWhilePending: true, HideOnceFinished: true }),
  log('running', 's3://l/3'),
];

const reason = (text: string, seconds: number) => ({ reason: text, occurredAt: second(seconds) });
const shownReason = (message: string, seconds: number) => ({ message, occurredAt: second(seconds) });
const info = (customInfo: NonNullable<TaskFields['customInfo']>): TaskFields => ({ customInfo });

type Metadata = NonNullable<TaskFields['metadata']>;
const pool = (allocationToken: string) => ({ allocationToken, namespace: 'n' });
const metadata = (value: Metadata): TaskFields => ({ metadata: value });
type Resource = Exclude<MessageInitShape<typeof ExternalResourceInfoSchema>, { readonly $typeName: string }>;
const resource = (index: number, externalId: string, more: Resource = {}): Resource => ({ index, externalId, ...more });
const resources = (...externalResources: readonly Resource[]): TaskFields =>
  metadata({ externalResources: [...externalResources] });
const shownResources = (...externalResources: readonly object[]) => ({ metadata: { externalResources } });

const TIMES: readonly Shown[] = [
  ...PHASES.map((phase) => ({
    rule: `${phase} from its first event on`,
    steps: [ok(at(phase, 20))],
    closure: { phase: Phase[phase], createdAt: second(20), updatedAt: second(20), taskType: 'python-task' },
  })),
  {
    rule: 'with the creation time and the type of its first event',
    steps: [ok(at('QUEUED', 20)), ok(at('RUNNING', 10, { taskType: 'spark' }))],
    closure: { createdAt: second(20), taskType: 'python-task' },
  },
  {
    rule: 'updated when an event was reported',
    steps: [ok(at('QUEUED', 20, { reportedAt: second(25) }))],
    closure: { updatedAt: second(25) },
  },
  {
    rule: 'never updated backwards',
    steps: [ok(at('QUEUED', 20, { reportedAt: second(90) })), ok(at('RUNNING', 30))],
    closure: { updatedAt: second(90) },
  },
  {
    rule: 'updated by a repeated report of a phase',
    steps: [ok(at('RUNNING', 20)), known(at('RUNNING', 30))],
    closure: { updatedAt: second(30) },
  },
  {
    rule: 'started with its earliest RUNNING',
    steps: [ok(at('RUNNING', 20)), ok(at('QUEUED', 25)), ok(at('RUNNING', 30)), known(at('RUNNING', 15))],
    closure: { startedAt: second(15) },
  },
  {
    rule: 'never started where it was not RUNNING',
    steps: [ok(at('INITIALIZING', 20)), ok(at('FAILED', 30))],
    closure: { startedAt: undefined, duration: undefined },
  },
  ...(['SUCCEEDED', 'FAILED', 'ABORTED'] as const).map((phase) => ({
    rule: `with a duration when it is ${phase}`,
    steps: [ok(at('RUNNING', 10)), ok(at(phase, 70))],
    closure: { duration: { seconds: 60n, nanos: 0 } },
  })),
  {
    rule: 'with the highest event version of its events',
    steps: [ok(task('QUEUED', { eventVersion: 2 })), ok(task('RUNNING', { eventVersion: 1 }))],
    closure: { eventVersion: 2 },
  },
];

const RESULTS: readonly Shown[] = [
  {
    rule: 'with the location of its outputs',
    steps: [ok(task('SUCCEEDED', located('s3://b/o')))],
    closure: { outputResult: { case: 'outputUri', value: 's3://b/o' } },
  },
  { rule: 'with its outputs', steps: [ok(task('SUCCEEDED', outputs('all well')))], closure: outputs('all well') },
  { rule: 'with its error', steps: [ok(task('FAILED', error('OOM')))], closure: error('OOM') },
  {
    rule: 'with the error of RETRYABLE_FAILED',
    steps: [ok(task('RETRYABLE_FAILED', error('OOM')))],
    closure: error('OOM'),
  },
  {
    rule: 'without the error of RETRYABLE_FAILED once it SUCCEEDED',
    steps: [ok(task('RETRYABLE_FAILED', error('OOM'))), ok(task('SUCCEEDED'))],
    closure: { outputResult: { case: undefined } },
  },
  {
    rule: 'with no result while it is RUNNING',
    steps: [ok(task('RUNNING', located('s3://b/o')))],
    closure: { outputResult: { case: undefined } },
  },
  {
    rule: 'with the result that came before it ended, where none came with the end',
    steps: [ok(task('RUNNING', located('s3://b/o'))), ok(task('SUCCEEDED'))],
    closure: { outputResult: { case: 'outputUri', value: 's3://b/o' } },
  },
  {
    rule: 'with a result that came after the end',
    steps: [ok(task('SUCCEEDED')), known(task('SUCCEEDED', located('s3://b/o')))],
    closure: { outputResult: { case: 'outputUri', value: 's3://b/o' } },
  },
  {
    rule: 'with the location of its inputs from the first report that has one',
    steps: [ok(task('QUEUED')), ok(task('RUNNING', reading('s3://b/1'))), ok(task('SUCCEEDED', reading('s3://b/2')))],
    inputUri: 's3://b/1',
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
    rule: 'as its engine reports it after the end of the execution',
    steps: [ok(at('RUNNING', 10)), ok(workflow('FAILED')), ok(at('SUCCEEDED', 20, located('s3://b/o')))],
    closure: {
      phase: Phase.SUCCEEDED,
      duration: { seconds: 10n, nanos: 0 },
      outputResult: { case: 'outputUri', value: 's3://b/o' },
    },
  },
];

const REASONS: readonly Shown[] = [
  {
    rule: 'with the reasons of all events, and the last one as its reason',
    steps: [
      ok(task('QUEUED', { reasons: [reason('queued', 1), reason('waits', 2)] })),
      ok(task('RUNNING', { reasons: [reason('waits', 3)] })),
    ],
    closure: {
      reason: 'waits',
      reasons: [shownReason('queued', 1), shownReason('waits', 2), shownReason('waits', 3)],
    },
  },
  {
    rule: 'with the single reason of an older engine, listed once until it changes',
    steps: [
      ok(at('QUEUED', 1, { reason: 'waits' })),
      ok(at('INITIALIZING', 2, { reason: 'waits' })),
      ok(at('RUNNING', 3, { reason: 'goes' })),
    ],
    closure: { reason: 'goes', reasons: [shownReason('waits', 1), shownReason('goes', 3)] },
  },
  {
    rule: 'with its last reason when later events have none',
    steps: [ok(task('QUEUED', { reason: 'waits' })), ok(task('RUNNING'))],
    closure: { reason: 'waits' },
  },
  {
    rule: 'with the list of reasons when an event has a single reason too',
    steps: [ok(task('QUEUED', { reason: 'old', reasons: [reason('new', 1)] }))],
    closure: { reason: 'new', reasons: [shownReason('new', 1)] },
  },
  {
    rule: 'with the reasons of a repeated report of a phase',
    steps: [ok(task('RUNNING')), known(task('RUNNING', { reasons: [reason('slow', 1)] }))],
    closure: { reason: 'slow' },
  },
];

const LOGS: readonly Shown[] = [
  {
    rule: 'with its links when later events have none',
    steps: [ok(task('RUNNING', links(log('a', 's3://a')))), ok(version('RUNNING', 1))],
    closure: { logs: [log('a', 's3://a')] },
  },
  {
    rule: 'with the links of its last event in front of those before',
    steps: [
      ok(task('RUNNING', links(log('a', 's3://a')))),
      ok(task('RUNNING', { phaseVersion: 1, ...links(log('b', 's3://b')) })),
    ],
    closure: { logs: [log('b', 's3://b'), log('a', 's3://a')] },
  },
  {
    rule: 'with one link for each name, as it was reported last',
    steps: [
      ok(task('RUNNING', links(log('a', 's3://1'), log('b', 's3://b')))),
      ok(task('RUNNING', { phaseVersion: 1, ...links(log('a', 's3://2')) })),
    ],
    closure: { logs: [log('a', 's3://2'), log('b', 's3://b')] },
  },
  {
    rule: 'with one link for each address, as it was reported last',
    steps: [
      ok(task('RUNNING', links(log('a', 's3://1'), log('', 's3://b')))),
      ok(task('RUNNING', { phaseVersion: 1, ...links(log('c', 's3://1'), log('', 's3://d')) })),
    ],
    closure: { logs: [log('c', 's3://1'), log('', 's3://d'), log('', 's3://b')] },
  },
  ...(['QUEUED', 'INITIALIZING'] as const).map((phase) => ({
    rule: `with the links to show while pending, while it is ${phase}`,
    steps: [ok(task(phase, links(ALWAYS, PENDING, RUNNING)))],
    closure: { logs: [ALWAYS, PENDING] },
  })),
  ...(['WAITING_FOR_RESOURCES', 'RUNNING', 'RETRYABLE_FAILED', 'UNDEFINED'] as const).map((phase) => ({
    rule: `with all links while it is ${phase}`,
    steps: [ok(task(phase, links(ALWAYS, PENDING, RUNNING)))],
    closure: { logs: [ALWAYS, PENDING, RUNNING] },
  })),
  ...(['SUCCEEDED', 'FAILED', 'ABORTED'] as const).map((phase) => ({
    rule: `without the links that are hidden once it is ${phase}`,
    steps: [ok(task('RUNNING', links(ALWAYS, PENDING, RUNNING))), ok(task(phase))],
    closure: { logs: [ALWAYS, RUNNING] },
  })),
  {
    rule: 'with all links again, when it runs again',
    steps: [ok(task('RUNNING', links(RUNNING))), ok(task('QUEUED')), ok(at('RUNNING', 9))],
    closure: { logs: [RUNNING] },
  },
  {
    rule: 'with the links of a repeated report of a phase',
    steps: [ok(task('RUNNING')), known(task('RUNNING', links(RUNNING)))],
    closure: { logs: [RUNNING] },
  },
  {
    rule: 'with its log context',
    steps: [ok(task('RUNNING', { logContext: { primaryPodName: 'pod-1' } })), ok(task('SUCCEEDED'))],
    closure: { logContext: { primaryPodName: 'pod-1' } },
  },
];

const DETAILS: readonly Shown[] = [
  {
    rule: 'with custom information, merged object by object',
    steps: [
      ok(task('QUEUED', info({ a: { b: 1, c: 2 }, d: [1, 2], e: 'x' }))),
      ok(task('RUNNING', info({ a: { b: 3 }, d: [4] }))),
    ],
    closure: { customInfo: { a: { b: 3, c: 2 }, d: [4], e: 'x' } },
  },
  {
    rule: 'with custom information that an event leaves out',
    steps: [ok(task('QUEUED', info({ a: 1 }))), ok(task('RUNNING'))],
    closure: { customInfo: { a: 1 } },
  },
  {
    rule: 'with its generated name and its plugin, which no empty value replaces',
    steps: [
      ok(task('QUEUED', metadata({ generatedName: 'g-1', pluginIdentifier: 'container' }))),
      ok(task('RUNNING', metadata({ generatedName: 'g-2' }))),
    ],
    closure: { metadata: { generatedName: 'g-2', pluginIdentifier: 'container' } },
  },
  {
    rule: 'INTERRUPTIBLE once an event has said so',
    steps: [ok(task('QUEUED', metadata({ instanceClass: Instance.INTERRUPTIBLE }))), ok(task('RUNNING', metadata({})))],
    closure: { metadata: { instanceClass: Instance.INTERRUPTIBLE } },
  },
  {
    rule: 'with the resource pools of all its events, each once',
    steps: [
      ok(task('QUEUED', metadata({ resourcePoolInfo: [pool('s'), pool('t')] }))),
      ok(task('RUNNING', metadata({ generatedName: 'g' }))),
      ok(task('WAITING_FOR_RESOURCES', metadata({ resourcePoolInfo: [pool('s'), pool('u')] }))),
    ],
    closure: { metadata: { generatedName: 'g', resourcePoolInfo: [pool('s'), pool('t'), pool('u')] } },
  },
  {
    rule: 'with metadata that an event leaves out',
    steps: [ok(task('QUEUED', metadata({ generatedName: 'g' }))), ok(task('RUNNING'))],
    closure: { metadata: { generatedName: 'g' } },
  },
];

const EXTERNAL: readonly Shown[] = [
  {
    rule: 'with external resources by index and attempt, in order',
    steps: [
      ok(task('QUEUED', resources(resource(2, 'c'), resource(0, 'b', { retryAttempt: 1 })))),
      ok(task('RUNNING', resources(resource(1, 'd'), resource(0, 'a')))),
    ],
    closure: shownResources(
      { index: 0, retryAttempt: 0, externalId: 'a' },
      { index: 0, retryAttempt: 1, externalId: 'b' },
      { index: 1, externalId: 'd' },
      { index: 2, externalId: 'c' },
    ),
  },
  {
    rule: 'with external resources that later events leave out',
    steps: [ok(task('QUEUED', resources(resource(0, 'a')))), ok(task('RUNNING', resources())), ok(task('SUCCEEDED'))],
    closure: shownResources({ externalId: 'a' }),
  },
  {
    rule: 'with the identifier of an external resource, which no empty identifier replaces',
    steps: [
      ok(task('QUEUED', resources(resource(0, 'a'), resource(1, 'b')))),
      ok(task('RUNNING', resources(resource(0, ''), resource(1, 'c')))),
    ],
    closure: shownResources({ externalId: 'a' }, { externalId: 'c' }),
  },
  {
    rule: 'with the last reported phase of an external resource',
    steps: [
      ok(task('QUEUED', resources(resource(0, 'a', { phase: Phase.RUNNING })))),
      ok(task('RUNNING', resources(resource(0, 'a', { phase: Phase.FAILED })))),
    ],
    closure: shownResources({ phase: Phase.FAILED }),
  },
  {
    rule: 'with the last reported cache status of an external resource',
    steps: [
      ok(task('QUEUED', resources(resource(0, 'a', { cacheStatus: Cache.CACHE_HIT }), resource(1, 'b')))),
      ok(task('RUNNING', resources(resource(0, 'a'), resource(1, 'b', { cacheStatus: Cache.CACHE_MISS })))),
    ],
    closure: shownResources({ cacheStatus: Cache.CACHE_HIT }, { cacheStatus: Cache.CACHE_MISS }),
  },
  {
    rule: 'with the links of an external resource, merged as those of the task',
    steps: [
      ok(task('RUNNING', resources(resource(0, 'a', { logs: [log('x', 's3://1'), log('y', 's3://y')] })))),
      ok(task('RUNNING', { phaseVersion: 1, ...resources(resource(0, 'a', { logs: [log('x', 's3://2')] })) })),
    ],
    closure: shownResources({ logs: [log('x', 's3://2'), log('y', 's3://y')] }),
  },
  {
    rule: 'with the links of an external resource, hidden as those of the task',
    steps: [
      ok(task('RUNNING', resources(resource(0, 'a', { logs: [ALWAYS, PENDING, RUNNING] })))),
      ok(task('SUCCEEDED')),
    ],
    closure: shownResources({ logs: [ALWAYS, RUNNING] }),
  },
  {
    rule: 'with the last reported custom information of an external resource',
    steps: [
      ok(
        task(
          'QUEUED',
          resources(resource(0, 'a', { customInfo: { p: 1, q: 2 } }), resource(1, 'b', { customInfo: { r: 1 } })),
        ),
      ),
      ok(task('RUNNING', resources(resource(0, 'a', { customInfo: { p: 3 } }), resource(1, 'b')))),
    ],
    closure: shownResources({ customInfo: { p: 3 } }, { customInfo: { r: 1 } }),
  },
  {
    rule: 'with the external resources of a repeated report of a phase',
    steps: [ok(task('RUNNING')), known(task('RUNNING', resources(resource(0, 'a'))))],
    closure: shownResources({ externalId: 'a' }),
  },
];

const FOLDS = [...TIMES, ...RESULTS, ...REASONS, ...LOGS, ...DETAILS, ...EXTERNAL];

type Found = Sequence & { readonly filters: string };

const FILTERS: readonly Found[] = [
  { rule: 'its phase', steps: [ok(task('INITIALIZING'))], filters: 'eq(phase,INITIALIZING)' },
  {
    rule: 'the version of its phase',
    steps: [ok(version('QUEUED', 3)), ok(version('RUNNING', 1))],
    filters: 'eq(phase_version,1)',
  },
  { rule: 'its time of creation', steps: [ok(at('QUEUED', 20))], filters: 'eq(created_at,2026-01-01T00:00:20Z)' },
  { rule: 'its time of start', steps: [ok(at('RUNNING', 20))], filters: 'eq(started_at,2026-01-01T00:00:20Z)' },
  {
    rule: 'its time of update',
    steps: [ok(at('RUNNING', 20, { reportedAt: second(25) }))],
    filters: 'eq(task_execution_updated_at,2026-01-01T00:00:25Z)',
  },
  { rule: 'its duration', steps: [ok(at('RUNNING', 10)), ok(at('FAILED', 70))], filters: 'eq(duration,60)' },
  {
    rule: 'the URI of its inputs',
    steps: [ok(task('QUEUED', reading('s3://b/i')))],
    filters: 'eq(input_uri,s3://b/i)',
  },
];

describe.each(['grpc', 'rest'] as const)('over %s', (way) => {
  /** Launches an execution, and reports that its node `n0` runs. */
  const launch = async (): Promise<ExecutionId> => {
    const id = await launchHello(plane[way], `steps-${way}-${(count += 1)}`);
    await runSteps(plane, way, id, [ok(node('RUNNING'))]);
    return id;
  };
  const idOf = (executionId: ExecutionId, retryAttempt = 0) => ({
    taskId: HELLO_TASK,
    nodeExecutionId: { executionId, nodeId: 'n0' },
    retryAttempt,
  });
  const get = (id: ExecutionId, retryAttempt = 0) =>
    plane[way].call(method.getTaskExecution, { id: idOf(id, retryAttempt) });

  describe('CreateTaskEvent requires', () => {
    let id: ExecutionId;
    beforeAll(async () => {
      id = await launch();
    });
    const whole = () => create(TaskExecutionEventRequestSchema, taskReport({ ...id }, 'n0', { phase: Phase.RUNNING }));

    it.each(REFUSED)('$rule', async (row) => {
      await expectRefused(plane, way, [method.createTaskEvent, whole], row);
    });
  });

  describe('a task has the phase that was reported last, unless it had ended before:', () => {
    let id: ExecutionId;
    beforeAll(async () => {
      id = await launch();
    });

    it.each(sampled(way, MATRIX))('$from, then $to', async ({ from: before, to, attempt }) => {
      const step = stepTo(before, to, at(to, 60, { retryAttempt: attempt }));
      await runSteps(plane, way, id, [ok(task(before, { retryAttempt: attempt })), step]);
      expect(Phase[(await get(id, attempt)).closure!.phase]).toBe(step.code === 'OK' ? to : before);
    });
  });

  describe('a report of a task is accepted or refused', () => {
    it.each(DECIDED)('$rule', async ({ steps }) => runSteps(plane, way, await launch(), steps));
  });

  describe('a task is shown', () => {
    it.each(sampled(way, FOLDS))('$rule', async ({ steps, closure = {}, inputUri = '' }) => {
      const id = await launch();
      await runSteps(plane, way, id, steps);
      const shown = await get(id);
      expectShown(shown.closure, closure);
      expect(shown.inputUri).toBe(inputUri);
    });

    it('without custom information that an event sets to null', async () => {
      const id = await launch();
      const [first, removed] = [info({ a: 1, b: 2 }), info({ a: null })];
      await runSteps(plane, way, id, [ok(task('QUEUED', first)), ok(task('RUNNING', removed))]);
      expect((await get(id)).closure!.customInfo).toEqual({ b: 2 });
    });

    it('with the inputs and the outputs that came with its events', async () => {
      const id = await launch();
      const inputs: TaskFields = { inputValue: { case: 'inputData', value: { literals: { name: literal('Ada') } } } };
      await runSteps(plane, way, id, [ok(task('RUNNING', inputs)), ok(task('SUCCEEDED', outputs('Hello')))]);
      const data = await plane[way].call(method.getTaskExecutionData, { id: idOf(id) });
      expectShown(data, {
        fullInputs: { literals: { name: literal('Ada') } },
        fullOutputs: { literals: { o0: literal('Hello') } },
      });
    });
  });

  describe('a task is found by', () => {
    it.each(FILTERS)('$rule', async ({ steps, filters }) => {
      const executionId = await launch();
      await runSteps(plane, way, executionId, [ok(task('UNDEFINED', { retryAttempt: 9 })), ...steps]);
      const request = { nodeExecutionId: { executionId, nodeId: 'n0' }, filters };
      const { taskExecutions } = await plane[way].call(method.listTaskExecutions, request);
      expect(taskExecutions.map(({ id }) => id!.retryAttempt)).toEqual([0]);
    });
  });
});
