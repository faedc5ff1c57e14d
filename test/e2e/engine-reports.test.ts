import { once } from 'node:events';
import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { Client, credentials } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  NodeExecutionEventRequestSchema,
  TaskExecutionEventRequestSchema,
  WorkflowExecutionEventRequestSchema,
} from '../../proto/gen/platformidl/admin/event_pb.js';
import {
  NodeExecution_Phase as Node,
  TaskExecution_Phase as Task,
  WorkflowExecution_Phase as Workflow,
} from '../../proto/gen/platformidl/core/execution_pb.js';
import { EngineService } from '../../proto/gen/platformidl/eventlog/engine_service_pb.js';
import {
  type ReportRequest,
  ReportRequestSchema,
  type ReportResponse,
} from '../../proto/gen/platformidl/eventlog/engine_report_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { phaseName } from '../../services/execution/phases.js';
import { reportIn } from '../../services/execution/wire/engine-report.js';
import { statuses } from '../../services/gateway/status.js';
import type { RecordedEvent } from '../../services/kernel/event.js';
import { type ControlPlane, register, startControlPlane } from '../support/processes/control-plane.js';
import { importDocumented } from '../support/documents/documented-code.js';
import { withNeeds } from '../support/requests/fixtures.js';
import { launchHello, literal } from '../support/requests/hello.js';
import { type Proxy, startProxy } from '../support/proxies/proxy.js';
import { openReport } from '../support/clients/report-stream.js';
import { type ExecutionId, nodeReport, taskReport, workflowReport } from '../support/requests/reports.js';
import { until } from '../support/until.js';
import { executionStream } from '../../services/kernel/execution-id.js';

/** The number of cuts of the stream, and of events in the batch with faults; 100 and 10,000 make a thorough run. */
const CUTS = Number(process.env['FLIGHTLOG_TEST_CUTS'] ?? 30);
const BATCH = Number(process.env['FLIGHTLOG_TEST_BATCH'] ?? 2_000);

const MIB = 1024 * 1024;

type Event = MessageInitShape<typeof ReportRequestSchema>['event'] & object;

let plane: ControlPlane;
let client: Client;

/** Makes a client with a connection of its own, so that a cut concerns it alone. */
const connect = (address: string): Client =>
  new Client(address, credentials.createInsecure(), { 'grpc.use_local_subchannel_pool': 1 });

beforeAll(async () => {
  plane = await startControlPlane();
  client = connect(plane.server().ready.grpc);
  await register(plane.grpc, withNeeds('01-hello'));
});
afterAll(async () => {
  client.close();
  await plane.close();
});

const workflow = (id: ExecutionId, phase: Workflow): Event => ({
  case: 'workflowEvent',
  value: workflowReport(id, { phase }),
});
const node = (id: ExecutionId, nodeId: string, phase: Node, nodeName = ''): Event => ({
  case: 'nodeEvent',
  value: nodeReport(id, nodeId, { phase, nodeName }),
});
const task = (id: ExecutionId, nodeId: string, phase: Task, phaseVersion = 0): Event => ({
  case: 'taskEvent',
  value: taskReport(id, nodeId, { phase, phaseVersion }),
});

/** The events of a node in their order; one repeats a phase with another content, which is recorded too. */
const ofNode = (id: ExecutionId, nodeId: string): readonly Event[] => [
  node(id, nodeId, Node.QUEUED),
  node(id, nodeId, Node.RUNNING),
  task(id, nodeId, Task.QUEUED),
  task(id, nodeId, Task.RUNNING),
  task(id, nodeId, Task.RUNNING, 1),
  node(id, nodeId, Node.RUNNING, 'renamed'),
  task(id, nodeId, Task.SUCCEEDED),
  node(id, nodeId, Node.SUCCEEDED),
];

/** The events of an execution with this number of nodes: 8 of each node, and 2 of the workflow. */
const ofExecution = (id: ExecutionId, nodes: number): readonly Event[] => [
  workflow(id, Workflow.RUNNING),
  ...Array.from({ length: nodes }, (_, index) => ofNode(id, `n${index}`)).flat(),
  workflow(id, Workflow.SUCCEEDED),
];

