import { randomUUID } from 'node:crypto';
import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  ExecutionCreateRequestSchema,
  ExecutionMetadata_ExecutionMode as Mode,
  ExecutionRecoverRequestSchema,
  type ExecutionSpecSchema,
} from '../../../../proto/gen/platformidl/admin/execution_pb.js';
import {
  ConcurrencyLimitBehavior,
  LaunchPlanSpecSchema,
} from '../../../../proto/gen/platformidl/admin/launch_plan_pb.js';
import {
  NodeExecution_Phase as NodePhase,
  QualityOfService_Tier as Tier,
  WorkflowExecution_Phase as Phase,
} from '../../../../proto/gen/platformidl/core/execution_pb.js';
import { ResourceType } from '../../../../proto/gen/platformidl/core/identifier_pb.js';
import { LiteralMapSchema } from '../../../../proto/gen/platformidl/core/literals_pb.js';
import {
  type ExecutionCreated,
  ExecutionCreatedSchema,
} from '../../../../proto/gen/platformidl/eventlog/execution_pb.js';
import type { Launched } from '../../../../services/execution/launch/answer.js';
import { launch, type LaunchServices } from '../../../../services/execution/launch/launch.js';
import { recover, relaunch, type RelaunchServices } from '../../../../services/execution/launch/relaunch.js';
import { namespaceOf } from '../../../../services/execution/platform.js';
import type { LaunchPlanFacts } from '../../../../services/execution/ports.js';
import { RpcError } from '../../../../services/kernel/rpc.js';
import { bytesOf } from '../../../../services/kernel/ports/payload-store.js';
import { fixtureFolder } from '../../../support/requests/fixtures.js';
import { literal } from '../../../support/requests/hello.js';
import { type ControlPlane, openControlPlane } from '../control-plane.js';
import { executionStream } from '../../../../services/kernel/execution-id.js';

type Spec = Exclude<MessageInitShape<typeof ExecutionSpecSchema>, { readonly $typeName: string }>;
type Actor = Parameters<typeof launch>[2];

const place = { project: 'flytesnacks', domain: 'development' };
const plan = { ...place, resourceType: ResourceType.LAUNCH_PLAN, name: 'hello.hello', version: 'v1' };
/** A launch plan that fixes all inputs of its workflow. */
const fixed = { ...plan, name: 'launchplans.everything_fixed' };

/** The request of a fixture that launches a single task. */
const taskRequest = () =>
  fixtureFolder('01-hello')
    .entries.filter(({ kind }) => kind === 'execution')
    .map(({ bytes }) => fromBinary(ExecutionCreateRequestSchema, bytes))
    .find(({ spec }) => spec?.launchPlan?.resourceType === ResourceType.TASK)!;

let plane: ControlPlane;
beforeAll(async () => {
  plane = await openControlPlane(['01-hello', '05-launch-plans']);
});
afterAll(() => plane.close());

const actorOf = (more: Partial<Actor> = {}): Actor => ({
  actor: 'ada',
  principal: 'ada',
  commandId: randomUUID(),
  ...more,
});
const newName = (): string => `e${randomUUID()}`;

type More = { readonly services?: Partial<LaunchServices>; readonly actor?: Partial<Actor>; readonly name?: string };

/** Launches the launch plan `hello.hello`, unless the spec names another entity. */
const launched = (spec: Spec, { services = {}, actor = {}, name = newName() }: More = {}): Promise<Launched> => {
  const request = create(ExecutionCreateRequestSchema, { ...place, name, spec: { launchPlan: plan, ...spec } });
  return launch({ ...plane.services, ...services }, { request, given: create(LiteralMapSchema) }, actorOf(actor));
};

/** Launches the task `hello.greet` with a spec of its own. */
const launchedTask = (spec: Spec, services: Partial<LaunchServices> = {}): Promise<Launched> => {
  const { inputs, spec: given } = taskRequest();
  const request = create(ExecutionCreateRequestSchema, {
    ...place,
    name: newName(),
    spec: { ...spec, launchPlan: given!.launchPlan! },
  });
  return launch({ ...plane.services, ...services }, { request, given: inputs! }, actorOf());
};

