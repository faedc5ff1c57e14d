import { create } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import {
  type WorkflowExecutionEventRequest,
  WorkflowExecutionEventRequestSchema,
} from '../../../proto/gen/platformidl/admin/event_pb.js';
import type { ExecutionClosure } from '../../../proto/gen/platformidl/admin/execution_pb.js';
import {
  ExecutionError_ErrorKind as Kind,
  WorkflowExecution_Phase as Phase,
} from '../../../proto/gen/platformidl/core/execution_pb.js';
import { WorkflowExecutionEventSchema } from '../../../proto/gen/platformidl/event/event_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { type ControlPlane, register, startControlPlane } from '../../support/processes/control-plane.js';
import { withNeeds } from '../../support/requests/fixtures.js';
import { launchHello, literal } from '../../support/requests/hello.js';
import { PLACE } from '../../support/requests/registrations.js';
import { type ExecutionId, second, workflowReport } from '../../support/requests/reports.js';
import { all, type Changed, expectRefused, type Row, sampled } from '../../support/requests/rows.js';
import {
  again,
  type Asked,
  ended,
  expectShown,
  foreign,
  known,
  ok,
  refused,
  stale,
  type Step,
  runSteps,
  workflow,
} from '../../support/requests/report-steps.js';
import { until } from '../../support/until.js';

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

const terminate: Asked = (transport, id) => transport.attempt(method.terminateExecution, { id, cause: 'enough' });
const reportBy = (phase: string, producerId: string) => workflow(phase as PhaseName, { producerId });
/** A report that occurred so many seconds after the start of 2026 (UTC). */
const at = (phase: string, seconds: number, more = {}) =>
  workflow(phase as PhaseName, { occurredAt: second(seconds), ...more });

const PHASES = [
  'QUEUED',
  'RUNNING',
  'SUCCEEDING',
  'SUCCEEDED',
  'FAILING',
  'FAILED',
  'ABORTED',
  'TIMED_OUT',
  'ABORTING',
] as const;

/** The phases that lead an execution to each phase. */
const WAYS_TO: Readonly<Record<(typeof PHASES)[number], readonly (typeof PHASES)[number][]>> = {
  QUEUED: [],
  RUNNING: ['RUNNING'],
  SUCCEEDING: ['RUNNING', 'SUCCEEDING'],
  SUCCEEDED: ['RUNNING', 'SUCCEEDING', 'SUCCEEDED'],
  FAILING: ['RUNNING', 'FAILING'],
  FAILED: ['RUNNING', 'FAILING', 'FAILED'],
  ABORTED: ['RUNNING', 'ABORTED'],
  TIMED_OUT: ['RUNNING', 'TIMED_OUT'],
  ABORTING: ['RUNNING', 'ABORTING'],
};

/**
 * The expected answer to a report. `known` and `stale` are ALREADY_EXISTS: a known phase is that of the execution, and
 * the report is recorded; a stale one is not later, and is not recorded. `ended`, `to-queued` and `aborting` are
 * refusals.
 */
type Answered = 'ok' | 'known' | 'stale' | 'ended' | 'to-queued' | 'aborting';

/** Rows: from; columns: to, in the order of `PHASES`. */
const STEPS: Readonly<Record<(typeof PHASES)[number], readonly Answered[]>> = {
  QUEUED: ['known', 'ok', 'ok', 'ok', 'ok', 'ok', 'ok', 'ok', 'ok'],
  RUNNING: ['to-queued', 'known', 'ok', 'ok', 'ok', 'ok', 'ok', 'ok', 'ok'],
  SUCCEEDING: ['stale', 'stale', 'known', 'ok', 'ok', 'ok', 'ok', 'ok', 'ok'],
  FAILING: ['stale', 'stale', 'stale', 'stale', 'known', 'ok', 'ok', 'ok', 'ok'],
  ABORTING: ['aborting', 'aborting', 'aborting', 'ok', 'aborting', 'ok', 'ok', 'ok', 'known'],
  SUCCEEDED: ['ended', 'ended', 'ended', 'known', 'ended', 'ended', 'ended', 'ended', 'ended'],
  FAILED: ['ended', 'ended', 'ended', 'ended', 'ended', 'known', 'ended', 'ended', 'ended'],
  ABORTED: ['ended', 'ended', 'ended', 'ended', 'ended', 'ended', 'known', 'ended', 'ended'],
  TIMED_OUT: ['ended', 'ended', 'ended', 'ended', 'ended', 'ended', 'ended', 'known', 'ended'],
};

