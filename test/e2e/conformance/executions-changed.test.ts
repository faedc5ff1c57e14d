import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import {
  type ExecutionClosure,
  type ExecutionSpec,
  ExecutionState as State,
  type ExecutionTerminateRequest,
  ExecutionTerminateRequestSchema,
  type ExecutionUpdateRequest,
  ExecutionUpdateRequestSchema,
} from '../../../proto/gen/platformidl/admin/execution_pb.js';
import {
  NodeExecution_Phase as NodePhase,
  WorkflowExecution_Phase as Phase,
} from '../../../proto/gen/platformidl/core/execution_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { type ControlPlane, register, startControlPlane } from '../../support/processes/control-plane.js';
import { withNeeds } from '../../support/requests/fixtures.js';
import { launchHello } from '../../support/requests/hello.js';
import { PLACE } from '../../support/requests/registrations.js';
import { type ExecutionId } from '../../support/requests/reports.js';
import { expectRefused, type Row } from '../../support/requests/rows.js';
import {
  type Asked,
  ended,
  expectShown,
  idle,
  node,
  ok,
  type Step,
  runSteps,
  workflow,
} from '../../support/requests/report-steps.js';

const { method } = AdminService;

let plane: ControlPlane;
let count = 0;
beforeAll(async () => {
  plane = await startControlPlane();
  await register(plane.grpc, withNeeds('01-hello'));
  await launchHello(plane.grpc, 'there');
});
afterAll(() => plane.close());

type Id = ExecutionTerminateRequest['id'];
type Change = (request: { id?: Id }) => void;

/** The requirements of both RPCs on the execution's identifier. */
const PARTS: readonly {
  readonly rule: string;
  readonly change: Change;
  readonly says: string;
  readonly code?: string;
}[] = [
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
    says: 'missing entity of type execution with identifier',
    code: 'NOT_FOUND',
  },
];
/** A REST path with a segment of the identifier missing is another path, so only gRPC can leave one out. */
const askable = <Each>(way: 'grpc' | 'rest', rows: readonly Each[]): readonly Each[] =>
  way === 'grpc' ? rows : rows.slice(PARTS.length - 1);

/** Maximum length of the cause of a termination, in characters. */
const MAX_CAUSE = 32_000;

const TERMINATES: readonly Row<typeof ExecutionTerminateRequestSchema>[] = [
  ...PARTS,
  {
    rule: 'a cause of at most 32,000 characters',
    change: (r: ExecutionTerminateRequest) => void (r.cause = 'x'.repeat(MAX_CAUSE + 1)),
    says: 'invalid value for cause',
  },
];

const UPDATES: readonly Row<typeof ExecutionUpdateRequestSchema>[] = [
  ...PARTS,
  {
    rule: 'a state that exists',
    change: (r: ExecutionUpdateRequest) => void Object.assign(r, { state: 2 }),
    says: 'invalid value for state',
  },
];

const terminate =
  (cause: string): Asked =>
  (transport, id) =>
    transport.attempt(method.terminateExecution, { id, cause });
type Update = Exclude<MessageInitShape<typeof ExecutionUpdateRequestSchema>, { readonly $typeName: string }>;
const update =
  (more: Update): Asked =>
  (transport, id) =>
    transport.attempt(method.updateExecution, { id, ...more });
const tagged = (...values: string[]): Update => ({ tags: { values } });

/** A termination that is refused because the execution has ended. */
const tooLate = (currentPhase: string): Step => ({
  ...ended(terminate('too late'), currentPhase),
  says: 'Cannot abort an already terminated workflow execution',
});

type Sequence = {
  readonly rule: string;
  readonly steps: readonly Step[];
  readonly closure?: Partial<Record<keyof ExecutionClosure, unknown>>;
  readonly spec?: Partial<Record<keyof ExecutionSpec, unknown>>;
};

const abortedFor = (cause: string) => ({ case: 'abortMetadata', value: { cause, principal: '' } });
const OPEN = ['QUEUED', 'RUNNING', 'SUCCEEDING', 'FAILING'] as const;
const ENDS = ['SUCCEEDED', 'FAILED', 'ABORTED', 'TIMED_OUT'] as const;