/** The event that created the execution of a launch. */
const createdBy = async (launching: Promise<Launched>): Promise<ExecutionCreated> => {
  const answer = await launching;
  if (answer.kind !== 'launched') throw new Error(`the launch was refused: ${JSON.stringify(answer.refusal)}`);
  const created = (await plane.history(answer.id.name)).find(({ type }) => type === 'ExecutionCreated');
  if (created?.type !== 'ExecutionCreated') throw new Error('the execution was not created');
  return created.data;
};

/** The code and the text of the error of an invalid launch; of other answers their kind. */
const errorOf = async (launching: Promise<Launched>): Promise<string> => {
  const answer = await launching;
  if (answer.kind !== 'refused' || answer.refusal.kind !== 'invalid') return answer.kind;
  return `${answer.refusal.error.code}: ${answer.refusal.error.message}`;
};

/** The beginning of the text that {@link errorOf} gives for an invalid request. */
const INVALID = 'INVALID_ARGUMENT: ';

/** Definitions in which the facts of each launch plan are changed. */
const withPlan = (change: (facts: LaunchPlanFacts) => LaunchPlanFacts): Partial<LaunchServices> => {
  const { definitions } = plane.services;
  return {
    definitions: {
      ...definitions,
      workflow: (id) => definitions.workflow(id),
      task: (id) => definitions.task(id),
      launchPlan: async (id) => change((await definitions.launchPlan(id))!),
    },
  };
};

/** Definitions in which the spec of each launch plan has other fields. */
const withPlanSpec = (more: MessageInitShape<typeof LaunchPlanSpecSchema>) =>
  withPlan((facts) => ({ ...facts, spec: create(LaunchPlanSpecSchema, { ...facts.spec, ...more } as never) }));

