import { rmSync } from 'node:fs';
import { create, type DescMessage, type DescMethodUnary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { NodeExecution_Phase as Phase } from '../../proto/gen/platformidl/core/execution_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { ADMISSION_LIMITS } from '../../services/sessions/admission.js';
import { type ControlPlane, register, startControlPlane } from '../support/processes/control-plane.js';
import { withNeeds } from '../support/requests/fixtures.js';
import { type Answered, grpcClient, type GrpcClient } from '../support/clients/grpc-client.js';
import { helloRequest, launchHello } from '../support/requests/hello.js';
import { type ExecutionId, nodeReport } from '../support/requests/reports.js';
import { isWithoutWriter } from '../support/processes/test-log.js';

const { method } = AdminService;
/** The numbers of commands in flight from which launches, and other commands, are refused. */
const { starts, others } = ADMISSION_LIMITS;

/** A disk that never answers: the writer of the log stops at its first commit. */
const HELD = { FLIGHTLOG_FAIL_POINT: 'before-commit:1:hold' };
/** A server accepts about a thousand concurrent calls on each connection. */
const CONNECTIONS = 16;
/** Calls above a limit, which are refused. */
const TOO_MANY = 50;

let plane: ControlPlane;
let clients: readonly GrpcClient[];
/** An execution that was launched while the disk still answered. */
let known: ExecutionId;
let sent = 0;

const connect = (): void => {
  clients = Array.from({ length: CONNECTIONS }, () => grpcClient(plane.server().ready.grpc));
};
const disconnect = (): void => {
  for (const client of clients) client.close();
};

beforeAll(async () => {
  const first = await startControlPlane();
  await register(first.grpc, withNeeds('01-hello'));
  known = await launchHello(first.grpc, 'known');
  await first.kill();
  plane = await startControlPlane(HELD, first.directory);
  connect();
});
afterAll(async () => {
  disconnect();
  await plane.kill();
  rmSync(plane.directory, { recursive: true });
});

/** Sends a request over the connections in turn. */
const send = <I extends DescMessage>(
  { parent, name, input }: DescMethodUnary<I>,
  request: MessageInitShape<I>,
): Promise<Answered> => {
  sent += 1;
  const bytes = toBinary(input, create(input, request));
  return clients[sent % CONNECTIONS]!.raw(`/${parent.typeName}/${name}`, bytes);
};
const launch = (name: string) => send(method.createExecution, helloRequest(name));
const report = (nodeId: string, phase: Phase) => send(method.createNodeEvent, nodeReport(known, nodeId, { phase }));
/** Makes `count` calls at once. */
const many = (count: number, each: (at: number) => Promise<Answered>) =>
  Array.from({ length: count }, (_, at) => each(at));

/** Resolves with the first `count` answers. */
const firstOf = (answers: readonly Promise<Answered>[], count: number): Promise<readonly Answered[]> =>
  new Promise((resolve) => {
    const first: Answered[] = [];
    for (const answer of answers) void answer.then((each) => first.push(each) === count && resolve(first));
  });

const expectRefused = (answers: readonly Answered[]): void => {
  for (const { code, message, metadata } of answers) {
    expect([code, message]).toEqual(['RESOURCE_EXHAUSTED', expect.stringContaining('send it again in 1 s')]);
    expect(metadata.get('grpc-retry-pushback-ms')).toEqual(['1000']);
  }
};

// With an event store, another process writes to the disk.
describe.skipIf(isWithoutWriter)('a control plane whose disk does not answer', () => {
  /** The calls that were to wait for the disk and have been answered. */
  const answered: string[] = [];
  const note =
    (name: string) =>
    ({ code }: Answered) =>
      void answered.push(`${name}: ${code}`);

  it('refuses launches above its limit, to be sent again in 1 s', async () => {
    expectRefused(
      await firstOf(
        many(starts + TOO_MANY, (at) => launch(`many-${at}`)),
        TOO_MANY,
      ),
    );
  }, 120_000);

  it('takes reports on running executions up to a higher limit', async () => {
    const reports = many(others - starts + TOO_MANY, (at) => report(`n${at}`, Phase.QUEUED));
    let refused = 0;
    for (const each of reports) void each.then(() => (refused += 1));
    expectRefused(await firstOf(reports, TOO_MANY));
    expectRefused([await launch('one-more')]);
    expect(refused).toBeLessThan(2 * TOO_MANY); // reports below the limit wait for the disk
  }, 120_000);

  it('refuses launches over REST with 429 and retry-after', async () => {
    const refused = await fetch(`${plane.server().ready.http}/api/v1/executions`, {
      method: 'POST',
      headers: { 'content-type': 'application/octet-stream' },
      body: toBinary(method.createExecution.input, helloRequest('over-rest')) as never,
    });
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1']);
  });

  it('does not refuse final phases and terminations', async () => {
    void report('n0', Phase.SUCCEEDED).then(note('terminal event'));
    void send(method.terminateExecution, { id: known, cause: 'enough' }).then(note('termination'));
    // These come later and are refused at once; the calls that are not refused wait for the disk.
    expectRefused(await Promise.all(many(CONNECTIONS, (at) => report(`later-${at}`, Phase.QUEUED))));
    expect(answered).toEqual([]);
  }, 60_000);

  it('answers reads meanwhile', async () => {
    const { closure } = await plane.grpc.call(method.getExecution, { id: known });
    expect(closure).toBeDefined();
  });

  it('has not recorded a refused launch, and accepts it after a restart with a disk that answers', async () => {
    const { directory } = plane;
    disconnect();
    await plane.kill();
    plane = await startControlPlane({}, directory);
    connect();
    const request = { id: { ...known, name: 'one-more' } };
    expect(await plane.grpc.attempt(method.getExecution, request)).toMatchObject({ code: 'NOT_FOUND' });
    expect((await launch('one-more')).code).toBe('OK');
    expect((await report('n0', Phase.QUEUED)).code).toBe('OK');
  }, 60_000);
});
