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
import { WorkflowExecution_Phase as Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import { ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import {
  type LiteralMap,
  LiteralMapSchema,
  type LiteralSchema,
} from '../../../proto/gen/platformidl/core/literals_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { type ControlPlane, register, startControlPlane } from '../../support/control-plane.js';
import { withNeeds } from '../../support/fixtures.js';
import { helloRequest, launchHello, literal } from '../../support/hello.js';
import { PLACE, registerTask } from '../../support/registrations.js';
import { type ExecutionId, HELLO_TASK, second, workflowReport } from '../../support/reports.js';
import { all, type Changed, expectRefused, type Row, sampled } from '../../support/rows.js';
import { expectShown } from '../../support/report-steps.js';

const { method } = AdminService;
type Change = Changed<ExecutionCreateRequest>;

let plane: ControlPlane;
let count = 0;
beforeAll(async () => {
  plane = await startControlPlane({
    FLIGHTLOG_PROJECTS: '["flytesnacks", "asleep"]',
    FLIGHTLOG_REGISTRATION_MAX_LABEL_ENTRIES: '3',
    FLIGHTLOG_EXECUTION_CLUSTER_POOLS: '{development: main}',
  });
  await register(plane.grpc, withNeeds('01-hello', '05-launch-plans'));
  await launchHello(plane.grpc, 'taken');
  await registerTask(plane.grpc, { name: 'of-somebody-asleep' }, ({ id }) => void (id!.project = 'asleep'));
  await plane.grpc.call(method.updateProject, { id: 'asleep', name: 'asleep', state: ProjectState.ARCHIVED });
});
afterAll(() => plane.close());

const request = (): ExecutionCreateRequest => helloRequest(`run-${(count += 1)}`);

const scalar = (value: object): MessageInitShape<typeof LiteralSchema> =>
  ({ value: { case: 'scalar', value: { value: { case: 'primitive', value: { value } } } } }) as never;
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
const giving =
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
const said =
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
const unknownInput = giving(literals({ colour: literal('red') }));
const badNotification = said({
  notificationOverrides: { case: 'notifications', value: { notifications: [{ phases: [Phase.FAILED] }] } },
});
const badLabel = said({ labels: { values: { 'a b': '' } } });
const fourLabels = said({ labels: { values: { a: '', b: '', c: '', d: '' } } });
const otherPool = said({ clusterAssignment: { clusterPoolName: 'other' } });
const task =
  (name: string, project = PLACE.project): Change =>
  (r) =>
    void Object.assign(r.spec!.launchPlan!, { ...HELLO_TASK, name, project });

const REFUSED: readonly Row<typeof method.createExecution.input>[] = [
  { rule: '1: a project', change: (r) => void (r.project = ''), says: 'missing project' },
  { rule: '1: a domain', change: (r) => void (r.domain = ''), says: 'missing domain' },
  { rule: '2: a name of 63 characters', change: named('a'.repeat(64)), says: 'size of name exceeded length 63' },
  { rule: '2: that begins with a letter', change: named('1a'), says: 'invalid name format: 1a' },
  { rule: '2: in lower case', change: named('aB'), says: 'invalid name format: aB' },
  { rule: '2: of letters, digits and hyphens', change: named('a_b'), says: 'invalid name format: a_b' },
  { rule: '3: a known project', change: nowhere, says: 'nowhere' },
  { rule: '3: and domain', change: (r) => void (r.domain = 'moon'), says: 'domain [moon] is unrecognized by system' },
  { rule: '3: which is active', change: (r) => void (r.project = 'asleep'), says: 'project [asleep] is not active' },
  { rule: '4: a spec', change: noSpec, says: 'missing spec' },
  { rule: '5: what it launches', change: noPlan, says: 'missing id of spec.launch_plan' },
  { rule: '5: its project', change: planWithout('project'), says: 'missing project of spec.launch_plan' },
  { rule: '5: its domain', change: planWithout('domain'), says: 'missing domain of spec.launch_plan' },
  { rule: '5: its name', change: planWithout('name'), says: 'missing name of spec.launch_plan' },
  { rule: '5: its version', change: planWithout('version'), says: 'missing version of spec.launch_plan' },
  { rule: '6: its type', change: ofType(ResourceType.UNSPECIFIED), says: 'resource type [UNSPECIFIED]' },
  { rule: '6: that can be launched', change: ofType(ResourceType.WORKFLOW), says: 'only [LAUNCH_PLAN, TASK] allowed' },
  { rule: '7: inputs with names', change: giving(literals({ '': literal(1n) })), says: 'missing key in inputs' },
  { rule: '7: and values', change: giving(literals({ name: {} })), says: 'missing valid literal in inputs name' },
  { rule: '8: notifications that can be', change: badNotification, says: 'invalid value for notification type' },
  {
    rule: 'beyond the table: a mode that exists',
    change: metadata({ mode: 77 as never }),
    says: 'invalid value for metadata.mode: 77 is not a mode',
  },
  { rule: '9: labels that can be', change: badLabel, says: 'invalid label key [a b]' },
  {
    rule: 'a launch plan that exists',
    change: plan('unknown'),
    code: 'NOT_FOUND',
    says: 'missing entity of type LAUNCH_PLAN with identifier',
  },
  { rule: 'inputs that it expects', change: unknownInput, says: 'invalid input colour' },
  {
    rule: 'inputs that it has not fixed',
    change: all(plan('launchplans.orders'), giving(literals({ table: literal('x') }))),
    says: 'invalid input table',
  },
  {
    rule: 'inputs that it has no default for',
    change: all(plan('launchplans.daily_count'), giving(literals({ day: DAY }))),
    says: 'expected_inputs table missing',
  },
  {
    rule: 'inputs of their type',
    change: giving(literals({ times: literal('twice') })),
    says: 'invalid times input wrong type. Expected',
  },
  {
    rule: 'a parent that exists',
    change: parent('unknown'),
    code: 'NOT_FOUND',
    says: 'missing entity of type',
  },
  { rule: 'and its node', change: parent('taken'), code: 'NOT_FOUND', says: 'type node execution' },
  { rule: 'no more labels than the platform takes', change: fourLabels, says: 'labels has too many entries [4 > 3]' },
  { rule: 'the pool that it is assigned to', change: otherPool, says: 'cannot run on cluster pool [other]' },
  {
    rule: 'a name that does not exist',
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
  { rule: 'of a project that is active', change: task('of-somebody-asleep', 'asleep'), says: 'project [asleep]' },
  {
    rule: 'and all of its inputs',
    change: all(task(HELLO_TASK.name), giving(literals({ times: literal(1n) }))),
    says: 'expected_inputs name missing',
  },
  { rule: 'order: 1 before 2', change: all((r) => void (r.domain = ''), named('A')), says: 'missing domain' },
  { rule: 'order: 2 before 3', change: all(named('A'), nowhere), says: 'invalid name format' },
  { rule: 'order: 3 before 4', change: all(nowhere, noSpec), says: 'nowhere' },
  {
    rule: 'order: 5 before 6',
    change: all(planWithout('name'), ofType(ResourceType.TASK)),
    says: 'missing name of spec.launch_plan',
  },
  {
    rule: 'order: 6 before 7',
    change: all(ofType(ResourceType.WORKFLOW), giving(literals({ '': DAY }))),
    says: 'only',
  },
  { rule: 'order: 7 before 8', change: all(giving(literals({ '': DAY })), badNotification), says: 'missing key' },
  { rule: 'order: 8 before 9', change: all(badLabel, badNotification), says: 'notification type' },
  { rule: 'order: 9 before the launch plan', change: all(badLabel, plan('unknown')), says: 'invalid label key' },
  {
    rule: 'order: the launch plan before the parent',
    change: all(plan('unknown'), parent('unknown')),
    code: 'NOT_FOUND',
    says: 'type LAUNCH_PLAN',
  },
  {
    rule: 'order: inputs before the parent',
    change: all(unknownInput, parent('unknown')),
    says: 'invalid input colour',
  },
  {
    rule: 'order: the parent before what the platform takes',
    change: all(fourLabels, parent('unknown')),
    code: 'NOT_FOUND',
    says: 'missing entity of type',
  },
  { rule: 'order: labels before the pool', change: all(otherPool, fourLabels), says: 'too many entries' },
  { rule: 'order: the pool before the name', change: all(otherPool, named('taken')), says: 'cluster pool' },
];

/** Rows whose request cannot be expressed in JSON. */
const UNSAID: typeof REFUSED = [
  {
    rule: '7: and times that there are',
    change: giving(literals({ name: scalar({ case: 'datetime', value: { seconds: 253_402_300_800n } }) })),
    says: 'invalid datetime in inputs name',
  },
];

type Run = { readonly rule: string; readonly change: Change };

const NAMES: readonly (Run & { readonly name: RegExp })[] = [
  { rule: '63 characters', change: named(`a${'b'.repeat(62)}`), name: /^ab{62}$/u },
  { rule: 'letters, digits and hyphens', change: named('a-1-b-'), name: /^a-1-b-$/u },
  { rule: 'of its own where none is given', change: named(''), name: /^a[bcdfghjklmnpqrstvwxz2456789]{19}$/u },
];

const INPUTS: readonly (Run & { readonly inputs: Readonly<Record<string, object>> })[] = [
  {
    rule: 'those of the request',
    change: giving(literals({ name: literal('Ada'), times: literal(3n) })),
    inputs: { name: literal('Ada'), times: literal(3n) },
  },
  {
    rule: 'the defaults of the launch plan for those that are not given',
    change: giving(literals({ times: literal(3n) })),
    inputs: { name: literal('control plane'), times: literal(3n) },
  },
  {
    rule: 'those of the spec where the request has none',
    change: all(said({ inputs: { literals: { name: literal('Ada') } } }), (r) => {
      delete r.inputs;
    }),
    inputs: { name: literal('Ada'), times: literal(1n) },
  },
  {
    rule: 'those of the spec where those of the request are empty',
    change: all(said({ inputs: { literals: { name: literal('Ada') } } }), giving(literals({}))),
    inputs: { name: literal('Ada'), times: literal(1n) },
  },
  {
    rule: 'those of the request rather than those of the spec',
    change: all(
      said({ inputs: { literals: { name: literal('Eve') } } }),
      giving(literals({ name: literal('Ada'), times: literal(1n) })),
    ),
    inputs: { name: literal('Ada'), times: literal(1n) },
  },
  {
    rule: 'those that the launch plan has fixed',
    change: all(plan('launchplans.orders'), giving(literals({ sample: HALF, day: DAY }))),
    inputs: { sample: HALF, day: DAY, table: literal('orders') },
  },
  {
    rule: 'those of a task that is launched by itself',
    change: all(task(HELLO_TASK.name), giving(literals({ name: literal('Ada'), times: literal(2n) }))),
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
    rule: 'QUEUED, with nothing of a run',
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
    rule: 'active, as its creator has left it',
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
    rule: 'with the principal that launched it, and no other',
    change: metadata({ principal: 'eve' }),
    metadata: { principal: '' },
  },
  {
    rule: 'without artifacts of the client’s own',
    change: metadata({ artifactIds: [{ version: 'v1' }] }),
    metadata: { artifactIds: [] },
  },
  {
    rule: 'with the time that it was scheduled for and the execution that it refers to',
    change: metadata({ scheduledAt: second(5), referenceExecution: { ...PLACE, name: 'taken' } }),
    metadata: { scheduledAt: second(5), referenceExecution: { ...PLACE, name: 'taken' } },
  },
  {
    rule: 'in its namespace, and of no cluster',
    change: () => undefined,
    metadata: { systemMetadata: { namespace: 'flytesnacks-development', executionCluster: '' } },
  },
  { rule: 'as it was asked for', change: said(EVERYTHING), spec: EVERYTHING },
  {
    rule: 'of a task: the workflow that was made for it, and the task that was asked for',
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
  { rule: 'what kind of thing it launches', change: task(HELLO_TASK.name), filters: 'eq(launch_entity,task)' },
  { rule: 'a tag', change: said({ tags: ['blue'] }), filters: 'eq(admin_tag.name,blue)' },
  {
    rule: 'a label',
    change: said({ labels: { values: { team: 'geo' } } }),
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

  describe('CreateExecution wants', () => {
    it.each(way === 'grpc' ? [...REFUSED, ...UNSAID] : REFUSED)('$rule', async (row) => {
      await expectRefused(plane, way, [method.createExecution, request], row);
    });
  });

  it('a project that is not active is named in a detail', async () => {
    const answer = await plane[way].attempt(method.createExecution, { ...request(), project: 'asleep' });
    expect(answer.details[0]!.typeUrl).toContain('admin.InactiveProject');
    expect(fromBinary(InactiveProjectSchema, answer.details[0]!.value).id).toBe('asleep');
  });

  describe('an execution has the name', () => {
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

    it('has a launch plan, which is not active and wants all inputs', async () => {
      const { spec, closure } = await plane[way].call(method.getLaunchPlan, { id: generated });
      expect(closure!.state).toBe(LaunchPlanState.INACTIVE);
      for (const { behavior } of Object.values(closure!.expectedInputs!.parameters))
        expect(behavior).toEqual({ case: 'required', value: true });
      expect(Object.keys(closure!.expectedInputs!.parameters).sort()).toEqual(['name', 'times']);
      expect(spec).toMatchObject({ labels: {}, annotations: {}, fixedInputs: {}, entityMetadata: {} });
    });

    it('has a workflow of one node, which is named after it and tried as often as it says', async () => {
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
      'has them marked as the system’s own: %i',
      async (type) => {
        const id = { ...PLACE, name: generated.name };
        const entity = await plane[way].call(method.getNamedEntity, { resourceType: type, id });
        expect(entity.metadata!.state).toBe(NamedEntityState.SYSTEM_GENERATED);
      },
    );

    it('is launched again with what was made for it the first time', async () => {
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

  it('outputs that came with an event are data; those that stand elsewhere are not', async () => {
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