/** An event as a request of the RPC for events of its kind, outside of any stream. */
const singleCall = (event: Event): readonly [rpc: string, request: Uint8Array] => {
  switch (event.case) {
    case 'workflowEvent':
      return [
        'CreateWorkflowEvent',
        toBinary(WorkflowExecutionEventRequestSchema, create(WorkflowExecutionEventRequestSchema, event.value)),
      ];
    case 'nodeEvent':
      return [
        'CreateNodeEvent',
        toBinary(NodeExecutionEventRequestSchema, create(NodeExecutionEventRequestSchema, event.value)),
      ];
    default:
      return [
        'CreateTaskEvent',
        toBinary(TaskExecutionEventRequestSchema, create(TaskExecutionEventRequestSchema, event.value as object)),
      ];
  }
};

/** The record of an event in one line; `undefined` for an event that no engine reported. */
const recordOf = ({ type, data }: RecordedEvent): string | undefined => {
  const report = reportIn(type, data);
  if (!report) return undefined;
  const { entity, nodeId, phase, phaseVersion, samePhase } = report;
  return [entity, nodeId, phaseName(entity, phase), phaseVersion, samePhase].join(' ');
};

/** The reports of an execution that the log has, in order. */
const recorded = async (id: ExecutionId): Promise<readonly string[]> => {
  const stream = executionStream(id);
  return (await plane.events()).flatMap((event) => (event.stream === stream ? (recordOf(event) ?? []) : []));
};

/** The events as requests with ascending sequence numbers. */
const numbered = (events: readonly Event[], from = 0) =>
  events.map((event, index) => ({ sequence: BigInt(from + index), event }));

/** The code, message and details of the status of an answer. */
const statusOf = ({ status }: ReportResponse): object => ({
  code: status?.code ?? 0,
  message: status?.message ?? '',
  details: (status?.details ?? []).map(({ typeUrl, value }) => [typeUrl, Buffer.from(value).toString('hex')]),
});

describe('a stream of events', () => {
  it('is opened, as the engine feed is, for a client that waits for its headers before it sends', async () => {
    const asIs = (bytes: Buffer): Buffer => bytes;
    for (const method of ['Report', 'Work']) {
      const path = `/platformidl.eventlog.EngineService/${method}`;
      const stream = client.makeBidiStreamRequest(path, asIs, asIs).on('error', () => undefined);
      await once(stream, 'metadata');
      stream.cancel();
    }
  });

  it('is answered and recorded as single calls with the same events are', async () => {
    const single = await launchHello(plane.grpc, 'single-calls');
    const streamed = await launchHello(plane.grpc, 'one-streamcall');
    const eventsOf = (id: ExecutionId): readonly Event[] => [
      ...ofExecution(id, 1),
      node(id, 'n0', Node.RUNNING), // repeated
      node(id, 'n1', Node.RUNNING), // after the end
      workflow(id, Workflow.FAILED),
      node({ ...id, name: 'nowhere' }, 'n0', Node.RUNNING),
      node(id, '', Node.RUNNING),
      task(id, 'n7', Task.RUNNING),
    ];
    const expected: object[] = [];
    for (const event of eventsOf(single)) {
      const { code, message, details } = await plane.grpc.send(...singleCall(event));
      expected.push({
        code: code === 'OK' ? 0 : statuses[code as keyof typeof statuses].number,
        message: message.replaceAll(single.name, streamed.name),
        details: details.map(({ typeUrl, value }) => [
          typeUrl.replace('flyteidl', 'platformidl'), // single calls go to the published package
          Buffer.from(value).toString('hex'),
        ]),
      });
    }
    const stream = openReport(client);
    const events = eventsOf(streamed);
    stream.send(...numbered(events));
    const answers = await stream.answered(events.length);
    stream.call.end();
    expect(await stream.ended).toEqual({ code: 'OK', message: '' });
    const inOrder = [...answers].sort((one, other) => Number(one.sequence - other.sequence));
    expect(inOrder.map(statusOf)).toEqual(expected);
    const log = await recorded(streamed);
    expect(log).toEqual(await recorded(single));
    expect(log).toHaveLength(ofExecution(streamed, 1).length); // none of the later six
  });

  it('is answered in the order of its events, and each is recorded, when all are of one execution', async () => {
    const id = await launchHello(plane.grpc, 'one-busy');
    const events = ofExecution(id, 60);
    const stream = openReport(client);
    stream.send(...numbered(events));
    stream.call.end();
    expect(await stream.ended).toEqual({ code: 'OK', message: '' });
    expect(stream.answers.map(({ sequence }) => Number(sequence))).toEqual(events.map((_, index) => index));
    expect(await recorded(id)).toHaveLength(events.length);
  });
});

