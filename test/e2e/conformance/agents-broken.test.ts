import { create, toBinary } from '@bufbuild/protobuf';
import {
  type CallOptions,
  Client,
  type ClientDuplexStream,
  credentials,
  Metadata,
  type StatusObject,
  status,
} from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { AsyncAgentService, SyncAgentService } from '../../../proto/gen/platformidl/service/agent_pb.js';
import { type Breakage, type BrokenAgent, startBrokenAgent } from '../../support/servers/broken-agent.js';
import { counted } from '../../support/runner/cases.js';
import { freePort } from '../../support/processes/command.js';
import { type ControlPlane, startControlPlane } from '../../support/processes/control-plane.js';
import { restClient } from '../../support/clients/rest-client.js';

const { getTaskMetrics } = AsyncAgentService.method;
const { executeTaskSync } = SyncAgentService.method;

const EXECUTE_TASK_SYNC = '/flyteidl.service.SyncAgentService/ExecuteTaskSync';
/** The configured timeout of each agent. */
const TIMEOUT = '1s';
/** Time limit of a test, far above {@link TIMEOUT}. */
const BOUND_MS = 30_000;

/** The status that a client gets. */
type Reported = readonly [code: string, message: RegExp];

const LATE: Reported = ['DEADLINE_EXCEEDED', /agent late/u];
const GARBLED: Reported = ['ABORTED', /agent late .* answers /u];
const GONE: Reported = ['UNAVAILABLE', /agent late/u];

/**
 * For each breakage, the status that the client gets for a unary call, for a stream of answers, and for a stream whose
 * requests have not ended, where it differs.
 */
const CASES: readonly (readonly [how: Breakage, answer: Reported, stream: Reported, openStream?: Reported])[] = [
  ['never answers', LATE, LATE],
  ['answers once and then never', LATE, LATE],
  ['answers what is no message', GARBLED, GARBLED],
  [
    'answers a message without an end',
    ['RESOURCE_EXHAUSTED', /larger than max/u],
    ['RESOURCE_EXHAUSTED', /larger than max/u],
  ],
  ['answers without a status', GARBLED, GARBLED, LATE],
  ['is no server of gRPC', GARBLED, GARBLED],
  ['resets the call', GARBLED, GARBLED],
  ['dies in the middle', GONE, GONE],
  ['dies before it answers', GONE, GONE],
  ['ends before it has read the whole request', ['OK', /^$/u], ['OK', /^$/u]],
];

const asIs = (bytes: Buffer): Buffer => bytes;

/** The task type of the agent that is broken in this way. */
const typeOf = (how: Breakage): string => how.replaceAll(' ', '-');

const header = (type: string): Buffer =>
  Buffer.from(
    toBinary(
      executeTaskSync.input,
      create(executeTaskSync.input, { part: { case: 'header', value: { template: { type } } } }),
    ),
  );

const statusOf = (call: ClientDuplexStream<Buffer, Buffer>): Promise<StatusObject> => {
  call.on('error', () => undefined); // the status reports it
  call.resume();
  return new Promise((resolve) => call.on('status', resolve));
};

describe('an agent', () => {
  const agents = new Map<Breakage, BrokenAgent>();
  let silent: BrokenAgent;
  let plane: ControlPlane;
  let client: Client;
  beforeAll(async () => {
    for (const [how] of CASES) agents.set(how, await startBrokenAgent(how));
    const timeouts = { timeout: TIMEOUT, stream_timeout: TIMEOUT };
    const configured = [...agents].map(([how, { endpoint }]) => ({
      name: 'late',
      endpoint,
      ...timeouts,
      task_types: [typeOf(how)],
    }));
    const gone = { name: 'gone', endpoint: `127.0.0.1:${await freePort()}`, ...timeouts, task_types: ['gone'] };
    silent = await startBrokenAgent('never answers');
    const waitedFor = { name: 'silent', endpoint: silent.endpoint, timeout: TIMEOUT, task_types: ['waited-for'] };
    plane = await startControlPlane({ FLIGHTLOG_AGENTS: JSON.stringify([...configured, gone, waitedFor]) });
    client = new Client(plane.server().ready.grpc, credentials.createInsecure());
  });
  afterAll(async () => {
    client.close();
    await plane.close();
    for (const agent of [...agents.values(), silent]) agent.close();
  });

  const exchange = (options: CallOptions = {}) =>
    client.makeBidiStreamRequest(EXECUTE_TASK_SYNC, asIs, asIs, new Metadata(), options);

  it.for(CASES)(
    'that %s gives a unary call the expected status',
    { timeout: BOUND_MS },
    async ([how, said], context) => {
      const request = create(getTaskMetrics.input, { taskCategory: { name: typeOf(how) } });
      const answer = await plane.grpc.send('GetTaskMetrics', toBinary(getTaskMetrics.input, request));
      expect([answer.code, answer.message]).toEqual([said[0], expect.stringMatching(said[1])]);
      counted(context, 1);
    },
  );

  it.for(CASES)(
    'that %s gives a stream that its caller keeps open the expected status',
    { timeout: BOUND_MS },
    async ([how, , ofStream, said = ofStream], context) => {
      const call = exchange();
      const ended = statusOf(call);
      call.write(header(typeOf(how)));
      const { code, details } = await ended;
      expect([status[code], details]).toEqual([said[0], expect.stringMatching(said[1])]);
      counted(context, 1);
    },
  );

  it.for(CASES)(
    'that %s gives a stream of answers over REST the expected status',
    { timeout: BOUND_MS },
    async ([how, , said], context) => {
      const rest = restClient(plane.server().ready.http);
      const answer = await rest.request('GET', `/api/v1/agent/task/logs/${typeOf(how)}/1/AAAA`);
      expect([answer.code, answer.message]).toEqual([said[0], expect.stringMatching(said[1])]);
      counted(context, 1);
    },
  );

  it('is waited for no longer than the timeout of the caller', { timeout: BOUND_MS }, async () => {
    const rest = restClient(plane.server().ready.http);
    const asked = rest.request('GET', '/api/v1/agent/task/waited-for/1/AAAA', undefined, { 'grpc-timeout': '200m' });
    const answer = await asked;
    expect([answer.http, answer.message]).toEqual([504, 'Deadline exceeded']);
  });

  it('gets a cancellation when the deadline of a caller has passed', { timeout: BOUND_MS }, async () => {
    const call = exchange({ deadline: Date.now() + 200 });
    const ended = statusOf(call);
    call.write(header('waited-for'));
    expect((await ended).code).toBe(status.DEADLINE_EXCEEDED);
    await silent.left('ExecuteTaskSync');
  });

  it(
    'is not chosen for a stream without a header, which ends with DEADLINE_EXCEEDED',
    { timeout: BOUND_MS },
    async () => {
      const { code, details } = await statusOf(exchange());
      expect([status[code], details]).toEqual(['DEADLINE_EXCEEDED', expect.stringMatching(/no header has come/u)]);
    },
  );

  it('that cannot be reached is reported to a caller that keeps its stream open', { timeout: BOUND_MS }, async () => {
    const call = exchange();
    const ended = statusOf(call);
    call.write(header('gone'));
    const { code, details } = await ended;
    expect([status[code], details]).toEqual(['UNAVAILABLE', expect.stringMatching(/agent gone/u)]);
  });
});
