import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import {
  type ExecutionMetadata,
  ExecutionMetadata_ExecutionMode as Mode,
  ExecutionMetadataSchema,
  ExecutionRecoverRequestSchema,
  ExecutionRelaunchRequestSchema,
  type ExecutionSpec,
  ExecutionSpecSchema,
} from '../../../proto/gen/platformidl/admin/execution_pb.js';
import {
  NodeExecution_Phase as NodePhase,
  WorkflowExecution_Phase as Phase,
} from '../../../proto/gen/platformidl/core/execution_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { type ControlPlane, register, startControlPlane } from '../../support/processes/control-plane.js';
import { withNeeds } from '../../support/requests/fixtures.js';
import { helloRequest, launchHello } from '../../support/requests/hello.js';
import { PLACE } from '../../support/requests/registrations.js';
import { type ExecutionId, HELLO_TASK, nodeReport, second } from '../../support/requests/reports.js';
import { type Changed, expectRefused, type Row } from '../../support/requests/rows.js';
import { expectShown, ok, runSteps, workflow } from '../../support/requests/report-steps.js';

const { method } = AdminService;

let plane: ControlPlane;
let count = 0;
beforeAll(async () => {
  plane = await startControlPlane();
  await register(plane.grpc, withNeeds('01-hello'));
  await launchHello(plane.grpc, 'taken');
  const parent = await launchHello(plane.grpc, 'parent');
  for (const nodeId of ['n0', 'n1'])
    await plane.grpc.call(method.createNodeEvent, nodeReport(parent, nodeId, { phase: NodePhase.RUNNING }));
});
afterAll(() => plane.close());

/** A generated name: an `a`, then 19 characters that form no words. */
const GENERATED_NAME = /^a[bcdfghjklmnpqrstvwxz2456789]{19}$/u;

const PARENT = { nodeId: 'n0', executionId: { ...PLACE, name: 'parent' } };
const PHASES = [
  'QUEUED',
  'RUNNING',
  'SUCCEEDING',
  'FAILING',
  'ABORTING',
  'SUCCEEDED',
  'FAILED',
  'ABORTED',
  'TIMED_OUT',
] as const;

type SpecInit = Exclude<MessageInitShape<typeof ExecutionSpecSchema>, { readonly $typeName: string }>;
type MetadataInit = Exclude<MessageInitShape<typeof ExecutionMetadataSchema>, { readonly $typeName: string }>;

/** The settings of a launch, and those that its relaunch or recovery shows. */
type Kept = {
  readonly rule: string;
  /** Fields of the spec of the launch. */
  readonly was?: SpecInit;
  /** The metadata of the launch. */
  readonly about?: MetadataInit;
  /** Fields of the request that relaunches or recovers. */
  readonly asked?: { readonly overwriteCache?: boolean; readonly metadata?: MetadataInit };
  /** Expected fields of the new execution. */
  readonly spec?: Partial<Record<keyof ExecutionSpec, unknown>>;
  readonly metadata?: Partial<Record<keyof ExecutionMetadata, unknown>>;
};

const FULL_SPEC: SpecInit = {
  labels: { values: { purpose: 'all' } },
  annotations: { values: { 'example.org/note': 'kept' } },
  rawOutputDataConfig: { outputLocationPrefix: 's3://raw' },
  interruptible: true,
  envs: { values: [{ key: 'LEVEL', value: 'debug' }] },
  tags: ['one', 'two'],
  executionClusterLabel: { value: 'eu-1' },
  maxParallelism: 7,
  securityContext: { runAs: { k8sServiceAccount: 'runner' } },
  notificationOverrides: {
    case: 'notifications',
    value: {
      notifications: [
        { phases: [Phase.FAILED], type: { case: 'email', value: { recipientsEmail: ['a@example.org'] } } },
      ],
    },
  },
};

/** Rows that hold for relaunch and recovery. */
const BOTH: readonly Kept[] = [
  { rule: 'with the spec of the launch', was: FULL_SPEC, spec: FULL_SPEC },
  {
    rule: 'with the default parallelism where the launch set none',
    spec: { maxParallelism: 25 },
  },
  {
    rule: 'with the time that it was scheduled for',
    about: { scheduledAt: second(5) },
    metadata: { scheduledAt: second(5) },
  },
  {
    rule: 'inside the node that launched the original',
    about: { parentNodeExecution: PARENT },
    metadata: { parentNodeExecution: PARENT, nesting: 1 },
  },
];

const RELAUNCHED: readonly Kept[] = [
  ...BOTH,
  { rule: 'as a relaunch', about: { mode: Mode.SCHEDULED }, metadata: { mode: Mode.RELAUNCH } },
  {
    rule: 'without overwriting the cache, even if the original did',
    was: { overwriteCache: true },
    spec: { overwriteCache: false },
  },
  {
    rule: 'overwriting the cache when the request says so',
    asked: { overwriteCache: true },
    spec: { overwriteCache: true },
  },
];