/**
 * Draws pseudo-random whole numbers from 0 to `below` - 1, the same in every run for a seed, by a linear congruential
 * generator.
 */
const drawing = (seed: number): ((below: number) => number) => {
  let state = seed;
  return (below) => {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
};

/** Shuffles lists into one that has the elements of each in their order. */
const interleaved = <T>(lists: readonly (readonly T[])[], draw: (below: number) => number): readonly T[] => {
  const left = lists.map((list) => [...list]);
  const all: T[] = [];
  while (left.some((list) => list.length > 0)) {
    const next = left[draw(left.length)]?.shift();
    if (next !== undefined) all.push(next);
  }
  return all;
};

/** The client in `docs/engines.md`. */
type DocumentedClient = {
  readonly report: (address: string, events: readonly ReportRequest[]) => Promise<ReadonlyMap<bigint, ReportResponse>>;
};

describe('a stream that breaks', () => {
  let proxy: Proxy;
  beforeAll(async () => {
    proxy = await startProxy(plane.server().ready.grpc);
  });
  afterAll(() => proxy.close());

  it('is continued by the client in the documentation, and each event is recorded once', async () => {
    const { report } = await importDocumented<DocumentedClient>('docs/engines.md');
    const id = await launchHello(plane.grpc, 'documented');
    const events = numbered(ofExecution(id, 200)).map((event) => create(ReportRequestSchema, event));
    let isReported = false;
    const hasEnded = (): boolean => isReported;
    const reporting = report(proxy.address, events).finally(() => (isReported = true));
    let cuts = 0;
    while (cuts < 5 && !hasEnded()) {
      const before = await plane.head();
      await until(
        () => plane.head(),
        (head) => head > before || hasEnded(),
      );
      if (hasEnded()) break;
      proxy.cut();
      cuts += 1;
    }
    const answers = await reporting;
    expect(cuts).toBeGreaterThan(0);
    expect(answers.size).toBe(events.length);
    expect(await recorded(id)).toHaveLength(events.length);
  });

  it('ends the client in the documentation for a message that is too large, not for such outputs', async () => {
    const { report } = await importDocumented<DocumentedClient>('docs/engines.md');
    const id = await launchHello(plane.grpc, 'documented-large');
    const withOutputs = (outputBytes: number): readonly ReportRequest[] => {
      const outputs = { literals: { o0: literal('x'.repeat(outputBytes)) } };
      const value = nodeReport(id, 'n0', {
        phase: Node.SUCCEEDED,
        outputResult: { case: 'outputData', value: outputs },
      });
      return numbered([{ case: 'nodeEvent', value }]).map((event) => create(ReportRequestSchema, event));
    };
    const [answer] = (await report(proxy.address, withOutputs(2 * MIB))).values();
    const { number: code } = statuses.RESOURCE_EXHAUSTED;
    expect(answer?.status).toMatchObject({ code, message: expect.stringContaining('Output data size') as string });
    await expect(report(proxy.address, withOutputs(65 * MIB))).rejects.toThrow('message larger than max');
  });

  it(`is continued from the first event without an answer, and nothing is recorded twice: ${CUTS} cuts`, async () => {
    const draw = drawing(7);
    const ids = await Promise.all(Array.from({ length: 5 }, (_, index) => launchHello(plane.grpc, `cut-${index}`)));
    // At most 12 events are sent before a cut, and each node is 40 events, 8 in each execution: enough for all cuts.
    const nodes = Math.ceil((CUTS * 12) / 40);
    const events = numbered(
      interleaved(
        ids.map((id) => ofExecution(id, nodes)),
        draw,
      ),
    );
    const answered = new Set<bigint>();
    const first = (): number => events.findIndex(({ sequence }) => !answered.has(sequence));
    const sendFrom = async (from: number, isCut: boolean): Promise<void> => {
      const own = connect(proxy.address);
      const stream = openReport(own);
      const sent = events.slice(from, isCut ? from + 1 + draw(12) : undefined);
      stream.send(...sent);
      if (isCut) {
        await stream.answered(1 + draw(sent.length));
        if (draw(3) === 0) stream.call.cancel();
        else proxy.cut();
      } else stream.call.end();
      await stream.ended;
      for (const { sequence } of stream.answers) answered.add(sequence);
      own.close();
    };
    for (let cuts = 0; cuts < CUTS; cuts += 1) await sendFrom(first(), true);
    expect(first()).toBeGreaterThan(0);
    await sendFrom(first(), false);
    expect(first()).toBe(-1);
    const untouched = await launchHello(plane.grpc, 'never-cut');
    const model = ofExecution(untouched, nodes);
    for (const event of model) expect((await plane.grpc.send(...singleCall(event))).code).toMatch(/OK|ALREADY_EXISTS/u);
    const expected = await recorded(untouched);
    expect(expected).toHaveLength(model.length);
    for (const id of ids) expect(await recorded(id)).toEqual(expected);
  });
});

describe('a batch of events', () => {
  const path = '/api/v1/events:batch';
  const post = async (body: string): Promise<{ readonly http: number; readonly json: Record<string, unknown> }> => {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${plane.server().ready.http}${path}`, { method: 'POST', body, headers });
    return { http: response.status, json: (await response.json()) as Record<string, unknown> };
  };

  it(`gives exactly the faulty events their errors: ${BATCH} events`, async () => {
    const draw = drawing(11);
    const ids = await Promise.all(
      Array.from({ length: 10 }, async (_, index) => {
        const { project, domain, name } = await launchHello(plane.grpc, `batched-${index}`);
        return { project, domain, name };
      }),
    );
    const expected: number[] = [];
    const events = Array.from({ length: BATCH }, (_, index) => {
      const id = ids[index % ids.length]!;
      const nodeId = `n${index}`;
      const faults: readonly (readonly [number, object])[] = [
        [statuses.INVALID_ARGUMENT.number, { id: { executionId: id } }],
        [statuses.NOT_FOUND.number, { id: { executionId: { ...id, name: 'nowhere' }, nodeId } }],
      ];
      const fault = draw(20) === 0 ? faults[draw(2)] : undefined;
      const [code, about] = fault ?? [0, { id: { executionId: id, nodeId } }];
      expected.push(code);
      const occurredAt = '2026-01-01T00:00:00Z';
      return { sequence: index, node_event: { event: { ...about, phase: 'RUNNING', occurred_at: occurredAt } } };
    });
    const before = await plane.head();
    const { http, json } = await post(JSON.stringify({ events }));
    expect(http).toBe(200);
    const results = json['results'] as { sequence: string; status: { code: number } | null; position: string }[];
    expect(results.map(({ sequence }) => Number(sequence))).toEqual(events.map(({ sequence }) => sequence));
    expect(results.map(({ status }) => status?.code ?? 0)).toEqual(expected);
    const added = (await plane.eventsAfter(before)).filter(({ type }) => type === 'NodePhaseReported');
    expect(added).toHaveLength(expected.filter((code) => code === 0).length);
  });

  it('is refused whole when it is too long, or cannot be read, with the index of the event', async () => {
    const many = JSON.stringify({ events: Array.from({ length: 10_001 }, () => ({})) });
    await plane.unchanged(async () => {
      expect(await post(many)).toMatchObject({
        http: 429,
        json: { message: 'message larger than max: events[10000] is beyond the 10000 events of a batch' },
      });
      const unknown = { event: { phase: 'BROKEN' } };
      expect(await post(JSON.stringify({ events: [{}, { node_event: unknown }] }))).toMatchObject({
        http: 400,
        json: { message: expect.stringContaining('events[1].node_event.event.phase') as string },
      });
    });
  });

  it('can be sent over gRPC; an event with new content in a reported phase is ALREADY_EXISTS, but recorded', async () => {
    const id = await launchHello(plane.grpc, 'batched-grpc');
    const { results } = await plane.grpc.call(EngineService.method.reportBatch, {
      events: numbered([...ofNode(id, 'n0'), workflow(id, Workflow.RUNNING)]),
    });
    expect(results.map(({ status }) => status?.code ?? 0)).toEqual([
      ...[0, 0, 0, 0, 0, statuses.ALREADY_EXISTS.number, 0, 0, 0],
    ]);
    expect(await recorded(id)).toHaveLength(9);
    const { closure } = await plane.grpc.call(AdminService.method.getExecution, { id });
    expect(closure?.phase).toBe(Workflow.RUNNING);
  });
});
