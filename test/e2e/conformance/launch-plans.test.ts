import { clone, create, fromBinary, type MessageInitShape } from '@bufbuild/protobuf';
import { AnySchema } from '@bufbuild/protobuf/wkt';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { NotificationSchema } from '../../../proto/gen/platformidl/admin/common_pb.js';
import {
  ConcurrencyLimitBehavior as Behavior,
  type LaunchPlanClosure,
  type LaunchPlanCreateRequest,
  LaunchPlanCreateRequestSchema,
  type LaunchPlanSpec,
  LaunchPlanSpecSchema,
  LaunchPlanState as State,
  LaunchPlanUpdateRequestSchema,
} from '../../../proto/gen/platformidl/admin/launch_plan_pb.js';
import { FixedRateUnit, type ScheduleSchema } from '../../../proto/gen/platformidl/admin/schedule_pb.js';
import { WorkflowExecution_Phase as Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import { ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { type ParameterSchema, VariableMapSchema } from '../../../proto/gen/platformidl/core/interface_pb.js';
import { BindingDataSchema, type LiteralSchema } from '../../../proto/gen/platformidl/core/literals_pb.js';
import { SimpleType } from '../../../proto/gen/platformidl/core/types_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { type ControlPlane, register, startControlPlane } from '../../support/processes/control-plane.js';
import { fixtureBytes, withNeeds } from '../../support/requests/fixtures.js';
import { literal } from '../../support/requests/hello.js';
import { PLACE, registerWorkflow } from '../../support/requests/registrations.js';
import { second } from '../../support/requests/reports.js';
import { all, type Changed, expectRefused, type Row, sampled } from '../../support/requests/rows.js';
import { expectShown } from '../../support/requests/report-steps.js';

const { method } = AdminService;
type Change = Changed<LaunchPlanCreateRequest>;
type SpecInit = Exclude<MessageInitShape<typeof LaunchPlanSpecSchema>, { readonly $typeName: string }>;

/**
 * A recorded launch plan whose workflow has the inputs `sample`, `day` and `table`: two with defaults, the third fixed.
 */
const recorded = fromBinary(
  LaunchPlanCreateRequestSchema,
  fixtureBytes('05-launch-plans/004-launch_plan.create_request.pb'),
);

let plane: ControlPlane;
/** Launch plans named so far; makes each name unique. */
let count = 0;
beforeAll(async () => {
  plane = await startControlPlane();
  await register(plane.grpc, withNeeds('01-hello', '05-launch-plans'));
  await registerWorkflow(plane.grpc, { name: 'without-inputs' }, ({ spec }) => {
    spec!.template!.interface!.inputs = create(VariableMapSchema);
    for (const input of spec!.template!.nodes[0]!.inputs)
      input.binding = create(BindingDataSchema, literal(input.var === 'times' ? 1n : 'Ada') as never);
  });
});
afterAll(() => plane.close());

/** A copy of the recorded launch plan, under a new name. */
const plan = (): LaunchPlanCreateRequest => {
  const request = clone(LaunchPlanCreateRequestSchema, recorded);
  request.id!.name = `plan-${(count += 1)}`;
  return request;
};

type Parameter = MessageInitShape<typeof ParameterSchema>;
type Literal = MessageInitShape<typeof LiteralSchema>;

const withSpec =
  (fields: SpecInit): Change =>
  ({ spec }) => {
    const given = create(LaunchPlanSpecSchema, fields);
    for (const field of Object.keys(fields) as (keyof LaunchPlanSpec)[])
      Object.assign(spec!, { [field]: given[field] });
  };
/** A parameter of a simple type; `behavior` says whether it is required or has a default. */
const simple = (type: SimpleType, behavior?: Parameter['behavior']): Parameter => ({
  var: { type: { type: { case: 'simple', value: type } } },
  ...(behavior && { behavior }),
});
const REQUIRED = { case: 'required', value: true } as const;
const byDefault = (value: Literal) => ({ case: 'default', value }) as const;
const scalar = (value: object): Literal =>
  ({ value: { case: 'scalar', value: { value: { case: 'primitive', value: { value } } } } }) as never;
/** Values of the types of the inputs `sample` and `day`. */
const HALF = scalar({ case: 'floatValue', value: 0.5 });
const DAY = scalar({ case: 'datetime', value: second(0) });
const defaults = (parameters: Record<string, Parameter>): Change => withSpec({ defaultInputs: { parameters } });
const fixed = (literals: Record<string, Literal>): Change => withSpec({ fixedInputs: { literals } });
const scheduled = (schedule: MessageInitShape<typeof ScheduleSchema>): Change =>
  withSpec({ entityMetadata: { schedule } });

/** A cron schedule; `kickoff` names the input that gets the time of the tick. */
const cron = (schedule: string, kickoff = '', offset = ''): MessageInitShape<typeof ScheduleSchema> => ({
  ScheduleExpression: { case: 'cronSchedule', value: { schedule, offset } },
  kickoffTimeInputArg: kickoff,
});
/** A cron schedule in the field of older clients. */
const oldCron = (value: string): MessageInitShape<typeof ScheduleSchema> => ({
  ScheduleExpression: { case: 'cronExpression', value },
});
/** A schedule that ticks every `value` units of time. */
const every = (value: number, unit = FixedRateUnit.HOUR): MessageInitShape<typeof ScheduleSchema> => ({
  ScheduleExpression: { case: 'rate', value: { value, unit } },
});

const limited = (max: number, behavior: Behavior): Change => withSpec({ concurrencyPolicy: { max, behavior } });
const notifying = (notification: MessageInitShape<typeof NotificationSchema>): Change =>
  withSpec({ entityMetadata: { notifications: [notification] } });
const email = (...recipientsEmail: string[]) => ({ case: 'email', value: { recipientsEmail } }) as const;

const noSpec: Change = (r) => {
  delete r.spec;
};
const noWorkflow: Change = ({ spec }) => {
  delete spec!.workflowId;
};
const workflowWithout =
  (part: 'project' | 'domain' | 'name' | 'version'): Change =>
  ({ spec }) =>
    void (spec!.workflowId![part] = '');
const ofWorkflow =
  (name: string): Change =>
  ({ spec }) =>
    void (spec!.workflowId!.name = name);
const ofWorkflowWithoutInputs: Change = all(
  ofWorkflow('without-inputs'),
  withSpec({ defaultInputs: {}, fixedInputs: {} }),
);
const noId: Change = (r) => {
  delete r.id;
};
const without =
  (part: 'project' | 'domain' | 'name' | 'version'): Change =>
  ({ id }) =>
    void (id![part] = '');
const ofResourceType =
  (type: ResourceType): Change =>
  ({ id }) =>
    void (id!.resourceType = type);
const unknownProject: Change = ({ id }) => void (id!.project = 'nowhere');
const badLabel = withSpec({ labels: { values: { 'a b': '' } } });
const fixedInputWithoutValue = fixed({ table: {} });
const defaultInputWithoutName = defaults({ '': simple(SimpleType.FLOAT, REQUIRED) });
const unexpectedDefault = defaults({ colour: simple(SimpleType.STRING, REQUIRED) });
const unexpectedFixed = fixed({ colour: literal('red') });
const badCron = scheduled(cron('every day'));
const notificationWithoutType = notifying({ phases: [Phase.FAILED] });
const zeroLimit = limited(0, Behavior.SKIP);
/** Sets launch conditions, which flightlog does not support. */
const conditions = withSpec({
  entityMetadata: { launchConditions: create(AnySchema, { typeUrl: 'type.googleapis.com/google.protobuf.Empty' }) },
});

/** An invalid request; a number before its rule is the step at which the RPC checks it. */
type Create = Row<typeof LaunchPlanCreateRequestSchema>;

const IDENTIFIED: readonly Create[] = [
  { rule: '1: a workflow id', change: noWorkflow, says: 'missing id of spec.workflow_id' },
  {
    rule: '1: a workflow id of resource type WORKFLOW',
    change: ({ spec }) => void (spec!.workflowId!.resourceType = ResourceType.TASK),
    says: 'unexpected resource type task',
  },
  {
    rule: '1: a project in the workflow id',
    change: workflowWithout('project'),
    says: 'missing project of spec.workflow_id',
  },
  {
    rule: '1: a domain in the workflow id',
    change: workflowWithout('domain'),
    says: 'missing domain of spec.workflow_id',
  },
  { rule: '1: a name in the workflow id', change: workflowWithout('name'), says: 'missing name of spec.workflow_id' },
  {
    rule: '1: a version in the workflow id',
    change: workflowWithout('version'),
    says: 'missing version of spec.workflow_id',
  },
  {
    rule: '2: a workflow that exists',
    change: ofWorkflow('unknown'),
    code: 'NOT_FOUND',
    says: 'missing entity of type WORKFLOW with identifier',
  },
  { rule: '3: an id', change: noId, says: 'missing id' },
  {
    rule: '3: an id of resource type LAUNCH_PLAN',
    change: ofResourceType(ResourceType.WORKFLOW),
    says: 'unexpected resource type workflow',
  },
  {
    rule: '3: a resource type in the id',
    change: ofResourceType(ResourceType.UNSPECIFIED),
    says: 'unexpected resource type',
  },
  { rule: '3: a project in the id', change: without('project'), says: 'missing project' },
  { rule: '3: a domain in the id', change: without('domain'), says: 'missing domain' },
  { rule: '3: a name in the id', change: without('name'), says: 'missing name' },
  { rule: '3: a version in the id', change: without('version'), says: 'missing version' },
  { rule: '4: a known project', change: unknownProject, says: 'nowhere' },
  { rule: '4: a known domain', change: ({ id }) => void (id!.domain = 'moon'), says: 'domain [moon] is unrecognized' },
  { rule: '5: a spec', change: noSpec, says: 'missing spec' },
  { rule: '7: valid labels', change: badLabel, says: 'invalid label key [a b]' },
];

const INPUTS: readonly Create[] = [
  { rule: '8: names of fixed inputs', change: fixed({ '': HALF }), says: 'missing key in fixed_inputs' },
  {
    rule: '8: values of fixed inputs',
    change: fixedInputWithoutValue,
    says: 'missing valid literal in fixed_inputs table',
  },
  {
    rule: '9: no queries for artifacts',
    change: defaults({ day: simple(SimpleType.DATETIME, { case: 'artifactQuery', value: {} }) }),
    says: 'artifact mode not enabled but query found default_inputs day',
  },
  { rule: '10: names of default inputs', change: defaultInputWithoutName, says: 'missing key in default_inputs' },
  {
    rule: '10: variables of default inputs',
    change: defaults({ day: { behavior: REQUIRED } }),
    says: 'The Variable component of the',
  },
  {
    rule: '10: types of default inputs',
    change: defaults({ day: { var: {}, behavior: REQUIRED } }),
    says: 'has a missing Type',
  },
  {
    rule: '10: a default, or that the input is required',
    change: defaults({ sample: simple(SimpleType.FLOAT) }),
    says: 'neither default, nor is',
  },
  {
    rule: '10: a default when the input is said not to be required',
    change: defaults({ sample: simple(SimpleType.FLOAT, { case: 'required', value: false }) }),
    says: 'Invalid variable sample in default_inputs',
  },
  {
    rule: '10: a default rather than an artifact',
    change: defaults({ sample: simple(SimpleType.FLOAT, { case: 'artifactId', value: { version: 'v1' } }) }),
    says: 'neither default, nor is required',
  },
  {
    rule: '10: a value of the default',
    change: defaults({ sample: simple(SimpleType.FLOAT, byDefault({})) }),
    says: 'missing valid literal in default_inputs sample',
  },
  {
    rule: '10: a default of the type of the parameter',
    change: defaults({ sample: simple(SimpleType.FLOAT, byDefault(literal('half'))) }),
    says: 'Type mismatch for Parameter sample in default_inputs',
  },
  {
    rule: '11: no default inputs for a workflow without inputs',
    change: all(ofWorkflowWithoutInputs, unexpectedDefault),
    says: 'invalid launch plan default inputs, expected none but found 1',
  },
  {
    rule: '11: no fixed inputs for a workflow without inputs',
    change: all(ofWorkflowWithoutInputs, unexpectedFixed),
    says: 'invalid launch plan fixed inputs, expected none but found 1',
  },
  {
    rule: '12: default inputs that the workflow has',
    change: unexpectedDefault,
    says: 'unexpected default_input colour',
  },
  {
    rule: '12: default inputs of the types in the workflow',
    change: defaults({ sample: simple(SimpleType.STRING, REQUIRED) }),
    says: 'invalid default_input wrong type sample, expected',
  },
  { rule: '13: fixed inputs that the workflow has', change: unexpectedFixed, says: 'unexpected fixed_input colour' },
  {
    rule: '13: fixed inputs of the types in the workflow',
    change: fixed({ table: literal(1n) }),
    says: 'invalid fixed_input wrong type table, expected',
  },
  {
    rule: 'an input by default or fixed, but not both',
    change: fixed({ table: literal('orders'), sample: HALF }),
    says: 'input sample is both in fixed_inputs and in default_inputs',
  },
];

const CRONS = [
  'every day',
  '* * * *',
  '* * * * * *',
  '61 * * * *',
  '@sometimes',
  '@every',
  'CRON_TZ=Mars/Base * * * * *',
];

/** The rules of the schedule, and those that are checked after it. */
const FROM_SCHEDULE_ON: readonly Create[] = [
  {
    rule: '14: no required inputs with a cron schedule',
    change: all(fixed({}), scheduled(cron('@daily'))),
    says: 'unbound required input. [table] is required',
  },
  {
    rule: '14: no required inputs with a rate',
    change: all(fixed({}), scheduled(every(1))),
    says: 'unbound required input',
  },
  {
    rule: '14: an existing input for the start time',
    change: scheduled(cron('@daily', 'colour')),
    says: 'does not point to a free input. [colour]',
  },
  {
    rule: '14: an input for the start time that is not fixed',
    change: scheduled(cron('@daily', 'table')),
    says: 'does not point to a free input. [table]',
  },
  {
    rule: '14: an input for the start time of type datetime',
    change: scheduled(cron('@daily', 'sample')),
    says: 'must reference a datetime input, [sample]',
  },
  ...CRONS.map((text) => ({
    rule: `14: a valid cron expression rather than [${text}]`,
    change: scheduled(cron(text)),
    says: 'Invalid cron expression: ',
  })),
  {
    rule: '14: a valid cron expression in the older field',
    change: scheduled(oldCron('every day')),
    says: 'Invalid cron expression: ',
  },
  {
    rule: '15: a type of a notification',
    change: notificationWithoutType,
    says: 'invalid value for notification type',
  },
  {
    rule: '15: recipients of a notification',
    change: notifying({ phases: [Phase.FAILED], type: email() }),
    says: 'missing recipients',
  },
  {
    rule: '15: recipients that are not empty',
    change: notifying({ phases: [Phase.FAILED], type: email('') }),
    says: 'missing recipient',
  },
  {
    rule: '15: notifications of phases that are ends',
    change: notifying({ phases: [Phase.RUNNING], type: email('a@example.org') }),
    says: 'invalid value for phase',
  },
  {
    rule: 'a concurrency limit of at least 1 with a behavior',
    change: zeroLimit,
    says: 'concurrency_policy.max: 0 is below 1',
  },
  {
    rule: 'a concurrency limit of at least 0 without a behavior',
    change: limited(-1, Behavior.UNSPECIFIED),
    says: 'concurrency_policy.max',
  },
  {
    rule: 'a behavior at the concurrency limit that the interface has',
    change: limited(1, 9 as never),
    says: 'concurrency_policy.behavior: 9',
  },
  { rule: '16: no launch conditions', change: conditions, says: 'Launch condition must be empty, found' },
];

/** Requests that break two rules; the refusal is that of the rule that is checked first. */
const ORDER: readonly Create[] = [
  {
    rule: '1 before 2',
    change: all(ofWorkflow('unknown'), workflowWithout('version')),
    says: 'missing version of spec.workflow_id',
  },
  { rule: '2 before 3', change: all(ofWorkflow('unknown'), without('name')), code: 'NOT_FOUND', says: 'type WORKFLOW' },
  { rule: '3 before 4', change: all(without('name'), unknownProject), says: 'missing name' },
  { rule: '4 before 7', change: all(unknownProject, badLabel), says: 'nowhere' },
  { rule: '7 before 8', change: all(badLabel, fixedInputWithoutValue), says: 'invalid label key' },
  {
    rule: '8 before 10',
    change: all(fixedInputWithoutValue, defaultInputWithoutName),
    says: 'missing valid literal in fixed_inputs',
  },
  {
    rule: '10 before 11',
    change: all(ofWorkflowWithoutInputs, defaultInputWithoutName),
    says: 'missing key in default_inputs',
  },
  { rule: '12 before 13', change: all(unexpectedDefault, unexpectedFixed), says: 'unexpected default_input' },
  { rule: '13 before 14', change: all(badCron, unexpectedFixed), says: 'unexpected fixed_input' },
  {
    rule: '14 before 15',
    change: withSpec({ entityMetadata: { schedule: cron('every day'), notifications: [{}] } }),
    says: 'Invalid cron expression',
  },
  {
    rule: '15 before 16',
    change: withSpec({ entityMetadata: { notifications: [{}], launchConditions: { typeUrl: 'a/b' } } }),
    says: 'invalid value for notification type',
  },
];

/** Rows whose request cannot be expressed in JSON. */
const NOT_IN_JSON: readonly Create[] = [
  {
    rule: '10: times before the year 10000',
    change: defaults({
      day: simple(SimpleType.DATETIME, byDefault(scalar({ case: 'datetime', value: { seconds: 253_402_300_800n } }))),
    }),
    says: 'invalid datetime in default_inputs day',
  },
];
/** True for a row that the REST client can convert to JSON: not for launch conditions, an `Any` of an unknown type. */
const inJson = ({ rule }: Create): boolean => rule !== '15 before 16' && !rule.startsWith('16');

/** A launch plan that is registered with a change, and what a read then shows. */
type Shown = {
  readonly rule: string;
  readonly change: Change;
  readonly spec?: Partial<Record<keyof LaunchPlanSpec, unknown>>;
  readonly closure?: Partial<Record<keyof LaunchPlanClosure, unknown>>;
  /** The inputs that an execution may set, each required or with a default. */
  readonly expected?: Readonly<Record<string, 'required' | 'default'>>;
};

const ALL_DEFAULTS = { sample: 'default', day: 'default' } as const;
const EVERYTHING: SpecInit = {
  labels: { values: { purpose: 'all' } },
  annotations: { values: { 'example.org/note': 'kept' } },
  entityMetadata: {
    schedule: cron('0 8 * * MON-FRI', 'day'),
    notifications: [{ phases: [Phase.FAILED], type: email('a@example.org') }],
  },
  maxParallelism: 7,
  interruptible: true,
  overwriteCache: true,
  envs: { values: [{ key: 'LEVEL', value: 'debug' }] },
  rawOutputDataConfig: { outputLocationPrefix: 's3://raw' },
  securityContext: { runAs: { k8sServiceAccount: 'runner' } },
  clusterAssignment: { clusterPoolName: 'main' },
  concurrencyPolicy: { max: 3, behavior: Behavior.SKIP },
};

/** Valid schedules, each with a name for the title of a test. */
const SCHEDULES: readonly (readonly [string, MessageInitShape<typeof ScheduleSchema>])[] = [
  ...[
    '*/5 * * * *',
    '0 8 1,15 jan-mar mon',
    '@hourly',
    '@every 1h30m',
    'CRON_TZ=Europe/Berlin 0 8 * * *',
    'TZ=UTC @daily',
    'hourly',
  ].map((text) => [text, cron(text)] as const),
  ['cron with an offset', cron('@daily', '', 'soon')],
  ['cron in the older field', oldCron('0 8 * * *')],
  ['a rate', every(3, FixedRateUnit.DAY)],
  ['a rate of zero', every(0)],
  ['cron with an input for the start time', cron('@daily', 'day')],
];

const SHOWN: readonly Shown[] = [
  { rule: 'not active', change: () => undefined, closure: { state: State.INACTIVE } },
  {
    rule: 'expecting the inputs that are not fixed',
    change: () => undefined,
    expected: ALL_DEFAULTS,
    spec: { fixedInputs: { literals: { table: literal('orders') } } },
  },
  {
    rule: 'requiring all inputs when none has a default or is fixed',
    change: withSpec({ defaultInputs: {}, fixedInputs: {} }),
    expected: { sample: 'required', day: 'required', table: 'required' },
  },
  {
    rule: 'requiring an input that is said to be required, and one without a default',
    change: defaults({ day: simple(SimpleType.DATETIME, REQUIRED) }),
    expected: { day: 'required', sample: 'required' },
  },
  {
    rule: 'expecting nothing when all inputs are fixed',
    change: all(defaults({}), fixed({ sample: HALF, day: DAY, table: literal('orders') })),
    expected: {},
  },
  { rule: 'expecting nothing for a workflow without inputs', change: ofWorkflowWithoutInputs, expected: {} },
  { rule: 'with the spec that was sent', change: withSpec(EVERYTHING), spec: EVERYTHING },
  ...SCHEDULES.map(([rule, schedule]) => ({
    rule: `with the schedule [${rule}]`,
    change: scheduled(schedule),
    spec: { entityMetadata: { schedule } },
  })),
  {
    rule: 'with a concurrency policy that limits nothing',
    change: limited(0, Behavior.UNSPECIFIED),
    spec: { concurrencyPolicy: { max: 0, behavior: Behavior.UNSPECIFIED } },
  },
];

/** Filters that find a launch plan which is registered with a change. */
const FILTERS: readonly (readonly [rule: string, change: Change, filters: string])[] = [
  ['the kind of its schedule: cron', scheduled(cron('@daily')), 'eq(schedule_type,CRON)'],
  ['the kind of its schedule: cron in the older field', scheduled(oldCron('0 8 * * *')), 'eq(schedule_type,CRON)'],
  ['the kind of its schedule: a rate', scheduled(every(1)), 'eq(schedule_type,RATE)'],
  ['the kind of its schedule: none', () => undefined, 'eq(schedule_type,NONE)'],
  ['the kind of its schedule: a rate of zero', scheduled(every(0)), 'eq(schedule_type,NONE)'],
  ['a schedule as its launch condition', scheduled(every(1)), 'eq(launch_condition_type,SCHED)'],
  ['its workflow', ofWorkflowWithoutInputs, 'eq(workflow.name,without-inputs)'],
  ['its state', () => undefined, `eq(state,${State.INACTIVE})`],
];

type Update = Row<typeof LaunchPlanUpdateRequestSchema>;

const UPDATES: readonly Update[] = [
  {
    rule: 'an id',
    change: (r) => {
      delete r.id;
    },
    says: 'missing id',
  },
  ...(['project', 'domain', 'name', 'version'] as const).map((part) => ({
    rule: `a ${part} in the id`,
    change: (r: Parameters<Update['change']>[0]) => void (r.id![part] = ''),
    says: `missing ${part}`,
  })),
  {
    rule: 'an id that does not name a task',
    change: ({ id }) => void (id!.resourceType = ResourceType.TASK),
    says: 'unexpected resource type task',
  },
  {
    rule: 'a state that exists',
    change: (r) => void Object.assign(r, { state: 2 }),
    says: 'Unrecognized launch plan state',
  },
  {
    rule: 'a version that exists',
    change: ({ id }) => void (id!.version = 'v9'),
    code: 'NOT_FOUND',
    says: 'missing entity of type LAUNCH_PLAN',
  },
  {
    rule: 'a version that exists, when it is deactivated too',
    change: (r) => Object.assign(r, { state: State.INACTIVE, id: { ...r.id!, version: 'v9' } }),
    code: 'NOT_FOUND',
    says: 'missing entity of type LAUNCH_PLAN',
  },
];
const askable = (way: 'grpc' | 'rest'): readonly Update[] =>
  // A REST path with a segment of the identifier missing is another path.
  way === 'grpc' ? UPDATES : UPDATES.filter(({ says }) => !says.startsWith('missing ') || says.includes('entity'));

/** The new state of a version, and whether an event is recorded. */
type Move = readonly [state: State, version: string, isRecorded: boolean];
const [ON, OFF] = [State.ACTIVE, State.INACTIVE];

/** Changes of the states of versions, one after another, and the version that is active in the end. */
const MOVES: readonly {
  readonly rule: string;
  readonly moves: readonly Move[];
  readonly active: string | undefined;
}[] = [
  { rule: 'none at first', moves: [], active: undefined },
  { rule: 'the one that was activated', moves: [[ON, 'v1', true]], active: 'v1' },
  {
    rule: 'the last one that was activated',
    moves: [
      [ON, 'v1', true],
      [ON, 'v2', true],
    ],
    active: 'v2',
  },
  {
    rule: 'the first one when it is activated again',
    moves: [
      [ON, 'v1', true],
      [ON, 'v2', true],
      [ON, 'v1', true],
    ],
    active: 'v1',
  },
  {
    rule: 'the one that was activated twice, recorded once',
    moves: [
      [ON, 'v1', true],
      [ON, 'v1', false],
    ],
    active: 'v1',
  },
  {
    rule: 'none once it is deactivated',
    moves: [
      [ON, 'v1', true],
      [OFF, 'v1', true],
    ],
    active: undefined,
  },
  {
    rule: 'the same when another one is deactivated',
    moves: [
      [ON, 'v1', true],
      [OFF, 'v2', false],
    ],
    active: 'v1',
  },
  { rule: 'none when an inactive one is deactivated', moves: [[OFF, 'v1', false]], active: undefined },
  { rule: 'one with a schedule', moves: [[ON, 'cron', true]], active: 'cron' },
  { rule: 'one with a schedule in the older field', moves: [[ON, 'old', true]], active: 'old' },
  {
    rule: 'none once one with a schedule is deactivated',
    moves: [
      [ON, 'cron', true],
      [OFF, 'cron', true],
    ],
    active: undefined,
  },
];

describe.each(['grpc', 'rest'] as const)('over %s', (way) => {
  /** Registers a launch plan with a change; returns its id. */
  const registered = async (change: Change): Promise<NonNullable<LaunchPlanCreateRequest['id']>> => {
    const request = plan();
    change(request);
    await plane[way].call(method.createLaunchPlan, request);
    return request.id!;
  };
  const get = (id: { project: string; domain: string; name: string; version: string }) =>
    plane[way].call(method.getLaunchPlan, { id });

  describe('CreateLaunchPlan requires', () => {
    const rows = [...IDENTIFIED, ...INPUTS, ...FROM_SCHEDULE_ON];
    it.each(way === 'grpc' ? [...rows, ...NOT_IN_JSON] : rows.filter(inJson))('$rule', async (row) => {
      await expectRefused(plane, way, [method.createLaunchPlan, plan], row);
    });
  });

  describe('CreateLaunchPlan checks the numbered rules in order:', () => {
    it.each(way === 'grpc' ? ORDER : ORDER.filter(inJson))('$rule', async (row) => {
      await expectRefused(plane, way, [method.createLaunchPlan, plan], row);
    });
  });

  describe('a launch plan is shown', () => {
    it.each(sampled(way, SHOWN))('$rule', async ({ change, spec = {}, closure = {}, expected }) => {
      const shown = await get(await registered(change));
      expectShown(shown.spec, spec);
      expectShown(shown.closure, closure);
      expect(shown.closure!.updatedAt).toEqual(shown.closure!.createdAt);
      expect(Object.keys(shown.closure!.expectedOutputs!.variables)).toEqual(['o0']);
      // Clients read the expected inputs in either field.
      expect(shown.spec!.defaultInputs).toEqual(shown.closure!.expectedInputs);
      const { parameters } = shown.closure!.expectedInputs!;
      if (expected)
        expect(Object.fromEntries(Object.entries(parameters).map(([k, { behavior }]) => [k, behavior.case]))).toEqual(
          expected,
        );
    });
  });

  describe('a launch plan is found by', () => {
    it.each(FILTERS)('%s', async (_rule, change, filters) => {
      const { name } = await registered(change);
      const found = async (by: string): Promise<readonly string[]> => {
        const list = { id: { ...PLACE, name }, filters: by };
        return (await plane[way].call(method.listLaunchPlans, list)).launchPlans.map(({ id }) => id!.name);
      };
      expect(await found(filters)).toEqual([name]);
      expect(await found(filters.replace(/^eq/u, 'ne'))).toEqual([]);
    });
  });

  describe('a version that exists', () => {
    it.each<readonly [string, Change, string]>([
      [
        'is ALREADY_EXISTS when it is registered again unchanged',
        () => undefined,
        'identical structure already exists',
      ],
      [
        'is ALREADY_EXISTS when it is registered again with another spec',
        withSpec({ maxParallelism: 3 }),
        'different structure already exists',
      ],
    ])('%s, also while it is active', async (_what, change, says) => {
      const request = plan();
      await plane[way].call(method.createLaunchPlan, request);
      const row = { change, says, code: 'ALREADY_EXISTS' };
      const whole = () => clone(LaunchPlanCreateRequestSchema, request);
      await expectRefused(plane, way, [method.createLaunchPlan, whole], row);
      await plane[way].call(method.updateLaunchPlan, { id: request.id!, state: State.ACTIVE });
      await expectRefused(plane, way, [method.createLaunchPlan, whole], row);
      expect((await get(request.id!)).closure!.state).toBe(State.ACTIVE);
    });
  });

  describe('UpdateLaunchPlan requires', () => {
    it.each(askable(way))('$rule', async (row) => {
      const id = await registered(() => undefined);
      const whole = () => create(LaunchPlanUpdateRequestSchema, { id: { ...id }, state: State.ACTIVE });
      await expectRefused(plane, way, [method.updateLaunchPlan, whole], row);
    });
  });

  describe('of the versions of a launch plan the active one is', () => {
    /**
     * Registers the versions `v1` and `v2`, and `cron` and `old` with schedules; returns the name of the launch plan.
     */
    const versions = async (): Promise<string> => {
      const name = `versions-${way}-${(count += 1)}`;
      const version = (version: string) => (request: LaunchPlanCreateRequest) =>
        void Object.assign(request.id!, { name, version });
      for (const each of ['v1', 'v2']) await registered(version(each));
      await registered(all(version('cron'), scheduled(cron('@daily'))));
      await registered(all(version('old'), scheduled(oldCron('0 8 * * *'))));
      return name;
    };
    /** Sends the state without a resource type, as clients do; INACTIVE is sent by leaving the state out. */
    const move = async (name: string, [state, version, isRecorded]: Move): Promise<void> => {
      const before = await plane.head();
      const id = { ...PLACE, name, version };
      await plane[way].call(method.updateLaunchPlan, state === ON ? { id, state } : { id });
      expect(await plane.eventsAfter(before)).toHaveLength(isRecorded ? 1 : 0);
    };
    const activeOf = async (name: string): Promise<readonly string[]> => {
      const { launchPlans } = await plane[way].call(method.listLaunchPlans, {
        id: { ...PLACE, name },
        filters: `eq(state,${State.ACTIVE})`,
      });
      return launchPlans.map(({ id }) => id!.version);
    };

    it.each(MOVES)('$rule', async ({ moves, active }) => {
      const name = await versions();
      for (const each of moves) await move(name, each);
      const asked = { id: { ...PLACE, name } };
      expect(await activeOf(name)).toEqual(active === undefined ? [] : [active]);
      const list = await plane[way].call(method.listActiveLaunchPlans, PLACE);
      expect(list.launchPlans.filter(({ id }) => id!.name === name).map(({ id }) => id!.version)).toEqual(
        active === undefined ? [] : [active],
      );
      if (active !== undefined) {
        expect((await plane[way].call(method.getActiveLaunchPlan, asked)).id!.version).toBe(active);
        return;
      }
      const { code, message } = await plane[way].attempt(method.getActiveLaunchPlan, asked);
      expect([code, message]).toEqual([
        'NOT_FOUND',
        `No active launch plan could be found: flytesnacks:development:${name}`,
      ]);
    });

    it('a single one when many are activated at once', async () => {
      const name = await versions();
      const ids = ['v1', 'v2', 'cron', 'old'].map((version) => ({ ...PLACE, name, version }));
      await Promise.all(ids.map((id) => plane[way].call(method.updateLaunchPlan, { id, state: ON })));
      expect(await activeOf(name)).toHaveLength(1);
    });

    it('shown as updated once it is deactivated, and not when it is activated', async () => {
      const name = await versions();
      const at = async () => (await get({ ...PLACE, name, version: 'v1' })).closure!;
      await move(name, [ON, 'v1', true]);
      const { createdAt, updatedAt } = await at();
      expect(updatedAt).toEqual(createdAt);
      await move(name, [OFF, 'v1', true]);
      expect(Number((await at()).updatedAt!.seconds)).toBeGreaterThanOrEqual(Number(createdAt!.seconds));
      expect((await at()).updatedAt).not.toEqual(createdAt);
    });
  });
});

describe('a refused read of launch plans:', () => {
  it.each<readonly [string, () => Promise<{ code: string; message: string }>, string, string]>([
    [
      'GetLaunchPlan without an id',
      () => plane.grpc.attempt(method.getLaunchPlan, {}),
      'INVALID_ARGUMENT',
      'missing id',
    ],
    ...(['project', 'domain', 'name', 'version'] as const).map(
      (part) =>
        [
          `GetLaunchPlan without a ${part}`,
          () => plane.grpc.attempt(method.getLaunchPlan, { id: { ...PLACE, name: 'n', version: 'v', [part]: '' } }),
          'INVALID_ARGUMENT',
          `missing ${part}`,
        ] as const,
    ),
    [
      'GetLaunchPlan of a version that does not exist',
      () => plane.rest.attempt(method.getLaunchPlan, { id: { ...PLACE, name: 'unknown', version: 'v1' } }),
      'NOT_FOUND',
      'missing entity of type LAUNCH_PLAN',
    ],
    [
      'GetActiveLaunchPlan without an id',
      () => plane.grpc.attempt(method.getActiveLaunchPlan, {}),
      'INVALID_ARGUMENT',
      'missing id',
    ],
    ...(['project', 'domain', 'name'] as const).map(
      (part) =>
        [
          `GetActiveLaunchPlan without a ${part}`,
          () => plane.grpc.attempt(method.getActiveLaunchPlan, { id: { ...PLACE, name: 'n', [part]: '' } }),
          'INVALID_ARGUMENT',
          `missing ${part}`,
        ] as const,
    ),
    ...(['project', 'domain'] as const).map(
      (part) =>
        [
          `ListActiveLaunchPlans without a ${part}`,
          () => plane.grpc.attempt(method.listActiveLaunchPlans, { ...PLACE, [part]: '' }),
          'INVALID_ARGUMENT',
          `missing ${part}`,
        ] as const,
    ),
    [
      'ListActiveLaunchPlans by an unknown sort key',
      () => plane.grpc.attempt(method.listActiveLaunchPlans, { ...PLACE, sortBy: { key: 'colour' } }),
      'INVALID_ARGUMENT',
      "invalid sort key 'colour'",
    ],
    [
      'ListActiveLaunchPlans with an invalid token',
      () => plane.grpc.attempt(method.listActiveLaunchPlans, { ...PLACE, token: 'x' }),
      'INVALID_ARGUMENT',
      'ListActiveLaunchPlans',
    ],
  ])('%s', async (_what, ask, code, says) => {
    const answer = await ask();
    expect([answer.code, answer.message]).toEqual([code, expect.stringContaining(says)]);
  });
});