const stepTo = (answered: Answered, from: string, ask: Asked): Step => {
  const simple = { ok, known, stale };
  if (answered === 'ended') return ended(ask, from);
  if (answered === 'to-queued') return refused('FAILED_PRECONDITION', ask, 'Cannot go from RUNNING to QUEUED');
  if (answered === 'aborting') return refused('FAILED_PRECONDITION', ask, 'Invalid phase change from aborting');
  return simple[answered](ask);
};

const MATRIX = PHASES.flatMap((from) => PHASES.map((to, column) => ({ from, to, answered: STEPS[from][column]! })));

const noEvent: Changed<WorkflowExecutionEventRequest> = (request) => {
  delete request.event;
};
const noId: Changed<WorkflowExecutionEventRequest> = ({ event }) => {
  delete event!.executionId;
};
const without = (part: 'project' | 'domain' | 'name'): Changed<WorkflowExecutionEventRequest> => {
  return ({ event }) => void (event!.executionId![part] = '');
};
const unknownExecution: Changed<WorkflowExecutionEventRequest> = ({ event }) =>
  void (event!.executionId!.name = 'unknown');
const noPhase: Changed<WorkflowExecutionEventRequest> = ({ event }) => void (event!.phase = Phase.UNDEFINED);
const noTime: Changed<WorkflowExecutionEventRequest> = ({ event }) => {
  delete event!.occurredAt;
};
const atSecond = (seconds: bigint, nanos = 0): Changed<WorkflowExecutionEventRequest> => {
  return ({ event }) => void Object.assign(event!.occurredAt!, { seconds, nanos });
};
const outputs = (text: string) => ({ case: 'outputData', value: { literals: { o0: literal(text) } } }) as const;
const large: Changed<WorkflowExecutionEventRequest> = ({ event }) => {
  event!.outputResult = create(WorkflowExecutionEventSchema, {
    outputResult: outputs('x'.repeat(MAX_OUTPUT_BYTES)),
  }).outputResult;
};

/** Invalid requests; a number is the step at which the RPC checks the rule. */
const REFUSED: readonly Row<typeof WorkflowExecutionEventRequestSchema>[] = [
  { rule: '1: an event', change: noEvent, says: 'missing event' },
  { rule: '2: an execution', change: noId, says: 'missing execution_id' },
  { rule: '2: a project of the execution', change: without('project'), says: 'missing project' },
  { rule: '2: a domain of the execution', change: without('domain'), says: 'missing domain' },
  { rule: '2: a name of the execution', change: without('name'), says: 'missing name' },
  { rule: 'a phase', change: noPhase, says: 'invalid value for phase: UNDEFINED' },
  {
    rule: 'a phase that exists',
    change: ({ event }) => void Object.assign(event!, { phase: 99 }),
    says: 'invalid value for phase: 99',
  },
  { rule: '10: a time', change: noTime, says: 'missing occurred_at' },
  { rule: '3: outputs up to the limit', change: large, code: 'RESOURCE_EXHAUSTED', says: '> 1000)' },
  {
    rule: '4: an execution that exists',
    change: unknownExecution,
    code: 'NOT_FOUND',
    says: 'type execution with identifier',
  },
  { rule: 'order: 2 before 3', change: all(without('name'), large), says: 'missing name' },
  {
    rule: 'order: 3 before 4',
    change: all(large, unknownExecution),
    code: 'RESOURCE_EXHAUSTED',
    says: 'Output data size',
  },
];

