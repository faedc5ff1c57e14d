import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';

import { create, type DescMessage, fromBinary, toBinary } from '@bufbuild/protobuf';
import { Client, credentials } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { WorkflowExecution_Phase as Phase } from '../../proto/gen/platformidl/core/execution_pb.js';
import { EntityDiff_Kind, HistoryService } from '../../proto/gen/platformidl/eventlog/history_pb.js';
import { flightlog } from '../support/processes/command.js';
import {
  TailRequest_Format as Format,
  TailRequestSchema,
  TailResponseSchema,
} from '../../proto/gen/platformidl/eventlog/tail_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { type ControlPlane, register, startControlPlane } from '../support/processes/control-plane.js';
import { withNeeds } from '../support/requests/fixtures.js';
import { launchHello } from '../support/requests/hello.js';

const { method } = HistoryService;
const ID = { project: 'flytesnacks', domain: 'development', name: 'looked-back-on' };

let plane: ControlPlane;

beforeAll(async () => {
  plane = await startControlPlane();
  await register(plane.grpc, withNeeds('01-hello'));
  await launchHello(plane.grpc, ID.name);
  await launchHello(plane.grpc, 'another');
  await plane.run();
});
afterAll(() => plane.close());

const server = () => plane.server().ready.http;

describe('the history of an execution', () => {
  it('is the same over gRPC and REST, and ends as the execution did', async () => {
    const answers = [];
    for (const way of [plane.grpc, plane.rest, plane.octets])
      answers.push(await way.call(method.listTransitions, { id: ID }));
    expect(answers[1]).toEqual(answers[0]);
    expect(answers[2]).toEqual(answers[0]);
    const { transitions } = answers[0]!;
    expect(transitions[0]).toMatchObject({
      type: 'ExecutionCreated',
      phase: 'QUEUED',
      requestId: expect.stringMatching(/./) as string,
    });
    expect(transitions.at(-1)).toMatchObject({ type: 'WorkflowPhaseReported', phase: 'SUCCEEDED' });
  });

  it('is filtered by the query of a REST request', async () => {
    const path = `/api/v1/history/executions/${ID.project}/${ID.domain}/${ID.name}`;
    const query = 'entities=NODE&entities=TASK&phases=SUCCEEDED&recordedFrom=2020-01-01T00:00:00Z';
    const ask = async (limit: number) => {
      const response = await fetch(`${server()}${path}?${query}&limit=${limit}`);
      return (await response.json()) as { transitions: Record<string, unknown>[]; token: string };
    };
    const { transitions, token } = await ask(2);
    expect(transitions.map(({ phase }) => phase)).toEqual(['SUCCEEDED', 'SUCCEEDED']);
    expect(token).not.toBe('');
    const all = await ask(100);
    expect(new Set(all.transitions.map(({ type }) => type))).toEqual(
      new Set(['NodePhaseReported', 'TaskPhaseReported']),
    );
  });

  it('is printed by the command line, without colours', async () => {
    const { stdout } = await flightlog(['history', ID.name, '--server', server(), '--phase', 'SUCCEEDED']).ended;
    const lines = stdout.trimEnd().split('\n');
    expect(lines.at(-1)).toMatch(/^\d+ +\S+Z +SUCCEEDED +execution /);
    expect(stdout).not.toContain('\u001b');
  });

  it('is refused by the command line when there is no such execution', async () => {
    const { code, stderr } = await flightlog(['history', 'other', '--server', server()]).ended;
    expect(code).toBe(1);
    expect(stderr).toContain('execution flytesnacks/development/other does not exist');
  });
});

const transitions = async () => (await plane.grpc.call(method.listTransitions, { id: ID })).transitions;
/** The first transition into a phase, of the execution, a node or a task. */
const firstOf = async (phase: string) => (await transitions()).find((each) => each.phase === phase)!;

describe('a read as of a moment', () => {
  it('shows the execution and its nodes as they were, over every transport', async () => {
    const { position } = await firstOf('RUNNING');
    for (const way of [plane.grpc, plane.rest, plane.octets]) {
      const asOf = position.toString();
      const { closure } = await way.call(AdminService.method.getExecution, { id: ID, asOf });
      expect(Phase[closure!.phase]).toBe('RUNNING');
      const nodes = await way.call(AdminService.method.listNodeExecutions, { workflowExecutionId: ID, asOf });
      expect(nodes.nodeExecutions).toEqual([]);
    }
  });

  it('of the last event gives the same as a read without a moment', async () => {
    const asOf = (await transitions()).at(-1)!.position.toString();
    const id = { executionId: ID, nodeId: 'n0' };
    const questions = [
      [AdminService.method.getExecution, { id: ID }],
      [AdminService.method.getExecutionData, { id: ID }],
      [AdminService.method.listNodeExecutions, { workflowExecutionId: ID, limit: 2, filters: 'eq(phase,SUCCEEDED)' }],
      [AdminService.method.getNodeExecution, { id }],
      [AdminService.method.getNodeExecutionData, { id }],
      [AdminService.method.listTaskExecutions, { nodeExecutionId: id }],
    ] as const;
    for (const [rpc, request] of questions) {
      const now = await plane.grpc.call<DescMessage, DescMessage>(rpc, request);
      expect(await plane.grpc.call<DescMessage, DescMessage>(rpc, { ...request, asOf }), rpc.name).toEqual(now);
    }
  });

  it('does not find an execution before its launch, and refuses an invalid moment', async () => {
    const ask = (asOf: string) => plane.grpc.call(AdminService.method.getExecution, { id: ID, asOf });
    await expect(ask('2020-01-01T00:00:00Z')).rejects.toThrow('NOT_FOUND');
    await expect(ask('yesterday')).rejects.toThrow('invalid value for as_of');
  });

  it('is printed by the command line', async () => {
    const { position } = await firstOf('RUNNING');
    const args = ['get', 'execution', ID.name, '--server', server(), '--as-of', position.toString()];
    const { stdout } = await flightlog(args).ended;
    expect(stdout).toMatch(/^NAME .*\nlooked-back-on +RUNNING /u);
  });
});