const RECOVERED: readonly Kept[] = [
  ...BOTH,
  { rule: 'as a recovery', about: { mode: Mode.SCHEDULED }, metadata: { mode: Mode.RECOVERED } },
  { rule: 'overwriting the cache as the original did', was: { overwriteCache: true }, spec: { overwriteCache: true } },
  {
    rule: 'inside the node that the request names',
    asked: { metadata: { parentNodeExecution: { ...PARENT, nodeId: 'n1' } } },
    metadata: { parentNodeExecution: { ...PARENT, nodeId: 'n1' }, nesting: 1 },
  },
  {
    rule: 'inside no node, when the metadata names none',
    about: { parentNodeExecution: PARENT },
    asked: { metadata: {} },
    metadata: { parentNodeExecution: undefined },
  },
  {
    rule: 'with no metadata of the request but the parent',
    about: { scheduledAt: second(5) },
    asked: { metadata: { scheduledAt: second(9), principal: 'somebody' } },
    metadata: { scheduledAt: second(5), principal: '' },
  },
];

type Request = { id?: { project: string; domain: string; name: string }; name: string };

/** Rows that relaunch and recovery refuse with the same texts. */
const REFUSED: readonly (Omit<Row<never>, 'change'> & { readonly change: Changed<Request> })[] = [
  {
    rule: 'an identifier',
    change: (r) => {
      delete r.id;
    },
    says: 'missing id',
  },
  { rule: 'a project in the identifier', change: (r) => void (r.id!.project = ''), says: 'missing project' },
  { rule: 'a domain in the identifier', change: (r) => void (r.id!.domain = ''), says: 'missing domain' },
  { rule: 'a name in the identifier', change: (r) => void (r.id!.name = ''), says: 'missing name' },
  {
    rule: 'an execution that exists',
    change: (r) => void (r.id!.name = 'unknown'),
    code: 'NOT_FOUND',
    says: 'missing entity of type execution with identifier',
  },
  { rule: 'a valid name', change: (r) => void (r.name = 'A'), says: 'invalid name format: A' },
  {
    rule: 'a name that no execution has',
    change: (r) => void (r.name = 'taken'),
    code: 'ALREADY_EXISTS',
    says: 'value with matching already exists',
  },
];

type Child = {
  readonly rule: string;
  /** Fields of the spec of the child's launch. */
  readonly was?: SpecInit;
  /** Fields of the spec of its parent's launch. */
  readonly of: SpecInit;
  readonly shows: Partial<Record<keyof ExecutionSpec, unknown>>;
};

const label = (value: string) => ({ executionClusterLabel: { value } });

const CHILDREN: readonly Child[] = [
  { rule: 'nested one level deep', of: {}, shows: { metadata: { nesting: 1, principal: '' } } },
  { rule: 'with the cluster label of its parent', of: label('eu-1'), was: label('us-1'), shows: label('eu-1') },
  { rule: 'with its own cluster label where its parent has none', of: {}, was: label('us-1'), shows: label('us-1') },
];