/** Rows whose request cannot be expressed in JSON. */
const NOT_IN_JSON: typeof REFUSED = [
  {
    rule: '10: a time before the year 10000',
    change: atSecond(253_402_300_800n),
    says: 'event.occurred_at is out of range',
  },
  {
    rule: '10: a time after the start of the year 1',
    change: atSecond(-62_135_596_801n),
    says: 'event.occurred_at is out of range',
  },
  {
    rule: '10: a time without negative nanoseconds',
    change: atSecond(0n, -1),
    says: 'event.occurred_at is out of range',
  },
];

/** Requests one after another, and the rule that they show; a number is the step at which the RPC checks the rule. */
type Sequence = { readonly rule: string; readonly steps: readonly Step[] };

const DECIDED: readonly Sequence[] = [
  {
    rule: 'the first QUEUED is recorded, and the next one is answered ALREADY_EXISTS',
    steps: [ok(at('QUEUED', 1)), known(at('QUEUED', 2)), again(at('QUEUED', 2))],
  },
  {
    rule: 'QUEUED of another producer gives it the execution',
    steps: [ok(reportBy('QUEUED', 'east')), ok(reportBy('QUEUED', 'west')), ok(reportBy('RUNNING', 'west'))],
  },
  {
    rule: 'any other phase is refused from a cluster that does not have the execution',
    steps: [
      ok(reportBy('QUEUED', 'east')),
      foreign(reportBy('RUNNING', 'west'), 'west'),
      ok(reportBy('RUNNING', 'east')),
    ],
  },
  {
    rule: 'while no cluster has the execution, any other phase is taken from the default producer alone',
    steps: [foreign(reportBy('RUNNING', 'west'), 'west'), ok(reportBy('RUNNING', 'propeller'))],
  },
  {
    rule: 'the default producer may report for every cluster',
    steps: [ok(reportBy('QUEUED', 'east')), ok(reportBy('RUNNING', '')), ok(reportBy('SUCCEEDED', 'propeller'))],
  },
  {
    rule: '5 before 6: the same phase from another cluster is already recorded',
    steps: [ok(reportBy('QUEUED', 'east')), ok(reportBy('RUNNING', 'east')), again(reportBy('RUNNING', 'west'))],
  },
  {
    rule: '6 before 7: the cluster is checked before the end',
    steps: [
      ok(reportBy('QUEUED', 'east')),
      ok(reportBy('FAILED', 'east')),
      foreign(reportBy('RUNNING', 'west'), 'west'),
    ],
  },
  {
    rule: '7 before 8: QUEUED after the end is refused, from another producer too',
    steps: [ok(workflow('RUNNING')), ok(workflow('FAILED')), ended(reportBy('QUEUED', 'west'), 'FAILED')],
  },
  {
    rule: 'a repeated report is already recorded while the phase lasts',
    steps: [ok(workflow('RUNNING')), again(workflow('RUNNING'))],
  },
  {
    rule: 'a repeated report is already recorded when the phase has moved on',
    steps: [ok(workflow('RUNNING')), ok(workflow('SUCCEEDING')), again(workflow('RUNNING'))],
  },
  {
    rule: 'a repeated report is already recorded when the execution is ABORTING',
    steps: [ok(workflow('RUNNING')), ok(terminate), again(workflow('RUNNING'))],
  },
  {
    rule: 'a repeated report is already recorded after the end',
    steps: [
      ok(workflow('RUNNING')),
      ok(workflow('SUCCEEDED')),
      again(workflow('RUNNING')),
      again(workflow('SUCCEEDED')),
    ],
  },
  {
    rule: 'a repeated QUEUED is already recorded when the execution runs',
    steps: [ok(workflow('QUEUED')), ok(workflow('RUNNING')), again(workflow('QUEUED'))],
  },
  {
    rule: 'a repeated end is answered ALREADY_EXISTS, and its new content is recorded',
    steps: [ok(at('SUCCEEDED', 9)), known(at('SUCCEEDED', 10)), again(at('SUCCEEDED', 10))],
  },
  {
    rule: 'after a termination, phases that are no end are refused',
    steps: [
      ok(terminate),
      refused('FAILED_PRECONDITION', workflow('RUNNING'), 'Invalid phase change from aborting to RUNNING'),
      ok(workflow('ABORTED')),
    ],
  },
  {
    rule: 'ABORTING of an engine is answered ALREADY_EXISTS after a termination',
    steps: [ok(terminate), known(workflow('ABORTING'))],
  },
];