describe('the request of a launch', () => {
  it('is refused without a project, a domain or a spec', async () => {
    const answerTo = (where: object) => {
      const request = create(ExecutionCreateRequestSchema, { ...place, spec: { launchPlan: plan }, ...where });
      return errorOf(launch(plane.services, { request, given: create(LiteralMapSchema) }, actorOf()));
    };
    expect(await answerTo({ project: '' })).toBe(`${INVALID}missing project`);
    expect(await answerTo({ domain: '' })).toBe(`${INVALID}missing domain`);
    expect(await answerTo({ spec: undefined })).toBe(`${INVALID}missing spec`);
    expect(await plane.error(plane.send('createExecution', place))).toMatchObject({ message: 'missing spec' });
  });

  it('is refused unless it names a launch plan or a task', async () => {
    expect(await errorOf(launched({ launchPlan: { ...plan, name: '' } }))).toBe(
      `${INVALID}missing name of spec.launch_plan`,
    );
    expect(await errorOf(launched({ launchPlan: { ...plan, resourceType: ResourceType.WORKFLOW } }))).toBe(
      `${INVALID}Invalid reference entity resource type [WORKFLOW], only [LAUNCH_PLAN, TASK] allowed`,
    );
    expect(await errorOf(launched({ launchPlan: { ...plan, resourceType: 77 as never } }))).toBe(
      `${INVALID}Invalid reference entity resource type [77], only [LAUNCH_PLAN, TASK] allowed`,
    );
  });

  it.each<[string, Spec, string]>([
    ['mode', { metadata: { mode: 99 as never } }, 'invalid value for spec.metadata.mode: 99 is not a mode'],
    ['parallelism', { maxParallelism: -1 }, 'invalid value for max_parallelism: -1 is below 0'],
    [
      'tier',
      { qualityOfService: { designation: { case: 'tier', value: 9 as never } } },
      'invalid value for quality_of_service.tier: 9 is not a tier',
    ],
    [
      'execution to recover',
      { metadata: { mode: Mode.RECOVERED, referenceExecution: { project: 'flytesnacks' } } },
      'missing domain of spec.metadata.reference_execution',
    ],
  ])('is refused for an invalid %s', async (_, spec, text) => {
    expect(await errorOf(launched(spec))).toBe(INVALID + text);
  });

  it('may have a name of at most 63 characters', async () => {
    const name = `e${'x'.repeat(62)}`;
    expect(await launched({}, { name })).toMatchObject({ kind: 'launched', id: { name } });
    expect(await errorOf(launched({}, { name: `${name}x` }))).toMatch(/size of name exceeded length 63/u);
  });

  it('is refused for another cluster pool than the assigned one', async () => {
    const platform = { ...plane.services.platform, clusterPools: new Map([['development', 'main']]) };
    const answerTo = (clusterPoolName: string, services: Partial<LaunchServices> = { platform }) =>
      errorOf(launched({ clusterAssignment: { clusterPoolName } }, { services }));
    expect(await answerTo('other')).toBe(
      `${INVALID}execution with project [flytesnacks] and domain [development] cannot run on cluster pool [other]: ` +
        'it is assigned to [main]',
    );
    expect([await answerTo('main'), await answerTo(''), await answerTo('other', {})]).toEqual(
      Array(3).fill('launched'),
    );
    expect(await errorOf(launched({}, { services: { platform } }))).toBe('launched');
  });

  it('is refused with more labels or annotations than allowed, unless it launches a single task', async () => {
    const platform = { ...plane.services.platform, maxLabels: 1, maxAnnotations: 2 };
    const values = (count: number) => ({
      values: Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, 'v'])),
    });
    const answerTo = (spec: Spec) => errorOf(launched(spec, { services: { platform } }));
    expect(await answerTo({ labels: values(1), annotations: values(2) })).toBe('launched');
    expect(await answerTo({ labels: values(2) })).toBe(`${INVALID}labels has too many entries [2 > 1]`);
    expect(await answerTo({ annotations: values(3) })).toBe(`${INVALID}annotations has too many entries [3 > 2]`);
    expect(await errorOf(launched({ labels: values(2) }, {}))).toBe('launched');
    expect(await errorOf(launchedTask({ labels: values(2), annotations: values(3) }, { platform }))).toBe('launched');
  });

  it('may have the labels of its project besides as many as are allowed', async () => {
    const platform = { ...plane.services.platform, maxLabels: 1 };
    const { projects } = plane.services;
    const statusOf: LaunchServices['projects']['statusOf'] = async (...given) => ({
      ...(await projects.statusOf(...given)),
      ...({ labels: { team: 'geo' } } as object),
    });
    const services = { platform, projects: { check: () => Promise.resolve(undefined), statusOf } };
    const { config } = await createdBy(launched({ labels: { values: { own: 'v' } } }, { services }));
    expect(config!.labels!.values).toEqual({ own: 'v', team: 'geo' });
  });
});

describe('the target of a launch', () => {
  it('is refused as a launch plan without a registered workflow', async () => {
    const services = (more: Partial<LaunchServices>) => ({ services: more });
    const nameless = withPlan(({ spec: { workflowId: _workflowId, ...spec }, ...facts }) => ({ ...facts, spec }));
    expect(await errorOf(launched({}, services(nameless)))).toBe(`${INVALID}missing workflow_id of the launch plan`);
    const lost = withPlanSpec({ workflowId: { ...plan, resourceType: ResourceType.WORKFLOW, name: 'lost' } });
    expect(await errorOf(launched({}, services(lost)))).toMatch(/^NOT_FOUND: .*workflow.*lost/iu);
  });

  it('is refused as a task in an archived project; otherwise the workflow of the task is registered', async () => {
    const barred = new RpcError('FAILED_PRECONDITION', 'the project is archived');
    let checks = 0;
    const { projects, singleTasks } = plane.services;
    const check = () => Promise.resolve((checks += 1) === 2 ? barred : undefined); // the second is about the task's project
    const closed = {
      projects: { statusOf: (...given) => projects.statusOf(...given), check } satisfies LaunchServices['projects'],
    };
    expect(await errorOf(launchedTask({}, closed))).toBe('FAILED_PRECONDITION: the project is archived');
    let prepared = 0;
    const counting = {
      singleTask: (task) => ((prepared += 1), singleTasks.singleTask(task)),
    } satisfies LaunchServices['singleTasks'];
    expect(await errorOf(launchedTask({}, { singleTasks: counting }))).toBe('launched');
    expect(prepared).toBe(1);
  });
});