const TERMINATED: readonly Sequence[] = [
  ...OPEN.map((phase) => ({
    rule: `ABORTING at once when it is ${phase}`,
    steps: [ok(workflow(phase)), ok(terminate('enough'))],
    closure: { phase: Phase.ABORTING, outputResult: abortedFor('enough') },
  })),
  ...ENDS.map((phase) => ({
    rule: `${phase} as before when it had already ended, and the termination is refused`,
    steps: [ok(workflow(phase)), tooLate(phase)],
    closure: { phase: Phase[phase] },
  })),
  ...ENDS.map((phase) => ({
    rule: `${phase} when the engine reports that phase afterwards`,
    steps: [ok(terminate('enough')), ok(workflow(phase)), tooLate(phase)],
    closure: { phase: Phase[phase], outputResult: abortedFor('enough') },
  })),
  {
    rule: 'ABORTING for the cause that was given last',
    steps: [ok(terminate('first')), ok(terminate('second'))],
    closure: { phase: Phase.ABORTING, outputResult: abortedFor('second') },
  },
  {
    rule: 'ABORTING, recorded once when the termination is repeated with the same cause',
    steps: [ok(terminate('enough')), idle(terminate('enough'))],
    closure: { outputResult: abortedFor('enough') },
  },
  {
    rule: 'ABORTING without a cause',
    steps: [ok(terminate(''))],
    closure: { phase: Phase.ABORTING, outputResult: abortedFor('') },
  },
  {
    rule: 'ABORTING for a cause of 32,000 characters',
    steps: [ok(terminate('x'.repeat(MAX_CAUSE)))],
    closure: { outputResult: abortedFor('x'.repeat(MAX_CAUSE)) },
  },
  {
    rule: 'ABORTING for the cause of the termination when its engine had reported ABORTING before',
    steps: [ok(workflow('ABORTING')), ok(terminate('enough'))],
    closure: { phase: Phase.ABORTING, outputResult: abortedFor('enough') },
  },
];

const archived = { state: State.EXECUTION_ARCHIVED };
const active = { state: State.EXECUTION_ACTIVE };

const UPDATED: readonly Sequence[] = [
  ...[...OPEN, ...ENDS].map((phase) => ({
    rule: `archived, and ${phase} as before`,
    steps: [ok(workflow(phase)), ok(update(archived))],
    closure: { phase: Phase[phase], stateChangeDetails: { ...archived, principal: '' } },
  })),
  {
    rule: 'active again',
    steps: [ok(update(archived)), ok(update(active))],
    closure: { stateChangeDetails: active },
  },
  {
    rule: 'archived, recorded once when the update is repeated',
    steps: [ok(update(archived)), idle(update(archived))],
    closure: { stateChangeDetails: archived },
  },
  {
    rule: 'active, with nothing to record, because it was active before',
    steps: [idle(update(active))],
    closure: { stateChangeDetails: active },
  },
  { rule: 'with its tags', steps: [ok(update(tagged('a', 'b')))], spec: { tags: ['a', 'b'] } },
  {
    rule: 'with the tags of the last update alone',
    steps: [ok(update(tagged('a', 'b'))), ok(update(tagged('c')))],
    spec: { tags: ['c'] },
  },
  {
    rule: 'with the tags that it had when the update does not set them',
    steps: [ok(update(tagged('a'))), ok(update(archived))],
    spec: { tags: ['a'] },
  },
  {
    rule: 'without tags when the update empties them',
    steps: [ok(update(tagged('a'))), ok(update(tagged()))],
    spec: { tags: [] },
  },
  {
    rule: 'with its tags, recorded once when the update is repeated',
    steps: [ok(update(tagged('a'))), idle(update(tagged('a')))],
    spec: { tags: ['a'] },
  },
  {
    rule: 'archived and tagged at once',
    steps: [ok(update({ ...archived, ...tagged('a') }))],
    closure: { stateChangeDetails: archived },
    spec: { tags: ['a'] },
  },
];

type Listed = {
  readonly rule: string;
  readonly steps: readonly Step[];
  readonly filters: string;
  readonly isThere: boolean;
};