type Closure = Partial<Record<keyof ExecutionClosure, unknown>>;
type Fold = Sequence & { readonly shows: Closure };

const error = (code: string, message = 'broken') =>
  ({ outputResult: { case: 'error', value: { code, message, kind: Kind.USER, errorUri: 's3://b/e' } } }) as const;
const located = (uri: string) => ({ outputResult: { case: 'outputUri', value: uri } }) as const;
const withOutputs = (text: string) => ({ outputResult: outputs(text) });
const locatedAt = (uri: string) => ({ case: 'outputs', value: { data: { case: 'uri', value: uri } } });

/** Times of `3e8` seconds, in the year 2035, are later than the launch of an execution, which is its first update. */
const FOLDS: readonly Fold[] = [
  { rule: 'QUEUED at once', steps: [], shows: { phase: Phase.QUEUED, startedAt: undefined, duration: undefined } },
  ...PHASES.slice(1).map((phase) => ({
    rule: `${phase} when the engine reports it`,
    steps: [ok(workflow(phase))],
    shows: { phase: Phase[phase] },
  })),
  { rule: 'updated when the event occurred', steps: [ok(at('RUNNING', 3e8))], shows: { updatedAt: second(3e8) } },
  {
    rule: 'never updated backwards',
    steps: [ok(at('RUNNING', 3e8)), ok(at('SUCCEEDING', 2e8))],
    shows: { phase: Phase.SUCCEEDING, updatedAt: second(3e8) },
  },
  {
    rule: 'updated by a repeated report of a phase',
    steps: [ok(at('RUNNING', 3e8)), known(at('RUNNING', 4e8))],
    shows: { updatedAt: second(4e8) },
  },
  {
    rule: 'not updated by a phase that comes before its own',
    steps: [ok(at('SUCCEEDING', 3e8)), stale(at('RUNNING', 4e8))],
    shows: { phase: Phase.SUCCEEDING, startedAt: undefined, updatedAt: second(3e8) },
  },
  { rule: 'started with RUNNING', steps: [ok(at('RUNNING', 20))], shows: { startedAt: second(20) } },
  {
    rule: 'started with the earliest RUNNING',
    steps: [ok(at('RUNNING', 20)), known(at('RUNNING', 10)), known(at('RUNNING', 30))],
    shows: { startedAt: second(10) },
  },
  {
    rule: 'not started without RUNNING',
    steps: [ok(at('SUCCEEDED', 20))],
    shows: { startedAt: undefined, duration: undefined },
  },
  ...(['SUCCEEDED', 'FAILED', 'ABORTED', 'TIMED_OUT'] as const).map((phase) => ({
    rule: `with a duration when it is ${phase}`,
    steps: [ok(at('RUNNING', 10)), ok(at(phase, 70))],
    shows: { duration: { seconds: 60n, nanos: 0 } },
  })),
  {
    rule: 'without a duration before the end',
    steps: [ok(at('RUNNING', 10)), ok(at('FAILING', 70))],
    shows: { duration: undefined },
  },
  {
    rule: 'with the location of its outputs',
    steps: [ok(workflow('SUCCEEDED', located('s3://b/o')))],
    shows: { outputResult: locatedAt('s3://b/o') },
  },
  {
    rule: 'with a result that comes before the end',
    steps: [ok(workflow('SUCCEEDING', located('s3://b/o'))), ok(workflow('SUCCEEDED'))],
    shows: { outputResult: locatedAt('s3://b/o') },
  },
  {
    rule: 'with a result that comes after the end',
    steps: [ok(workflow('SUCCEEDED')), known(workflow('SUCCEEDED', located('s3://b/o')))],
    shows: { outputResult: locatedAt('s3://b/o') },
  },
  {
    rule: 'with the first result of a phase',
    steps: [ok(workflow('SUCCEEDED', located('s3://b/1'))), known(workflow('SUCCEEDED', located('s3://b/2')))],
    shows: { outputResult: locatedAt('s3://b/1') },
  },
  {
    rule: 'with the outputs themselves',
    steps: [ok(workflow('SUCCEEDED', withOutputs('all well')))],
    shows: { outputResult: { case: 'outputData', value: { literals: { o0: literal('all well') } } } },
  },
  {
    rule: 'with its error',
    steps: [ok(workflow('FAILED', error('OOM')))],
    shows: { phase: Phase.FAILED, ...error('OOM') },
  },
  {
    rule: 'with the error of FAILING',
    steps: [ok(workflow('FAILING', error('OOM'))), ok(workflow('FAILED'))],
    shows: { phase: Phase.FAILED, ...error('OOM') },
  },
  {
    rule: 'with the error of its end rather than an earlier one',
    steps: [ok(workflow('FAILING', error('OOM'))), ok(workflow('FAILED', error('Disk')))],
    shows: { ...error('Disk') },
  },
  {
    rule: 'with the cause of its termination',
    steps: [ok(terminate), ok(workflow('ABORTED'))],
    shows: { phase: Phase.ABORTED, outputResult: { case: 'abortMetadata', value: { cause: 'enough', principal: '' } } },
  },
  {
    rule: 'with the cause of its termination rather than the error of the engine',
    steps: [ok(terminate), ok(workflow('ABORTED', error('Killed')))],
    shows: { outputResult: { case: 'abortMetadata', value: { cause: 'enough' } } },
  },
  {
    rule: 'SUCCEEDED when the engine reports that after a termination',
    steps: [ok(terminate), ok(workflow('SUCCEEDED', located('s3://b/o')))],
    shows: { phase: Phase.SUCCEEDED, outputResult: locatedAt('s3://b/o') },
  },
  {
    rule: 'ABORTED by the engine, with the message of the error as the cause',
    steps: [ok(workflow('ABORTED', error('Evicted', 'the node went away')))],
    shows: { outputResult: { case: 'abortMetadata', value: { cause: 'the node went away' } } },
  },
];

