import { fromBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { EventFailureReasonSchema } from '../../proto/gen/platformidl/admin/event_pb.js';
import { TaskCreateRequestSchema } from '../../proto/gen/platformidl/admin/task_pb.js';
import {
  NodeExecution_Phase as NodePhase,
  TaskExecution_Phase as TaskPhase,
  WorkflowExecution_Phase as Phase,
} from '../../proto/gen/platformidl/core/execution_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { type ControlPlane, register, startControlPlane } from '../support/processes/control-plane.js';
import { fixtureBytes, withNeeds } from '../support/requests/fixtures.js';
import { helloRequest, launchHello, literal } from '../support/requests/hello.js';
import { type ExecutionId, nodeReport, second, taskReport, workflowReport } from '../support/requests/reports.js';
import type { Answer, Transport } from '../support/clients/transports.js';

const { method } = AdminService;

let plane: ControlPlane;

beforeAll(async () => {
  plane = await startControlPlane();
  await register(plane.grpc, withNeeds('01-hello'));
});
afterAll(() => plane.close());

const recordedTask = fromBinary(TaskCreateRequestSchema, fixtureBytes('01-hello/001-task.create_request.pb'));

describe.each(['grpc', 'rest'] as const)('an event or launch over %s', (way) => {
  let transport: Transport;
  beforeAll(() => {
    transport = plane[way];
  });

  const launch = (name: string): Promise<ExecutionId> => launchHello(transport, `${way}-${name}`);

  it.each([
    ['Succeeded', 'SUCCEEDED'],
    ['Failed', 'FAILED'],
  ] as const)(
    'is refused after the end of the execution, as is a termination, with the stored phase in the detail: %s',
    async (_name, ended) => {
      const id = await launch(`after-${ended.toLowerCase()}`);
      await transport.call(method.createNodeEvent, nodeReport(id, 'n0', { phase: NodePhase.RUNNING }));
      await transport.call(method.createTaskEvent, taskReport(id, 'n0', { phase: TaskPhase[ended] }));
      await transport.call(method.createNodeEvent, nodeReport(id, 'n0', { phase: NodePhase[ended] }));
      await transport.call(method.createWorkflowEvent, workflowReport(id, { phase: Phase[ended] }));
      const late = [
        () => transport.attempt(method.createWorkflowEvent, workflowReport(id, { phase: Phase.RUNNING })),
        () => transport.attempt(method.createWorkflowEvent, workflowReport(id, { phase: Phase.ABORTED })),
        () => transport.attempt(method.createNodeEvent, nodeReport(id, 'n0', { phase: NodePhase.ABORTED })),
        () => transport.attempt(method.createTaskEvent, taskReport(id, 'n0', { phase: TaskPhase.RUNNING })),
        () => transport.attempt(method.terminateExecution, { id, cause: 'too late' }),
      ];
      for (const ask of late) {
        const { code, message, details } = await plane.unchanged(ask);
        expect([code, message]).toEqual(['FAILED_PRECONDITION', expect.stringMatching(/\S/u)]);
        const [detail] = details;
        expect(detail?.typeUrl).toBe(`type.googleapis.com/${transport.callersPackage}.admin.EventFailureReason`);
        const { reason } = fromBinary(EventFailureReasonSchema, detail!.value);
        expect(reason).toMatchObject({ case: 'alreadyInTerminalState', value: { currentPhase: ended } });
      }
    },
  );

  it('is refused when it goes back to QUEUED, or has no phase', async () => {
    const id = await launch('step-back');
    await transport.call(method.createWorkflowEvent, workflowReport(id, { phase: Phase.RUNNING }));
    const report = (phase: Phase) => () => transport.attempt(method.createWorkflowEvent, workflowReport(id, { phase }));
    expect(await plane.unchanged(report(Phase.QUEUED))).toMatchObject({ code: 'FAILED_PRECONDITION', details: [] });
    expect(await plane.unchanged(report(Phase.UNDEFINED))).toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  it('is ALREADY_EXISTS and changes nothing when sent again, even with its maps in another order', async () => {
    const id = await launch('repeated');
    const [one, two] = [literal(1n), literal('two')];
    const output = (literals: Record<string, typeof one>) =>
      ({ outputResult: { case: 'outputData', value: { literals } } }) as const;
    const input = (literals: Record<string, typeof one>) =>
      ({ inputValue: { case: 'inputData', value: { literals } } }) as const;
    const [forth, back] = [
      { a: one, b: two, c: one },
      { c: one, b: two, a: one },
    ];
    const customs = [
      { job: 'j', shards: { x: 1, y: 2 } },
      { shards: { y: 2, x: 1 }, job: 'j' },
    ];
    const reports = [forth, back].map((literals, at) => [
      () => transport.attempt(method.createWorkflowEvent, workflowReport(id, { phase: Phase.RUNNING })),
      () =>
        transport.attempt(
          method.createNodeEvent,
          nodeReport(id, 'n0', { phase: NodePhase.RUNNING, ...input(literals) }),
        ),
      () =>
        transport.attempt(
          method.createTaskEvent,
          taskReport(id, 'n0', { phase: TaskPhase.RUNNING, ...input(literals), customInfo: customs[at]! }),
        ),
      () =>
        transport.attempt(
          method.createTaskEvent,
          taskReport(id, 'n0', { phase: TaskPhase.SUCCEEDED, ...output(literals) }),
        ),
      () =>
        transport.attempt(
          method.createNodeEvent,
          nodeReport(id, 'n0', { phase: NodePhase.SUCCEEDED, ...output(literals) }),
        ),
      () =>
        transport.attempt(
          method.createWorkflowEvent,
          workflowReport(id, { phase: Phase.SUCCEEDED, ...output(literals) }),
        ),
    ]);
    const [first, swapped] = reports;
    for (const [at, report] of first!.entries()) {
      expect((await report()).code).toBe('OK');
      // Right after, while the execution is in the phase of the event …
      expect((await plane.unchanged(report)).code).toBe('ALREADY_EXISTS');
      expect((await plane.unchanged(swapped![at]!)).code).toBe('ALREADY_EXISTS');
    }
    // … and after everything has ended.
    for (const report of [...first!, ...swapped!]) expect((await plane.unchanged(report)).code).toBe('ALREADY_EXISTS');
  });

  it('is ALREADY_EXISTS but recorded when it has new content for a phase that was reported', async () => {
    const id = await launch('new-content');
    await transport.call(method.createNodeEvent, nodeReport(id, 'n0', { phase: NodePhase.RUNNING }));
    const before = await plane.head();
    const deck = nodeReport(id, 'n0', { phase: NodePhase.RUNNING, deckUri: 's3://decks/n0', occurredAt: second(30) });
    const { code, position } = await transport.attempt(method.createNodeEvent, deck);
    expect(code).toBe('ALREADY_EXISTS');
    expect(await plane.head()).toBeGreaterThan(before);
    expect(position?.split('.').at(-1)).toBe(String(await plane.head()));
    const { closure } = await transport.call(method.getNodeExecution, { id: { executionId: id, nodeId: 'n0' } });
    expect(closure).toMatchObject({ deckUri: 's3://decks/n0', phase: NodePhase.RUNNING });
  });

  it('is ALREADY_EXISTS when it launches under a name that is taken', async () => {
    await launch('taken');
    const again = () => transport.attempt(method.createExecution, helloRequest(`${way}-taken`));
    expect(await plane.unchanged(again)).toMatchObject({
      code: 'ALREADY_EXISTS',
      message: expect.stringMatching(/\S/u) as string,
    });
  });

  it('is refused when its outputs are above the size limit', async () => {
    const id = await launch('large-outputs');
    const large = { literals: { o0: literal('x'.repeat(2 * 1024 * 1024)) } };
    const report = workflowReport(id, { phase: Phase.SUCCEEDED, outputResult: { case: 'outputData', value: large } });
    const { code, message } = await plane.unchanged(() => transport.attempt(method.createWorkflowEvent, report));
    expect([code, message]).toEqual([
      'RESOURCE_EXHAUSTED',
      expect.stringMatching(/Output data size exceeds platform configured threshold/u),
    ]);
  });
});

describe('an event with a time or duration out of range', () => {
  const far = { seconds: 253_402_300_800n }; // the first second of the year 10000, in seconds since 1970

  it.each([
    ['reported_at', { reportedAt: far }],
    ['ttl', { logs: [{ uri: 'u', ttl: { seconds: 1n, nanos: -1 } }] }],
    ['occurred_at', { reasons: [{ reason: 'r', occurredAt: far }] }],
  ])('is refused, with the field named: %s', async (field, content) => {
    const id = await launchHello(plane.grpc, `no-such-${field.replace('_', '-')}`);
    await plane.grpc.call(method.createNodeEvent, nodeReport(id, 'n0', { phase: NodePhase.RUNNING }));
    const report = taskReport(id, 'n0', { phase: TaskPhase.RUNNING, ...content });
    const { code, message } = await plane.unchanged(() => plane.grpc.attempt(method.createTaskEvent, report));
    expect([code, message]).toEqual(['INVALID_ARGUMENT', expect.stringContaining(`${field} is out of range`)]);
  });
});

describe('of many requests at the same time,', () => {
  /** Makes a request 20 times at once, by turns over gRPC and REST. */
  const atOnce = <Result>(ask: (transport: Transport) => Promise<Result>): Promise<Result[]> =>
    Promise.all(Array.from({ length: 20 }, (_, index) => ask(index % 2 === 0 ? plane.grpc : plane.rest)));

  const codesOf = (answers: readonly Answer[]): readonly string[] => answers.map(({ code }) => code).sort();
  /** The statuses of 20 requests, sorted, when one of them is recorded. */
  const ONE_OK = ['OK', ...Array.from({ length: 19 }, () => 'ALREADY_EXISTS')].sort();

  it('launches under one name are one execution', async () => {
    const before = (await plane.events()).length;
    const answers = await atOnce((transport) => transport.attempt(method.createExecution, helloRequest('only-one')));
    expect(codesOf(answers)).toEqual(ONE_OK);
    expect((await plane.events()).length).toBe(before + 1);
  });

  it('deliveries of one event are one event', async () => {
    const id = await launchHello(plane.grpc, 'delivered-often');
    const before = (await plane.events()).length;
    const report = nodeReport(id, 'n0', { phase: NodePhase.RUNNING });
    const answers = await atOnce((transport) => transport.attempt(method.createNodeEvent, report));
    expect(codesOf(answers)).toEqual(ONE_OK);
    expect((await plane.events()).length).toBe(before + 1);
  });

  it('registrations of one version are one version', async () => {
    const request = { ...recordedTask, id: { ...recordedTask.id!, version: 'raced' } };
    const before = (await plane.events()).length;
    const answers = await atOnce((transport) => transport.attempt(method.createTask, request));
    expect(codesOf(answers)).toEqual(ONE_OK);
    expect((await plane.events()).length).toBe(before + 1);
  });
});
