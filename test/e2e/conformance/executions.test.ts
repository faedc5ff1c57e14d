import { create, type DescMethodUnary, fromBinary, type MessageInitShape } from '@bufbuild/protobuf';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import {
  type ExecutionClosure,
  type ExecutionCreateRequest,
  type ExecutionMetadata,
  ExecutionMetadata_ExecutionMode as Mode,
  ExecutionMetadataSchema,
  type ExecutionSpec,
  ExecutionSpecSchema,
  ExecutionState,
} from '../../../proto/gen/platformidl/admin/execution_pb.js';
import { LaunchPlanState } from '../../../proto/gen/platformidl/admin/launch_plan_pb.js';
import { NamedEntityState } from '../../../proto/gen/platformidl/admin/common_pb.js';
import {
  InactiveProjectSchema,
  Project_ProjectState as ProjectState,
} from '../../../proto/gen/platformidl/admin/project_pb.js';
import {
  NodeExecution_Phase as NodePhase,
  WorkflowExecution_Phase as Phase,
} from '../../../proto/gen/platformidl/core/execution_pb.js';
import { NodeExecutionIdentifierSchema, ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import {
  type LiteralMap,
  LiteralMapSchema,
  type LiteralSchema,
} from '../../../proto/gen/platformidl/core/literals_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { type ControlPlane, register, startControlPlane } from '../../support/processes/control-plane.js';
import { withNeeds } from '../../support/requests/fixtures.js';
import { helloRequest, launchHello, literal } from '../../support/requests/hello.js';
import { PLACE, registerTask } from '../../support/requests/registrations.js';
import { type ExecutionId, HELLO_TASK, nodeReport, second, workflowReport } from '../../support/requests/reports.js';
import { all, type Changed, expectRefused, type Row, sampled } from '../../support/requests/rows.js';
import { expectShown } from '../../support/requests/report-steps.js';

const { method } = AdminService;
type Change = Changed<ExecutionCreateRequest>;

let plane: ControlPlane;
let count = 0;
beforeAll(async () => {
  plane = await startControlPlane({
    FLIGHTLOG_PROJECTS: '["flytesnacks", "archived"]',
    FLIGHTLOG_REGISTRATION_MAX_LABEL_ENTRIES: '3',
    FLIGHTLOG_EXECUTION_CLUSTER_POOLS: '{development: main}',
  });
  await register(plane.grpc, withNeeds('01-hello', '05-launch-plans'));
  await launchHello(plane.grpc, 'taken');
  await registerTask(plane.grpc, { name: 'of-an-archived-project' }, ({ id }) => void (id!.project = 'archived'));
  await plane.grpc.call(method.updateProject, { id: 'archived', name: 'archived', state: ProjectState.ARCHIVED });
});
afterAll(() => plane.close());

const request = (): ExecutionCreateRequest => helloRequest(`run-${(count += 1)}`);

const scalar = (value: object): MessageInitShape<typeof LiteralSchema> =>
  ({ value: { case: 'scalar', value: { value: { case: 'primitive', value: { value } } } } }) as never;
/** Values of the inputs `day` and `sample`. */
const DAY = scalar({ case: 'datetime', value: second(0) });
const HALF = scalar({ case: 'floatValue', value: 0.5 });
const literals = (values: Readonly<Record<string, MessageInitShape<typeof LiteralSchema>>>): LiteralMap =>
  create(LiteralMapSchema, { literals: values });

const named =
  (name: string): Change =>
  (r) =>
    void (r.name = name);
const noSpec: Change = (r) => {
  delete r.spec;
};
const noPlan: Change = (r) => {
  delete r.spec!.launchPlan;
};
const planWithout =
  (part: 'project' | 'domain' | 'name' | 'version'): Change =>
  (r) =>
    void (r.spec!.launchPlan![part] = '');
const ofType =
  (type: ResourceType): Change =>
  (r) =>
    void (r.spec!.launchPlan!.resourceType = type);
const nowhere: Change = (r) => void (r.project = 'nowhere');
const withInputs =
  (inputs: LiteralMap): Change =>
  (r) =>
    void (r.inputs = inputs);
/** Another launch plan, without inputs. */
const plan =
  (name: string): Change =>
  (r) => {
    r.spec!.launchPlan!.name = name;
    delete r.inputs;
  };
const withSpec =
  (fields: MessageInitShape<typeof ExecutionSpecSchema>): Change =>
  (r) => {
    const spec = create(ExecutionSpecSchema, fields);
    for (const field of Object.keys(fields) as (keyof ExecutionSpec)[])
      Object.assign(r.spec!, { [field]: spec[field] });
  };
const metadata =
  (fields: MessageInitShape<typeof ExecutionMetadataSchema>): Change =>
  (r) =>
    void (r.spec!.metadata = create(ExecutionMetadataSchema, fields));
const parent = (name: string): Change =>
  metadata({ parentNodeExecution: { nodeId: 'n9', executionId: { ...PLACE, name } } });
const unknownInput = withInputs(literals({ colour: literal('red') }));
const badNotification = withSpec({
  notificationOverrides: { case: 'notifications', value: { notifications: [{ phases: [Phase.FAILED] }] } },
});
const badLabel = withSpec({ labels: { values: { 'a b': '' } } });
const fourLabels = withSpec({ labels: { values: { a: '', b: '', c: '', d: '' } } });
const otherPool = withSpec({ clusterAssignment: { clusterPoolName: 'other' } });
const task =
  (name: string, project = PLACE.project): Change =>
  (r) =>
    void Object.assign(r.spec!.launchPlan!, { ...HELLO_TASK, name, project });

/** Invalid requests; a number is the step at which the RPC checks the rule. */
const REFUSED: readonly Row<typeof method.createExecution.input>[] = [
  { rule: '1: a project', change: (r) => void (r.project = ''), says: 'missing project' },
  { rule: '1: a domain', change: (r) => void (r.domain = ''), says: 'missing domain' },
  {
    rule: '2: a name of at most 63 characters',
    change: named('a'.repeat(64)),
    says: 'size of name exceeded length 63',
  },
  { rule: '2: a name that begins with a letter', change: named('1a'), says: 'invalid name format: 1a' },
  { rule: '2: a name in lower case', change: named('aB'), says: 'invalid name format: aB' },
  { rule: '2: a name of letters, digits and hyphens', change: named('a_b'), says: 'invalid name format: a_b' },
  { rule: '3: a known project', change: nowhere, says: 'nowhere' },
  {
    rule: '3: a known domain',
    change: (r) => void (r.domain = 'moon'),
    says: 'domain [moon] is unrecognized by system',
  },
  {
    rule: '3: an active project',
    change: (r) => void (r.project = 'archived'),
    says: 'project [archived] is not active',
  },
  { rule: '4: a spec', change: noSpec, says: 'missing spec' },
  { rule: '5: an identifier of what is launched', change: noPlan, says: 'missing id of spec.launch_plan' },
  {
    rule: '5: a project in that identifier',
    change: planWithout('project'),
    says: 'missing project of spec.launch_plan',
  },
  { rule: '5: a domain in that identifier', change: planWithout('domain'), says: 'missing domain of spec.launch_plan' },
  { rule: '5: a name in that identifier', change: planWithout('name'), says: 'missing name of spec.launch_plan' },
  {
    rule: '5: a version in that identifier',
    change: planWithout('version'),
    says: 'missing version of spec.launch_plan',
  },
  {
    rule: '6: a resource type in that identifier',
    change: ofType(ResourceType.UNSPECIFIED),
    says: 'resource type [UNSPECIFIED]',
  },
  {
    rule: '6: the resource type of a launch plan or of a task',
    change: ofType(ResourceType.WORKFLOW),
    says: 'only [LAUNCH_PLAN, TASK] allowed',
  },
  { rule: '7: inputs with names', change: withInputs(literals({ '': literal(1n) })), says: 'missing key in inputs' },
  {
    rule: '7: inputs with values',
    change: withInputs(literals({ name: {} })),
    says: 'missing valid literal in inputs name',
  },
  { rule: '8: valid notifications', change: badNotification, says: 'invalid value for notification type' },
  {
    rule: 'a mode that exists',
    change: metadata({ mode: 77 as never }),
    says: 'invalid value for spec.metadata.mode: 77 is not a mode',
  },
  { rule: '9: valid labels', change: badLabel, says: 'invalid label key [a b]' },
  {
    rule: 'a launch plan that exists',
    change: plan('unknown'),
    code: 'NOT_FOUND',
    says: 'missing entity of type LAUNCH_PLAN with identifier',
  },
  { rule: 'inputs that the launch plan expects', change: unknownInput, says: 'invalid input colour' },
  {
    rule: 'inputs that the launch plan has not fixed',
    change: all(plan('launchplans.orders'), withInputs(literals({ table: literal('x') }))),
    says: 'invalid input table',
  },
  {
    rule: 'the inputs for which the launch plan has no default',
    change: all(plan('launchplans.daily_count'), withInputs(literals({ day: DAY }))),
    says: 'expected_inputs table missing',
  },
  {
    rule: 'inputs of their types',
    change: withInputs(literals({ times: literal('twice') })),
    says: 'invalid times input wrong type. Expected',
  },
  {
    rule: 'a parent execution that exists',
    change: parent('unknown'),
    code: 'NOT_FOUND',
    says: 'missing entity of type',
  },
  {
    rule: 'the node of a parent',
    change: metadata({ parentNodeExecution: { executionId: { ...PLACE, name: 'taken' } } }),
    says: 'missing node_id of spec.metadata.parent_node_execution',
  },
  { rule: 'a parent node that exists', change: parent('taken'), code: 'NOT_FOUND', says: 'type node execution' },
  {
    rule: 'no more labels than the limit of the platform',
    change: fourLabels,
    says: 'labels has too many entries [4 > 3]',
  },
  {
    rule: 'the cluster pool that the domain is assigned to',
    change: otherPool,
    says: 'cannot run on cluster pool [other]',
  },
  {
    rule: 'a name that no execution has',
    change: named('taken'),
    code: 'ALREADY_EXISTS',
    says: 'value with matching already',
  },
  {
    rule: 'a task that exists',
    change: task('unknown'),
    code: 'NOT_FOUND',
    says: 'missing entity of type TASK with identifier',
  },
  {
    rule: 'a task of an active project',
    change: task('of-an-archived-project', 'archived'),
    says: 'project [archived]',
  },
  {
    rule: 'all inputs of a task',
    change: all(task(HELLO_TASK.name), withInputs(literals({ times: literal(1n) }))),
    says: 'expected_inputs name missing',
  },
];

/** Requests that break two rules; the refusal is that of the rule that is checked first. */
const ORDER: typeof REFUSED = [
  { rule: '1 before 2', change: all((r) => void (r.domain = ''), named('A')), says: 'missing domain' },
  { rule: '2 before 3', change: all(named('A'), nowhere), says: 'invalid name format' },
  { rule: '3 before 4', change: all(nowhere, noSpec), says: 'nowhere' },
  {
    rule: '5 before 6',
    change: all(planWithout('name'), ofType(ResourceType.TASK)),
    says: 'missing name of spec.launch_plan',
  },
  {
    rule: '6 before 7',
    change: all(ofType(ResourceType.WORKFLOW), withInputs(literals({ '': DAY }))),
    says: 'only',
  },
  { rule: '7 before 8', change: all(withInputs(literals({ '': DAY })), badNotification), says: 'missing key' },
  { rule: '8 before 9', change: all(badLabel, badNotification), says: 'notification type' },
  { rule: '9 before the launch plan', change: all(badLabel, plan('unknown')), says: 'invalid label key' },
  {
    rule: 'the launch plan before the parent',
    change: all(plan('unknown'), parent('unknown')),
    code: 'NOT_FOUND',
    says: 'type LAUNCH_PLAN',
  },
  {
    rule: 'inputs before the parent',
    change: all(unknownInput, parent('unknown')),
    says: 'invalid input colour',
  },
  {
    rule: 'the parent before the number of labels',
    change: all(fourLabels, parent('unknown')),
    code: 'NOT_FOUND',
    says: 'missing entity of type',
  },
  { rule: 'labels before the pool', change: all(otherPool, fourLabels), says: 'too many entries' },
  { rule: 'the pool before the name', change: all(otherPool, named('taken')), says: 'cluster pool' },
];

/** Rows whose request cannot be expressed in JSON. */
const NOT_IN_JSON: typeof REFUSED = [
  {
    rule: '7: times before the year 10000',
    change: withInputs(literals({ name: scalar({ case: 'datetime', value: { seconds: 253_402_300_800n } }) })),
    says: 'invalid datetime in inputs name',
  },
];

type Run = { readonly rule: string; readonly change: Change };

const NAMES: readonly (Run & { readonly name: RegExp })[] = [
  { rule: 'of 63 characters', change: named(`a${'b'.repeat(62)}`), name: /^ab{62}$/u },
  { rule: 'of letters, digits and hyphens', change: named('a-1-b-'), name: /^a-1-b-$/u },
  {
    rule: 'a generated one when the request has none',
    change: named(''),
    name: /^a[bcdfghjklmnpqrstvwxz2456789]{19}$/u, // an `a`, then 19 characters that form no words
  },
];

const INPUTS: readonly (Run & { readonly inputs: Readonly<Record<string, object>> })[] = [
  {
    rule: 'the inputs of the request',
    change: withInputs(literals({ name: literal('Ada'), times: literal(3n) })),
    inputs: { name: literal('Ada'), times: literal(3n) },
  },
  {
    rule: 'the defaults of the launch plan for inputs that are not given',
    change: withInputs(literals({ times: literal(3n) })),
    inputs: { name: literal('control plane'), times: literal(3n) },
  },
  {
    rule: 'the inputs of the spec when the request has none',
    change: all(withSpec({ inputs: { literals: { name: literal('Ada') } } }), (r) => {
      delete r.inputs;
    }),
    inputs: { name: literal('Ada'), times: literal(1n) },
  },
  {
    rule: 'the inputs of the spec when those of the request are empty',
    change: all(withSpec({ inputs: { literals: { name: literal('Ada') } } }), withInputs(literals({}))),
    inputs: { name: literal('Ada'), times: literal(1n) },
  },
  {
    rule: 'the inputs of the request rather than those of the spec',
    change: all(
      withSpec({ inputs: { literals: { name: literal('Eve') } } }),
      withInputs(literals({ name: literal('Ada'), times: literal(1n) })),
    ),
    inputs: { name: literal('Ada'), times: literal(1n) },
  },
  {
    rule: 'the inputs that the launch plan has fixed',
    change: all(plan('launchplans.orders'), withInputs(literals({ sample: HALF, day: DAY }))),
    inputs: { sample: HALF, day: DAY, table: literal('orders') },
  },
  {
    rule: 'the inputs of a task that is launched by itself',
    change: all(task(HELLO_TASK.name), withInputs(literals({ name: literal('Ada'), times: literal(2n) }))),
    inputs: { name: literal('Ada'), times: literal(2n) },
  },
];

type Shown = Run & {
  readonly closure?: Partial<Record<keyof ExecutionClosure, unknown>>;
  readonly spec?: Partial<Record<keyof ExecutionSpec, unknown>>;
  readonly metadata?: Partial<Record<keyof ExecutionMetadata, unknown>>;
};

const EVERYTHING: MessageInitShape<typeof ExecutionSpecSchema> = {
  labels: { values: { purpose: 'all' } },
  annotations: { values: { 'example.org/note': 'all options at once' } },
  rawOutputDataConfig: { outputLocationPrefix: 's3://raw' },
  clusterAssignment: { clusterPoolName: 'main' },
  interruptible: false,
  overwriteCache: true,
  envs: { values: [{ key: 'LEVEL', value: 'debug' }] },
  tags: ['one', 'two'],
  executionClusterLabel: { value: 'eu-1' },
  maxParallelism: 7,
  securityContext: { runAs: { k8sServiceAccount: 'runner' } },
};
const HELLO = { ...PLACE, name: 'hello.hello', version: 'v1' };

const SHOWN: readonly Shown[] = [
  {
    rule: 'QUEUED, without a start, a duration and a result',
    change: () => undefined,
    closure: {
      phase: Phase.QUEUED,
      startedAt: undefined,
      duration: undefined,
      outputResult: { case: undefined },
      notifications: [],
    },
  },
  {
    rule: 'with the workflow that the launch plan is of',
    change: () => undefined,
    closure: { workflowId: { ...HELLO, resourceType: ResourceType.WORKFLOW } },
    spec: { launchPlan: { ...HELLO, resourceType: ResourceType.LAUNCH_PLAN } },
  },
  {
    rule: 'active',
    change: () => undefined,
    closure: { stateChangeDetails: { state: ExecutionState.EXECUTION_ACTIVE, principal: '' } },
  },
  ...(
    [
      Mode.MANUAL,
      Mode.SCHEDULED,
      Mode.SYSTEM,
      Mode.RELAUNCH,
      Mode.CHILD_WORKFLOW,
      Mode.RECOVERED,
      Mode.TRIGGER,
    ] as const
  ).map((mode) => ({ rule: `of mode ${Mode[mode]}`, change: metadata({ mode }), metadata: { mode } })),
  {
    rule: 'without the principal that the client has sent',
    change: metadata({ principal: 'eve' }),
    metadata: { principal: '' },
  },
  {
    rule: 'without the artifact ids that the client has sent',
    change: metadata({ artifactIds: [{ version: 'v1' }] }),
    metadata: { artifactIds: [] },
  },
  {
    rule: 'with the time that it was scheduled for and the execution that it refers to',
    change: metadata({ scheduledAt: second(5), referenceExecution: { ...PLACE, name: 'taken' } }),
    metadata: { scheduledAt: second(5), referenceExecution: { ...PLACE, name: 'taken' } },
  },
  {
    rule: 'with its namespace, and without a cluster',
    change: () => undefined,
    metadata: { systemMetadata: { namespace: 'flytesnacks-development', executionCluster: '' } },
  },
  { rule: 'with the spec of the request', change: withSpec(EVERYTHING), spec: EVERYTHING },
  {
    rule: 'with inputs in the spec when its request had them there',
    change: all(withInputs(literals({})), withSpec({ inputs: { literals: { name: literal('Ada') } } })),
    spec: { inputs: literals({ name: literal('Ada') }) },
  },
  {
    rule: 'without the inputs in the spec of a request that had others',
    change: all(
      withInputs(literals({ name: literal('Ada') })),
      withSpec({ inputs: literals({ name: literal('Eve') }) }),
    ),
    spec: { inputs: undefined },
  },
  {
    rule: 'without inputs in the spec when they were large',
    change: all(withInputs(literals({})), withSpec({ inputs: literals({ name: literal('x'.repeat(70_000)) }) })),
    spec: { inputs: undefined },
  },
  {
    rule: 'with the generated workflow of a task, and with the task of the request',
    change: task(HELLO_TASK.name),
    closure: { workflowId: { ...HELLO_TASK, resourceType: ResourceType.WORKFLOW, name: '.flytegen.hello.greet' } },
    spec: { launchPlan: { ...HELLO_TASK }, maxParallelism: 0 },
  },
];

const FILTERS: readonly (Run & { readonly filters: string })[] = [
  { rule: 'its mode', change: metadata({ mode: Mode.SYSTEM }), filters: 'eq(mode,2)' },
  { rule: 'its launch plan', change: plan('launchplans.orders'), filters: 'eq(launch_plan.name,launchplans.orders)' },
  { rule: 'its workflow', change: plan('launchplans.orders'), filters: 'eq(workflow.name,launchplans.daily_count)' },
  { rule: 'its task', change: task(HELLO_TASK.name), filters: 'eq(task.name,hello.greet)' },
  { rule: 'the kind of what it launches', change: task(HELLO_TASK.name), filters: 'eq(launch_entity,task)' },
  { rule: 'a tag', change: withSpec({ tags: ['blue'] }), filters: 'eq(admin_tag.name,blue)' },
  {
    rule: 'a label',
    change: withSpec({ labels: { values: { team: 'geo' } } }),
    filters: 'eq(execution_tag.key,team)+eq(execution_tag.value,geo)',
  },
];

type Read = readonly [what: string, id: ExecutionId | undefined, code: string, says: string];

const UNREAD: readonly Read[] = [
  ['no identifier', undefined, 'INVALID_ARGUMENT', 'missing id'],
  ['no project', { ...PLACE, name: 'taken', project: '' }, 'INVALID_ARGUMENT', 'missing project'],
  ['no domain', { ...PLACE, name: 'taken', domain: '' }, 'INVALID_ARGUMENT', 'missing domain'],
  ['no name', { ...PLACE, name: '' }, 'INVALID_ARGUMENT', 'missing name'],
  ['a name that does not exist', { ...PLACE, name: 'unknown' }, 'NOT_FOUND', 'missing entity of type execution with'],
];

describe.each(['grpc', 'rest'] as const)('over %s', (way) => {
  const launch = async (change: Change): Promise<ExecutionId> => {
    const asked = request();
    change(asked);
    return (await plane[way].call(method.createExecution, asked)).id!;
  };
  const get = (id: ExecutionId) => plane[way].call(method.getExecution, { id });

  describe('CreateExecution requires', () => {
    it.each(way === 'grpc' ? [...REFUSED, ...NOT_IN_JSON] : REFUSED)('$rule', async (row) => {
      await expectRefused(plane, way, [method.createExecution, request], row);
    });
  });

  describe('CreateExecution checks the rules in order:', () => {
    it.each(ORDER)('$rule', async (row) => {
      await expectRefused(plane, way, [method.createExecution, request], row);
    });
  });

  it('a project that is not active is named in a detail of the refusal', async () => {
    const answer = await plane[way].attempt(method.createExecution, { ...request(), project: 'archived' });
    expect(answer.details[0]!.typeUrl).toContain('admin.InactiveProject');
    expect(fromBinary(InactiveProjectSchema, answer.details[0]!.value).id).toBe('archived');
  });

  describe('an execution has a name:', () => {
    it.each(NAMES)('$rule', async ({ change, name }) => {
      // A name stays taken permanently, so each transport launches in a domain of its own.
      const elsewhere: Change = (r) => void (r.domain = way === 'grpc' ? 'development' : 'staging');
      expect((await launch(all(change, elsewhere))).name).toMatch(name);
    });
  });

  describe('an execution runs with', () => {
    it.each(INPUTS)('$rule', async ({ change, inputs }) => {
      const id = await launch(change);
      const { fullInputs, fullOutputs, ...links } = await plane[way].call(method.getExecutionData, { id });
      expect(Object.keys(fullInputs!.literals).sort()).toEqual(Object.keys(inputs).sort());
      expect(fullInputs!.literals).toMatchObject(inputs);
      expect(fullOutputs).toBeUndefined();
      expect(links).toMatchObject({ inputs: { url: '' }, outputs: { url: '' } });
    });
  });

  describe('an execution is shown', () => {
    it.each(sampled(way, SHOWN))('$rule', async ({ change, closure = {}, spec = {}, metadata: about = {} }) => {
      const shown = await get(await launch(change));
      expectShown(shown.closure, closure);
      expectShown(shown.spec, spec);
      expectShown(shown.spec!.metadata, about);
    });

    it('created and updated when it was recorded', async () => {
      const before = Date.now();
      const { closure } = await get(await launch(() => undefined));
      expect(closure!.updatedAt).toEqual(closure!.createdAt);
      expect(timestampMs(closure!.createdAt!)).toBeGreaterThanOrEqual(before);
      expect(timestampMs(closure!.createdAt!)).toBeLessThanOrEqual(Date.now());
    });
  });

  it('an execution is listed without the inputs in its spec', async () => {
    const inputs = literals({ name: literal('Ada') });
    const { name } = await launch(all(withInputs(literals({})), withSpec({ inputs })));
    const { executions } = await plane[way].call(method.listExecutions, { id: { ...PLACE, name } });
    expect(executions.map(({ id, spec }) => [id!.name, spec!.inputs])).toEqual([[name, undefined]]);
  });

  describe('an execution is found by', () => {
    it.each(FILTERS)('$rule', async ({ change, filters }) => {
      const { name } = await launch(change);
      const list = { id: PLACE, filters: `${filters}+value_in(name,taken;${name})` };
      const { executions } = await plane[way].call(method.listExecutions, list);
      expect(executions.map(({ id }) => id!.name)).toEqual([name]);
    });
  });

  describe('a task that is launched by itself', () => {
    const generated = { ...PLACE, name: '.flytegen.hello.greet', version: 'v1' };
    beforeAll(() => launch(task(HELLO_TASK.name)));

    it('has a launch plan, which is not active and requires all inputs', async () => {
      const { spec, closure } = await plane[way].call(method.getLaunchPlan, { id: generated });
      expect(closure!.state).toBe(LaunchPlanState.INACTIVE);
      for (const { behavior } of Object.values(closure!.expectedInputs!.parameters))
        expect(behavior).toEqual({ case: 'required', value: true });
      expect(Object.keys(closure!.expectedInputs!.parameters).sort()).toEqual(['name', 'times']);
      expect(spec).toMatchObject({ labels: {}, annotations: {}, fixedInputs: {}, entityMetadata: {} });
    });

    it('has a workflow of one node between start and end, named after the task, with its retries', async () => {
      const { closure } = await plane[way].call(method.getWorkflow, { id: generated });
      const nodes = closure!.compiledWorkflow!.primary!.template!.nodes;
      const [node] = nodes.filter(({ id }) => !id.endsWith('-node'));
      expect([nodes.length, node!.id, node!.metadata!.name]).toEqual([3, 'hellogreet', 'hellogreet']);
      const registered = await plane[way].call(method.getTask, { id: HELLO_TASK });
      const { retries } = registered.closure!.compiledTask!.template!.metadata!;
      expect(node!.metadata!.retries).toEqual(retries);
      expect(node!.target).toMatchObject({ case: 'taskNode', value: { reference: { value: HELLO_TASK } } });
    });

    it.each([ResourceType.WORKFLOW, ResourceType.LAUNCH_PLAN])(
      'has SYSTEM_GENERATED as the state of the workflow and the launch plan: resource type %i',
      async (type) => {
        const id = { ...PLACE, name: generated.name };
        const entity = await plane[way].call(method.getNamedEntity, { resourceType: type, id });
        expect(entity.metadata!.state).toBe(NamedEntityState.SYSTEM_GENERATED);
      },
    );

    it('is launched again with the workflow and launch plan of the first launch', async () => {
      const before = await plane.head();
      await launch(task(HELLO_TASK.name));
      expect(await plane.eventsAfter(before)).toHaveLength(1);
    });
  });

  describe.each<DescMethodUnary<typeof method.getExecution.input>>([
    method.getExecution,
    method.getExecutionData as never,
  ])('$name', (read) => {
    // A REST path with a segment of the identifier missing is another path.
    it.each(way === 'grpc' ? UNREAD : UNREAD.slice(-1))('finds nothing with %s', async (_what, id, code, says) => {
      const answer = await plane[way].attempt(read, id ? { id } : {});
      expect([answer.code, answer.message]).toEqual([code, expect.stringContaining(says)]);
    });
  });

  it('outputs in an event are answered by GetExecutionData; outputs at a URI are not', async () => {
    const [here, elsewhere] = [await launch(() => undefined), await launch(() => undefined)];
    const value = literals({ o0: literal('Hello') });
    const ended = (id: ExecutionId, outputResult: object) =>
      plane[way].call(
        method.createWorkflowEvent,
        workflowReport(id, { phase: Phase.SUCCEEDED, outputResult } as never),
      );
    await ended(here, { case: 'outputData', value });
    await ended(elsewhere, { case: 'outputUri', value: 's3://b/o' });
    expect((await plane[way].call(method.getExecutionData, { id: here })).fullOutputs).toEqual(value);
    expect((await plane[way].call(method.getExecutionData, { id: elsewhere })).fullOutputs).toBeUndefined();
  });
});

it.each(['grpc', 'rest'] as const)('the org that a launch names is forgotten, over %s', async (way) => {
  const sent = request();
  sent.org = 'ours';
  sent.spec!.launchPlan!.org = 'ours';
  const { id } = await plane[way].call(method.createExecution, sent);
  const { spec } = await plane[way].call(method.getExecution, { id: id! });
  expect(spec!.launchPlan).toMatchObject({ name: 'hello.hello', org: '' });
});

it.each(['grpc', 'rest'] as const)(
  'the org of the executions that a launch refers to is forgotten, over %s',
  async (way) => {
    const { call } = plane[way];
    const parent = (await call(method.createExecution, request())).id!;
    await call(method.createNodeEvent, nodeReport(parent, 'n0', { phase: NodePhase.RUNNING }));
    const executionId = { ...parent, org: 'ours' };
    const sent = request();
    const parentNodeExecution = create(NodeExecutionIdentifierSchema, { nodeId: 'n0', executionId });
    sent.spec!.metadata = create(ExecutionMetadataSchema, {
      mode: Mode.CHILD_WORKFLOW,
      parentNodeExecution,
      referenceExecution: executionId,
    });
    const { metadata } = (await call(method.getExecution, { id: (await call(method.createExecution, sent)).id! }))
      .spec!;
    expect(metadata!.referenceExecution).toMatchObject({ name: parent.name, org: '' });
    expect(metadata!.parentNodeExecution).toMatchObject({ nodeId: 'n0', executionId: { name: parent.name, org: '' } });
  },
);