type Cluster = { readonly rule: string; readonly steps: readonly Step[]; readonly cluster: string };

const CLUSTERS: readonly Cluster[] = [
  { rule: 'the one whose engine has reported QUEUED', steps: [ok(reportBy('QUEUED', 'east'))], cluster: 'east' },
  {
    rule: 'the last one whose engine has reported QUEUED',
    steps: [ok(reportBy('QUEUED', 'east')), ok(reportBy('QUEUED', 'west'))],
    cluster: 'west',
  },
  {
    rule: 'none when the default producer has reported QUEUED',
    steps: [ok(reportBy('QUEUED', 'propeller'))],
    cluster: '',
  },
  {
    rule: 'the same after a report of the default producer',
    steps: [ok(reportBy('QUEUED', 'east')), ok(reportBy('RUNNING', ''))],
    cluster: 'east',
  },
];

type Found = Sequence & { readonly filters: string };

const FILTERS: readonly Found[] = [
  { rule: 'its phase', steps: [ok(workflow('FAILING'))], filters: 'eq(phase,FAILING)' },
  { rule: 'its time of start', steps: [ok(at('RUNNING', 10))], filters: 'gte(started_at,2026-01-01T00:00:10Z)' },
  {
    rule: 'its time of update',
    steps: [ok(at('RUNNING', 3e8))],
    filters: 'gt(execution_updated_at,2035-01-01T00:00:00Z)',
  },
  { rule: 'its duration', steps: [ok(at('RUNNING', 10)), ok(at('FAILED', 70))], filters: 'eq(duration,60)' },
  { rule: 'the kind of its error', steps: [ok(workflow('FAILED', error('OOM')))], filters: 'eq(error_kind,USER)' },
  { rule: 'the code of its error', steps: [ok(workflow('FAILED', error('OOM')))], filters: 'eq(error_code,OOM)' },
  {
    rule: 'the text of its error',
    steps: [ok(workflow('FAILED', error('OOM', 'cannot open /data (disk 3)')))],
    filters: 'contains(error_message,open /data (disk 3))',
  },
  { rule: 'its cluster', steps: [ok(reportBy('QUEUED', 'north'))], filters: 'eq(cluster,north)' },
  { rule: 'the cause of its termination', steps: [ok(terminate)], filters: 'eq(abort_cause,enough)' },
];