const LISTED: readonly Listed[] = [
  { rule: 'in a list without a filter by state while it is active', steps: [], filters: '', isThere: true },
  {
    rule: 'in no list without a filter by state once it is archived',
    steps: [ok(update(archived))],
    filters: '',
    isThere: false,
  },
  {
    rule: 'by the state ARCHIVED once it is archived',
    steps: [ok(update(archived))],
    filters: 'eq(state,1)',
    isThere: true,
  },
  {
    rule: 'by both states once it is archived',
    steps: [ok(update(archived))],
    filters: 'value_in(state,0;1)',
    isThere: true,
  },
  {
    rule: 'in a list without a filter by state when it is active again',
    steps: [ok(update(archived)), ok(update(active))],
    filters: '',
    isThere: true,
  },
  {
    rule: 'by its tag',
    steps: [ok(update(tagged('x')))],
    filters: 'eq(admin_tag.name,x)',
    isThere: true,
  },
  {
    rule: 'by no tag that was replaced',
    steps: [ok(update(tagged('x'))), ok(update(tagged('y')))],
    filters: 'eq(admin_tag.name,x)',
    isThere: false,
  },
  {
    rule: 'by the cause of its termination',
    steps: [ok(terminate('enough'))],
    filters: 'eq(abort_cause,enough)',
    isThere: true,
  },
  { rule: 'by its phase, ABORTING', steps: [ok(terminate(''))], filters: 'eq(phase,ABORTING)', isThere: true },
];

describe.each(['grpc', 'rest'] as const)('over %s', (way) => {
  const launch = (): Promise<ExecutionId> => launchHello(plane[way], `run-${way}-${(count += 1)}`);
  const expectStory = async ({ steps, closure = {}, spec = {} }: Sequence): Promise<void> => {
    const id = await launch();
    await runSteps(plane, way, id, steps);
    const shown = await plane[way].call(method.getExecution, { id });
    expectShown(shown.closure, closure);
    expectShown(shown.spec, spec);
  };

  const expectSameUpdatedAt = async (ask: Asked): Promise<void> => {
    const id = await launch();
    const updatedAt = async () => (await plane[way].call(method.getExecution, { id })).closure!.updatedAt;
    const before = await updatedAt();
    await runSteps(plane, way, id, [ok(ask)]);
    expect(await updatedAt()).toEqual(before);
  };

  describe('TerminateExecution requires', () => {
    const whole = () => create(ExecutionTerminateRequestSchema, { id: { ...PLACE, name: 'there' }, cause: 'enough' });
    it.each(askable(way, TERMINATES))('$rule', async (row) => {
      await expectRefused(plane, way, [method.terminateExecution, whole], row);
    });
  });

  describe('UpdateExecution requires', () => {
    const whole = () => create(ExecutionUpdateRequestSchema, { id: { ...PLACE, name: 'there' }, ...archived });
    it.each(askable(way, UPDATES))('$rule', async (row) => {
      await expectRefused(plane, way, [method.updateExecution, whole], row);
    });
  });

  describe('an execution that is terminated is shown', () => {
    it.each(TERMINATED)('$rule', expectStory);

    it('with the update time from before the termination', () => expectSameUpdatedAt(terminate('enough')));

    it('with its running nodes, which are ABORTED once its engine has reported the end', async () => {
      const id = await launch();
      const phase = async () => {
        const asked = { id: { executionId: id, nodeId: 'n0' } };
        return NodePhase[(await plane[way].call(method.getNodeExecution, asked)).closure!.phase];
      };
      await runSteps(plane, way, id, [ok(node('RUNNING')), ok(terminate('enough'))]);
      expect(await phase()).toBe('RUNNING');
      await runSteps(plane, way, id, [ok(workflow('ABORTED'))]);
      expect(await phase()).toBe('ABORTED');
    });
  });

  describe('an execution that is updated is shown', () => {
    it.each(UPDATED)('$rule', expectStory);

    it('with the update time from before it was archived', () => expectSameUpdatedAt(update(archived)));
  });

  describe('an execution is found', () => {
    it.each(LISTED)('$rule', async ({ steps, filters, isThere }) => {
      const id = await launch();
      await runSteps(plane, way, id, steps);
      const own = [`eq(name,${id.name})`, filters].filter(Boolean).join('+');
      const { executions } = await plane[way].call(method.listExecutions, { id: PLACE, filters: own });
      expect(executions).toHaveLength(isThere ? 1 : 0);
    });
  });
});