describe('the creation that a launch records', () => {
  it('has the fixed inputs of the launch plan, apart from the given inputs', async () => {
    const { inputs, userInputs } = await createdBy(launched({ launchPlan: fixed }));
    const names = async (content: typeof inputs) =>
      Object.keys(fromBinary(LiteralMapSchema, await bytesOf(content!, undefined as never)).literals);
    const facts = await plane.services.definitions.launchPlan(fixed);
    const fixedNames = Object.keys(facts?.spec.fixedInputs?.literals ?? {});
    expect(fixedNames.length).toBeGreaterThan(0);
    expect([...(await names(inputs))].sort()).toEqual(fixedNames.sort());
    expect(await names(userInputs)).toEqual([]);
  });

  it('has the notifications of the launch plan, unless the request has its own or disables them', async () => {
    const rule = (address: string) => ({
      phases: [Phase.SUCCEEDED],
      type: { case: 'email' as const, value: { recipientsEmail: [address] } },
    });
    const services = withPlanSpec({ entityMetadata: { notifications: [rule('plan')] } });
    const recipients = async (notificationOverrides?: Spec['notificationOverrides']) => {
      const spec = notificationOverrides === undefined ? {} : { notificationOverrides };
      const { notifications } = await createdBy(launched(spec, { services }));
      return notifications.map(({ type }) => type.case === 'email' && type.value.recipientsEmail[0]);
    };
    expect(await recipients()).toEqual(['plan']);
    expect(await recipients({ case: 'disableAll', value: false })).toEqual(['plan']);
    expect(await recipients({ case: 'disableAll', value: true })).toEqual([]);
    expect(await recipients({ case: 'notifications', value: { notifications: [] } })).toEqual(['plan']);
    expect(await recipients({ case: 'notifications', value: { notifications: [rule('own')] } })).toEqual(['own']);
    const bare = withPlan(({ spec: { entityMetadata: _entityMetadata, ...spec }, ...facts }) => ({ ...facts, spec }));
    expect((await createdBy(launched({}, { services: bare }))).notifications).toEqual([]);
    expect((await createdBy(launchedTask({}))).notifications).toEqual([]);
  });

  it('has the parallelism of the platform for a launch plan, and none by default for a task', async () => {
    expect((await createdBy(launched({}))).spec?.maxParallelism).toBe(25);
    expect((await createdBy(launchedTask({}))).spec?.maxParallelism).toBe(0);
  });

  it('has the quality of service of the launch plan, and for a task that of the platform', async () => {
    const services = withPlanSpec({ qualityOfService: { designation: { case: 'tier', value: Tier.HIGH } } });
    expect((await createdBy(launched({}, { services }))).engine?.tier).toBe(Tier.HIGH);
    expect((await createdBy(launchedTask({}, services))).engine?.tier).toBe(Tier.MEDIUM);
  });

  it('has the labels of an active project, and the streams that were read', async () => {
    const { projects } = plane.services;
    const check = () => Promise.resolve(undefined);
    const active: LaunchServices['projects']['statusOf'] = async (...given) => ({
      ...(await projects.statusOf(...given)),
      ...({ labels: { team: 'apollo' } } as object),
    });
    const labelled = await createdBy(launched({}, { services: { projects: { check, statusOf: active } } }));
    expect([labelled.config?.labels?.values, labelled.read.length]).toEqual([{ team: 'apollo' }, 2]);
    const statusOf = () => Promise.resolve({ kind: 'inactive', ...{ labels: { a: 'b' }, read: {} } } as const);
    const inactive = await createdBy(launched({}, { services: { projects: { check, statusOf } } }));
    expect([inactive.config?.labels?.values, inactive.read.length]).toEqual([{}, 1]);
  });

  it('has a namespace whose placeholders may have spaces', () => {
    const of = (namespace: string) => namespaceOf({ ...plane.services.platform, namespace }, 'p', 'd');
    expect([of('{{project}}-{{domain}}'), of('{{  project  }}-{{  domain  }}')]).toEqual(['p-d', 'p-d']);
  });
});

