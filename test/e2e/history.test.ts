import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { HistoryService } from '../../proto/gen/platformidl/eventlog/history_pb.js';
import { flightlog } from '../support/command.js';
import { type ControlPlane, register, startControlPlane } from '../support/control-plane.js';
import { withNeeds } from '../support/fixtures.js';
import { launchHello } from '../support/hello.js';

const { method } = HistoryService;
const ID = { project: 'flytesnacks', domain: 'development', name: 'looked-back-on' };

let plane: ControlPlane;

beforeAll(async () => {
  plane = await startControlPlane();
  await register(plane.grpc, withNeeds('01-hello'));
  await launchHello(plane.grpc, ID.name);
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
    const query = 'entities=NODE&entities=TASK&phases=SUCCEEDED&recordedFrom=2020-01-01T00:00:00Z&limit=2';
    const response = await fetch(`${server()}${path}?${query}`);
    const { transitions, token } = (await response.json()) as { transitions: Record<string, unknown>[]; token: string };
    expect(transitions.map(({ phase }) => phase)).toEqual(['SUCCEEDED', 'SUCCEEDED']);
    expect(token).not.toBe('');
  });

  it('is printed one line for each transition', async () => {
    const { stdout } = await flightlog(['history', ID.name, '--server', server(), '--phase', 'SUCCEEDED']).ended;
    const lines = stdout.trimEnd().split('\n');
    expect(lines.at(-1)).toMatch(/^\d+ +\S+Z +SUCCEEDED +execution /);
    expect(stdout).not.toContain('\u001b');
  });

  it('says so when there is no such execution', async () => {
    const { code, stderr } = await flightlog(['history', 'other', '--server', server()]).ended;
    expect(code).toBe(1);
    expect(stderr).toContain('nothing is recorded of execution flytesnacks/development/other');
  });
});