describe('the difference of two moments', () => {
  it('has the changed values, and the new nodes', async () => {
    const { position } = await firstOf('RUNNING');
    for (const way of [plane.grpc, plane.rest]) {
      const { entities } = await way.call(method.diff, {
        id: ID,
        asOf: position.toString(),
        paths: ['/closure/phase'],
      });
      const [execution, node] = entities;
      expect(execution!.fields).toMatchObject([{ path: '/closure/phase', before: { kind: { value: 'RUNNING' } } }]);
      expect(node).toMatchObject({
        kind: EntityDiff_Kind.ADDED,
        fields: [{ after: { kind: { value: 'SUCCEEDED' } } }],
      });
    }
  });

  it('is empty for a moment and itself', async () => {
    expect((await plane.grpc.call(method.diff, { id: ID })).entities).toEqual([]);
  });

  it('can be that of two executions: their times, without the equal inputs and phases', async () => {
    const { entities } = await plane.grpc.call(method.diff, { id: ID, otherName: 'another' });
    const paths = entities.flatMap(({ fields }) => fields.map(({ path }) => path));
    expect(paths).toContain('/closure/createdAt');
    expect(paths.filter((path) => path.startsWith('/inputs') || path === '/closure/phase')).toEqual([]);
  });
});

describe('a tail of the log', () => {
  /** The Server-Sent Events in a text that are events of the log. */
  const events = (text: string) => text.split('\n\n').filter((block) => block.includes('event: event'));
  /**
   * Reads this number of events. By `node:http`: a fetch that is aborted leaves a connection behind, and the server
   * waits for it when it stops.
   */
  const read = async (query: string, count: number, headers: Record<string, string> = {}) => {
    const request = get(`${server()}/api/v1/tail?${query}`, { headers, agent: false });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    expect(response.headers['content-type']).toContain('text/event-stream');
    let text = '';
    for await (const chunk of response) {
      text += String(chunk);
      if (events(text).length >= count) break;
    }
    request.destroy();
    return events(text).slice(0, count);
  };

  it('is sent as Server-Sent Events, and resumes after the last event that a client names', async () => {
    const scope = `project=${ID.project}&domain=${ID.domain}&name=${ID.name}`;
    const all = await read(`from=start&${scope}`, 4);
    const [first] = all;
    expect(first).toMatch(/^id: \d+\nevent: event\ndata: \{.*"type":"ExecutionCreated"/u);
    const id = /^id: (\d+)/u.exec(first!)![1]!;
    expect(await read(scope, 3, { 'last-event-id': id })).toEqual(all.slice(1));
  });

  it('has an event that is recorded after it was opened', async () => {
    const reading = read('from=now&types=ExecutionCreated', 1);
    let isReceived = false;
    const keepLaunching = async () => {
      for (let count = 0; !isReceived; count += 1) await launchHello(plane.grpc, `followed-${count}`);
    };
    const [[only]] = await Promise.all([reading.finally(() => (isReceived = true)), keepLaunching()]);
    expect(only).toContain('followed-');
  });

  it('is refused with a status when the request is invalid', async () => {
    const response = await fetch(`${server()}/api/v1/tail?from=yesterday`);
    expect(response.status).toBe(400);
    expect(await response.text()).toContain('invalid value for from');
    const { stderr } = await flightlog(['tail', '--server', server(), '--from', 'yesterday']).ended;
    expect(stderr).toMatch(/^flightlog: INVALID_ARGUMENT: invalid value for from: /u);
  });

  it('names query parameters that it does not know, as other answers do', async () => {
    const request = get(`${server()}/api/v1/tail?from=start&colour=red`, { agent: false });
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    expect(response.headers['flightlog-ignored']).toBe('colour');
    request.destroy();
  });

  it('is printed with a note about a type that does not exist', async () => {
    const args = ['tail', '--server', server(), '--from', 'start', '--limit', '1'];
    const { stderr, stdout } = await flightlog([...args, '--type', 'ExecutionCreate,ExecutionCreated']).ended;
    expect(stderr).toBe(
      'flightlog: this release records no events of type ExecutionCreate; did you mean ExecutionCreated?\n',
    );
    expect(stdout).toContain('ExecutionCreated');
  });

  it('is printed by the command line, and comes over gRPC as protobuf', async () => {
    const args = ['tail', '--server', server(), '--from', 'start', '--type', 'ExecutionCreated', '--limit', '1'];
    expect((await flightlog(args).ended).stdout).toMatch(/^\d+ +\S+Z +ExecutionCreated +QUEUED /u);
    const request = toBinary(TailRequestSchema, create(TailRequestSchema, { from: '1', format: Format.PROTOBUF }));
    const client = new Client(plane.server().ready.grpc, credentials.createInsecure());
    const path = '/platformidl.eventlog.EventLogService/Tail';
    const asIs = (bytes: Buffer): Buffer => bytes;
    const call = client.makeServerStreamRequest(path, asIs, asIs, Buffer.from(request));
    call.on('error', () => undefined); // the cancellation below
    let received: string | undefined;
    for await (const answer of call as AsyncIterable<Buffer>) {
      received = fromBinary(TailResponseSchema, answer).event?.data.case;
      if (received !== undefined) break;
    }
    expect(received).toBe('message');
    call.cancel();
    client.close();
  });
});