describe('a launch under an idempotency key', () => {
  /** The caller of a request with this idempotency key. */
  const key = (text: string) => ({ idempotency: { key: text, operation: 'CreateExecution', content: 'c' } });

  it('has a name that follows from the key, and is done once', async () => {
    const first = await launched({}, { name: '', actor: key('one') });
    // The launch plan of the first launch may be gone.
    const gone = { definitions: { ...plane.services.definitions, launchPlan: () => Promise.resolve(undefined) } };
    const again = await launched({}, { name: '', actor: key('one'), services: gone });
    expect(again).toEqual(first);
    expect(first).toMatchObject({ kind: 'launched' });
    const other = await launched({}, { name: '', actor: key('two') });
    expect(other.id.name).not.toBe(first.id.name);
    expect(await plane.history(first.id.name)).toHaveLength(1);
  });
});

describe('a launch whose launch plan limits concurrency', () => {
  type Taken = { readonly max: number | undefined; readonly name: string };
  const { SKIP, UNSPECIFIED } = ConcurrencyLimitBehavior;

  /**
   * Services in which each launch plan has this policy and its slots come from `take`; `taken` has the calls for slots.
   */
  const limited = (
    policy: { readonly max: number; readonly behavior: ConcurrencyLimitBehavior } | undefined,
    take: LaunchServices['slots']['take'] = () => Promise.resolve(undefined),
  ) => {
    const taken: Taken[] = [];
    const services: Partial<LaunchServices> = {
      ...withPlan(({ spec: { concurrencyPolicy: _policy, ...spec }, ...facts }) => ({
        ...facts,
        limitsConcurrency: true,
        spec: create(LaunchPlanSpecSchema, { ...spec, ...(policy && { concurrencyPolicy: policy }) } as never),
      })),
      slots: { take: (of, id, max) => (taken.push({ max, name: of.name }), take(of, id, max)) },
    };
    return { services, taken };
  };
  const release = () => Promise.resolve();

  it('is refused when no slot is free', async () => {
    const { services, taken } = limited({ max: 2, behavior: SKIP });
    const answer = await launched({}, { services });
    expect(answer).toMatchObject({ kind: 'refused', refusal: { kind: 'limit-reached', max: 2, plan: 'hello.hello' } });
    expect(answer).not.toHaveProperty('position');
    expect(taken).toEqual([{ max: 2, name: 'hello.hello' }]);
    expect(await plane.history(answer.id.name)).toEqual([]);
  });

  it('is recorded with the attempt that has the slot', async () => {
    const { services } = limited({ max: 2, behavior: SKIP }, () => Promise.resolve({ attempt: 'one', release }));
    expect((await createdBy(launched({}, { services }))).slotAttempt).toBe('one');
  });

  it('is counted and not refused when its own version has no limit', async () => {
    for (const policy of [undefined, { max: 2, behavior: UNSPECIFIED }]) {
      const { services, taken } = limited(policy, () => Promise.resolve({ attempt: 'one', release }));
      expect(await launched({}, { services })).toMatchObject({ kind: 'launched' });
      expect(taken).toEqual([{ max: undefined, name: 'hello.hello' }]);
    }
  });

  it('takes no slot for an execution that exists, nor does a launch of a plan without a limit or of a task', async () => {
    const { services, taken } = limited({ max: 2, behavior: SKIP });
    const name = newName();
    await launched({}, { name });
    const refusal = { kind: 'execution', refusal: { kind: 'execution-exists' } };
    expect(await launched({}, { services, name })).toEqual({ kind: 'refused', id: { ...place, name }, refusal });
    const { slots } = services;
    expect((await createdBy(launched({}, { services: { slots: slots! } }))).slotAttempt).toBe('');
    expect((await createdBy(launchedTask({}, services))).slotAttempt).toBe('');
    expect(taken).toEqual([]);
  });

  it('gives its slot back when another process has created the execution meanwhile', async () => {
    let released = 0;
    const name = newName();
    const { services } = limited({ max: 2, behavior: SKIP }, async () => {
      await launched({}, { name });
      return { attempt: 'one', release: () => Promise.resolve((released += 1)) };
    });
    const refused = await launched({}, { services, name });
    expect(refused).toMatchObject({ kind: 'refused', refusal: { kind: 'execution' } });
    expect(refused.kind === 'refused' && refused.position).toBeGreaterThan(0n);
    expect(released).toBe(1);
  });
});