describe.each(['grpc', 'rest'] as const)('over %s', (way) => {
  const launch = (): Promise<ExecutionId> => launchHello(plane[way], `steps-${way}-${(count += 1)}`);
  const get = (id: ExecutionId) => plane[way].call(method.getExecution, { id });

  describe('CreateWorkflowEvent requires', () => {
    let id: ExecutionId;
    beforeAll(async () => {
      id = await launch();
    });
    const whole = () =>
      create(WorkflowExecutionEventRequestSchema, workflowReport({ ...id }, { phase: Phase.RUNNING }));

    it.each(way === 'grpc' ? [...REFUSED, ...NOT_IN_JSON] : REFUSED)('$rule', async (row) => {
      await expectRefused(plane, way, [method.createWorkflowEvent, whole], row);
    });
  });

  it.each(sampled(way, MATRIX))(
    'a report of $to after $from is answered: $answered',
    async ({ from, to, answered }) => {
      const id = await launch();
      const before = ['QUEUED', ...WAYS_TO[from]].map((phase) => ok(workflow(phase as PhaseName)));
      await runSteps(plane, way, id, [...before, stepTo(answered, from, at(to, 60))]);
      expect(Phase[(await get(id)).closure!.phase]).toBe(answered === 'ok' ? to : from);
    },
  );

  describe('requests about an execution:', () => {
    it.each(DECIDED)('$rule', async ({ steps }) => runSteps(plane, way, await launch(), steps));
  });

  describe('an execution is shown', () => {
    it.each(sampled(way, FOLDS))('$rule', async ({ steps, shows }) => {
      const id = await launch();
      await runSteps(plane, way, id, steps);
      expectShown((await get(id)).closure, shows);
    });
  });

  describe('the cluster of an execution is', () => {
    it.each(CLUSTERS)('$rule', async ({ steps, cluster }) => {
      const id = await launch();
      await runSteps(plane, way, id, steps);
      expect((await get(id)).spec!.metadata?.systemMetadata?.executionCluster ?? '').toBe(cluster);
    });
  });

  describe('an execution is found by', () => {
    it.each(FILTERS)('$rule', async ({ steps, filters }) => {
      const id = await launch();
      const found = async () => {
        const request = { id: PLACE, filters: `${filters}+eq(name,${id.name})` };
        return (await plane[way].call(method.listExecutions, request)).executions;
      };
      expect(await found()).toEqual([]);
      await runSteps(plane, way, id, steps);
      expect((await until(found, ({ length }) => length > 0)).map((each) => each.id!.name)).toEqual([id.name]);
    });
  });
});