describe.each(['grpc', 'rest'] as const)('over %s', (way) => {
  const newName = (): string => `run-${way}-${(count += 1)}`;
  const launch = async (was: SpecInit = {}, about: MetadataInit = {}): Promise<ExecutionId> => {
    const request = helloRequest(newName(), ({ spec }) => {
      const changed = create(ExecutionSpecSchema, was);
      for (const field of Object.keys(was) as (keyof ExecutionSpec)[])
        Object.assign(spec!, { [field]: changed[field] });
      spec!.metadata = create(ExecutionMetadataSchema, about);
    });
    return (await plane[way].call(method.createExecution, request)).id!;
  };
  const get = (id: ExecutionId) => plane[way].call(method.getExecution, { id });
  const expectKept = async (id: ExecutionId, { spec = {}, metadata = {} }: Kept): Promise<void> => {
    const shown = await get(id);
    expectShown(shown.spec, spec);
    expectShown(shown.spec!.metadata, metadata);
  };
  const inPhase = async (
    phase: (typeof PHASES)[number],
    was?: SpecInit,
    about?: MetadataInit,
  ): Promise<ExecutionId> => {
    const id = await launch(was, about);
    await runSteps(plane, way, id, [ok(workflow(phase))]);
    return id;
  };

  describe('RelaunchExecution', () => {
    it.each(REFUSED)('requires $rule', async (row) => {
      const whole = () => create(ExecutionRelaunchRequestSchema, { id: { ...PLACE, name: 'taken' } });
      await expectRefused(plane, way, [method.relaunchExecution, whole], row as never);
    });

    it.each(PHASES)('accepts an execution that is %s', async (phase) => {
      const original = await inPhase(phase);
      const again = newName();
      const { id } = await plane[way].call(method.relaunchExecution, { id: original, name: again });
      const { closure, spec } = await get(id!);
      expect([id!.name, closure!.phase]).toEqual([again, Phase.QUEUED]);
      expect(spec!.metadata!.referenceExecution).toEqual(original);
      const [before, after] = await Promise.all(
        [original, id!].map((each) => plane[way].call(method.getExecutionData, { id: each })),
      );
      expect(after!.fullInputs).toEqual(before!.fullInputs);
    });

    it.each(RELAUNCHED)('launches the execution $rule', async (row) => {
      const original = await launch(row.was, row.about);
      const { id } = await plane[way].call(method.relaunchExecution, { id: original, ...row.asked });
      expect(id!.name).toMatch(GENERATED_NAME);
      await expectKept(id!, row);
    });

    it('launches the execution with the tags that it has now, and not with those of its launch', async () => {
      const original = await launch({ tags: ['nightly', 'wrong'] });
      await plane[way].call(method.updateExecution, { id: original, tags: { values: ['nightly', 'right'] } });
      const { id } = await plane[way].call(method.relaunchExecution, { id: original });
      await expectKept(id!, { rule: '', spec: { tags: ['nightly', 'right'] } });
      await plane[way].call(method.updateExecution, { id: original, tags: {} });
      await runSteps(plane, way, original, [ok(workflow('FAILED'))]);
      const recovered = await plane[way].call(method.recoverExecution, { id: original });
      await expectKept(recovered.id!, { rule: '', spec: { tags: [] } });
    });

    it('launches a task that was launched by itself', async () => {
      const original = await launch({ launchPlan: HELLO_TASK });
      const { id } = await plane[way].call(method.relaunchExecution, { id: original });
      expect((await get(id!)).closure!.workflowId!.name).toBe('.flytegen.hello.greet');
    });
  });

  describe('RecoverExecution', () => {
    it.each(REFUSED)('requires $rule', async (row) => {
      const { name: failed } = await inPhase('FAILED');
      const whole = () => create(ExecutionRecoverRequestSchema, { id: { ...PLACE, name: failed } });
      await expectRefused(plane, way, [method.recoverExecution, whole], row as never);
    });

    it.each(PHASES)('accepts an execution that is FAILED, ABORTED or TIMED_OUT, and no other: %s', async (phase) => {
      const original = await inPhase(phase);
      const again = newName();
      if (!['FAILED', 'ABORTED', 'TIMED_OUT'].includes(phase)) {
        const ask = () => plane[way].attempt(method.recoverExecution, { id: original, name: again });
        const { code, message } = await plane.unchanged(ask);
        expect([code, message]).toEqual(['FAILED_PRECONDITION', expect.stringContaining(`it is ${phase}`)]);
        return;
      }
      const { id } = await plane[way].call(method.recoverExecution, { id: original, name: again });
      expect(id!.name).toBe(again);
      expect((await get(id!)).spec!.metadata!.referenceExecution).toEqual(original);
    });

    it.each(RECOVERED)('launches the execution $rule', async (row) => {
      const original = await inPhase('FAILED', row.was, row.about);
      const { id } = await plane[way].call(method.recoverExecution, { id: original, ...row.asked });
      await expectKept(id!, row);
    });

    it('requires that the parent node in the request exists', async () => {
      const id = await inPhase('FAILED');
      const metadata = { parentNodeExecution: { ...PARENT, nodeId: 'n9' } };
      const answer = await plane.unchanged(() => plane[way].attempt(method.recoverExecution, { id, metadata }));
      expect([answer.code, answer.message]).toEqual(['NOT_FOUND', expect.stringContaining('type node execution')]);
    });
  });

  describe('the child of an execution is', () => {
    it.each(CHILDREN)('$rule', async ({ was, of, shows }) => {
      const executionId = await launch(of);
      await plane[way].call(method.createNodeEvent, nodeReport(executionId, 'n0', { phase: NodePhase.RUNNING }));
      const parentNodeExecution = { nodeId: 'n0', executionId };
      expectShown((await get(await launch(was, { parentNodeExecution }))).spec, shows);
    });

    it('nested one level deeper than its parent', async () => {
      const child = await launch({}, { parentNodeExecution: PARENT, nesting: 9 });
      await plane[way].call(method.createNodeEvent, nodeReport(child, 'n0', { phase: NodePhase.RUNNING }));
      const grandchild = await launch({}, { parentNodeExecution: { nodeId: 'n0', executionId: child } });
      const nesting = async (id: ExecutionId) => (await get(id)).spec!.metadata!.nesting;
      expect([await nesting(child), await nesting(grandchild)]).toEqual([1, 2]);
    });

    it('nested at most 2^32 − 1 levels deep, the maximum of the field', async () => {
      const deepest = 2 ** 32 - 1;
      const parent = await launch({}, { nesting: deepest });
      await plane[way].call(method.createNodeEvent, nodeReport(parent, 'n0', { phase: NodePhase.RUNNING }));
      const child = await get(await launch({}, { parentNodeExecution: { nodeId: 'n0', executionId: parent } }));
      expect(child.spec!.metadata!.nesting).toBe(deepest);
    });
  });
});