describe('a child execution', () => {
  /** Reports that the node of a parent runs. */
  const runNode = (name: string) =>
    plane.send('createNodeEvent', {
      event: {
        id: { nodeId: 'n0', executionId: { ...place, name } },
        phase: NodePhase.RUNNING,
        occurredAt: { seconds: 1n },
      } as never,
    });
  /** The spec of an execution that node n0 of the execution `name` launches. */
  const childOf = (name: string): Spec => ({
    metadata: { mode: Mode.CHILD_WORKFLOW, parentNodeExecution: { nodeId: 'n0', executionId: { ...place, name } } },
  });
  /** Launches a parent whose node n0 runs; gives its name. */
  const parentWith = async (spec: Spec, more: More = {}): Promise<string> => {
    const name = newName();
    await createdBy(launched(spec, { ...more, name }));
    await runNode(name);
    return name;
  };

  it('has one level of nesting more than its parent, and the cluster label of its parent', async () => {
    const first = await parentWith({ executionClusterLabel: { value: 'gpu' } });
    const second = await parentWith(childOf(first));
    const { spec, engine } = await createdBy(launched(childOf(second)));
    expect(spec).toMatchObject({ metadata: { nesting: 2 }, executionClusterLabel: { value: 'gpu' } });
    expect(engine?.clusterLabel?.value).toBe('gpu');
  });

  it('has its own cluster label when its parent has an empty one or none', async () => {
    for (const spec of [{ executionClusterLabel: { value: '' } }, {}]) {
      const child = { ...childOf(await parentWith(spec)), executionClusterLabel: { value: 'own' } };
      expect((await createdBy(launched(child))).spec?.executionClusterLabel?.value).toBe('own');
    }
    expect((await createdBy(launched({}))).engine).not.toHaveProperty('clusterLabel');
  });

  /** Labels of its own, and the four that propeller generates. */
  const labels = (count: number) => ({
    values: {
      ...Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, 'v'])),
      ...{ 'execution-id': 'e1', project: 'flytesnacks', domain: 'development', 'workflow-name': 'hello' },
    },
  });

  it('may have 16 labels besides those that propeller generates for its parent and passes on', async () => {
    const child = childOf(await parentWith({}));
    const tooMany = `${INVALID}labels map cannot exceed 16 entries`;
    expect(await errorOf(launched({ ...child, labels: labels(16) }))).toBe('launched');
    expect(await errorOf(launched({ ...child, labels: labels(17) }))).toBe(tooMany);
    expect(await errorOf(launched({ labels: labels(13) }))).toBe(tooMany); // 17 in all: without a parent, the four count
  });

  it('may have as many labels as the platform allows besides those that were passed on', async () => {
    const child = childOf(await parentWith({}));
    const services = { platform: { ...plane.services.platform, maxLabels: 2 } };
    expect(await errorOf(launched({ ...child, labels: labels(2) }, { services }))).toBe('launched');
    expect(await errorOf(launched({ ...child, labels: labels(3) }, { services }))).toBe(
      `${INVALID}labels has too many entries [3 > 2]`,
    );
  });

  it('can be relaunched with all its labels', async () => {
    const name = newName();
    await createdBy(launched({ ...childOf(await parentWith({})), labels: labels(16) }, { name }));
    const relaunched = relaunch(plane.services, { id: { ...place, name }, name: '' } as never, actorOf());
    expect((await createdBy(relaunched)).spec!.labels).toMatchObject(labels(16));
  });

  it.each<[string, Spec | undefined]>([
    ['spec', undefined],
    ['metadata', {}],
  ])('has its own principal, and nesting 1, when its parent records no %s', async (_, recorded) => {
    const id = { ...place, name: newName() };
    const { sessions, aggregate } = plane.services;
    const created = create(ExecutionCreatedSchema, { id, ...(recorded && { spec: recorded }) });
    await sessions.handle(aggregate, executionStream(id), { type: 'CreateExecution', id, created }, actorOf());
    await runNode(id.name);
    const { spec } = await createdBy(launched(childOf(id.name), { actor: { principal: 'grace' } }));
    expect(spec?.metadata).toMatchObject({ principal: 'grace', nesting: 1 });
  });

  it('is refused without the id of its parent execution', async () => {
    const metadata = { mode: Mode.CHILD_WORKFLOW, parentNodeExecution: { nodeId: 'n0' } };
    expect(await errorOf(launched({ metadata }))).toBe(
      `${INVALID}missing id of spec.metadata.parent_node_execution.execution_id`,
    );
  });
});

describe('a launch that names a reference execution', () => {
  it.each<[string, object]>([
    ['project', { domain: 'development', name: 'first' }],
    ['domain', { project: 'flytesnacks', name: 'first' }],
    ['name', { project: 'flytesnacks', domain: 'development' }],
  ])('is refused without its %s', async (part, referenceExecution) => {
    const metadata = { mode: Mode.RECOVERED, referenceExecution };
    expect(await errorOf(launched({ metadata }))).toBe(
      `${INVALID}missing ${part} of spec.metadata.reference_execution`,
    );
  });

  it('has none when the message is empty', async () => {
    const { spec } = await createdBy(launched({ metadata: { mode: Mode.RECOVERED, referenceExecution: {} } }));
    expect(spec?.metadata).toMatchObject({ mode: Mode.RECOVERED });
    expect(spec?.metadata).not.toHaveProperty('referenceExecution');
  });
});

describe('a relaunch', () => {
  /** Relaunches an execution. */
  const again = (name: string, services: Partial<RelaunchServices> = {}, more: object = {}) =>
    relaunch({ ...plane.services, ...services }, { id: { ...place, name }, name: '', ...more } as never, actorOf());
  /** Launches an execution with given inputs; gives its name. */
  const withInputs = async (spec: Spec = {}): Promise<string> => {
    const { inputs } = taskRequest();
    const request = create(ExecutionCreateRequestSchema, {
      ...place,
      name: newName(),
      spec: { launchPlan: plan, ...spec },
    });
    const given = create(LiteralMapSchema, { literals: { name: inputs?.literals['name'] ?? literal('ada') } });
    await createdBy(launch(plane.services, { request, given }, actorOf()));
    return request.name;
  };
  /** The event that created the execution of this name. */
  const original = async (name: string): Promise<ExecutionCreated> => {
    const [first] = (await plane.history(name)).filter(({ type }) => type === 'ExecutionCreated');
    if (first?.type !== 'ExecutionCreated') throw new Error('the execution was not created');
    return first.data;
  };

  it('has the inputs and the nesting of the first execution', async () => {
    const name = await withInputs({ metadata: { nesting: 3 } });
    const second = await createdBy(again(name));
    expect(second.userInputs).toEqual((await original(name)).userInputs);
    expect(second.userInputs?.content.value).not.toHaveLength(0);
    expect(second.spec?.metadata?.nesting).toBe(3);
  });

  it('passes large inputs on as bytes', async () => {
    const name = await withInputs();
    const { userInputs, inputs } = await original(name);
    const bytes = await bytesOf(userInputs!, undefined as never);
    const complete = await bytesOf(inputs!, undefined as never);
    const given: Uint8Array[] = [];
    const above = (aboveBytes: number) => ({
      largeLaunches: {
        ...plane.services.largeLaunches,
        aboveBytes,
        inputs: (large: Uint8Array) => (given.push(large), Promise.resolve({ inputs: complete, userInputs: large })),
      },
    });
    expect((await createdBy(again(name, above(bytes.length)))).userInputs).toEqual(userInputs);
    expect(given).toEqual([]);
    expect((await createdBy(again(name, above(bytes.length - 1)))).userInputs).toEqual(userInputs);
    expect(given.map((large) => toBinary(LiteralMapSchema, fromBinary(LiteralMapSchema, large)))).toEqual([bytes]);
  });

  it('finds the creation of the first execution behind voided attempts', async () => {
    const id = { ...place, name: newName() };
    const { sessions, aggregate } = plane.services;
    for (const attempt of ['x', 'y'])
      await sessions.handle(aggregate, executionStream(id), { type: 'VoidExecution', id, attempt }, actorOf());
    expect(await errorOf(again(id.name))).toMatch(/^NOT_FOUND: missing entity of type execution/u);
    await createdBy(launched({}, { name: id.name }));
    expect(await again(id.name)).toMatchObject({ kind: 'launched' });
  });

  it('is refused when the first execution names no launch plan or task', async () => {
    const id = { ...place, name: newName() };
    const { sessions, aggregate } = plane.services;
    const created = create(ExecutionCreatedSchema, { id });
    await sessions.handle(aggregate, executionStream(id), { type: 'CreateExecution', id, created }, actorOf());
    expect(await errorOf(again(id.name))).toMatch(/^INVALID_ARGUMENT: missing .*spec.launch_plan$/u);
  });

  it('as a recovery is refused with the phase of an execution that has not failed', async () => {
    const name = await withInputs();
    const answer = recover(plane.services, { id: { ...place, name }, name: '' } as never, actorOf());
    expect(await errorOf(answer)).toBe(
      `FAILED_PRECONDITION: cannot recover execution [project:"flytesnacks" domain:"development" name:"${name}"]: ` +
        'it is QUEUED, and only one that has ended FAILED, ABORTED or TIMED_OUT can be recovered',
    );
  });

  it('as a recovery has the parent in the metadata of its request, or without metadata that of the first execution', async () => {
    const parent = newName();
    await createdBy(launched({}, { name: parent }));
    for (const nodeId of ['n0', 'n1'])
      await plane.send('createNodeEvent', {
        event: {
          id: { nodeId, executionId: { ...place, name: parent } },
          phase: NodePhase.RUNNING,
          occurredAt: { seconds: 1n },
        } as never,
      });
    const parentNodeExecution = (nodeId: string) => ({ nodeId, executionId: { ...place, name: parent } });
    const name = await withInputs({ metadata: { parentNodeExecution: parentNodeExecution('n0') } });
    await plane.send('createWorkflowEvent', {
      event: { executionId: { ...place, name }, phase: Phase.FAILED, occurredAt: { seconds: 1n } } as never,
    });
    const parentOf = async (metadata?: object) => {
      const request = create(ExecutionRecoverRequestSchema, { id: { ...place, name }, ...(metadata && { metadata }) });
      const { spec } = await createdBy(recover(plane.services, request, actorOf()));
      return spec?.metadata?.parentNodeExecution?.nodeId;
    };
    expect([
      await parentOf(),
      await parentOf({}),
      await parentOf({ parentNodeExecution: parentNodeExecution('n1') }),
    ]).toEqual(['n0', undefined, 'n1']);
  });
});
