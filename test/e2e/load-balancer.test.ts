import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { freePort } from '../support/processes/command.js';
import { register } from '../support/processes/control-plane.js';
import { fixtureFolder } from '../support/requests/fixtures.js';
import { helloRequest } from '../support/requests/hello.js';
import {
  type Behind,
  hasLoadBalancer,
  type LoadBalancer,
  startLoadBalancer,
} from '../support/processes/load-balancer.js';
import { type LogServer, startLogServer } from '../support/processes/log-server.js';
import { type ServerProcess, startServerProcess } from '../support/processes/server-process.js';
import { overGrpc, overRest, type Transport } from '../support/clients/transports.js';
import { until } from '../support/until.js';

const { method } = AdminService;
/** Clients that launch executions at the same time. */
const CALLERS = 8;

/** The statuses after which a client retries, once. */
const RETRIED_STATUSES = new Set(['UNAVAILABLE', 'INTERNAL', 'UNKNOWN', 'CANCELLED']);

type Member = Behind & { readonly data: string; server: ServerProcess };

const isRequired = process.env['FLIGHTLOG_TEST_REQUIRES_HAPROXY'] === '1';

describe.skipIf(!hasLoadBalancer && !isRequired)('two control planes behind the load balancer', () => {
  const folder = mkdtempSync(join(tmpdir(), 'flightlog-behind-'));
  let log: LogServer;
  let members: readonly [Member, Member];
  let balancer: LoadBalancer;
  let grpc: Transport;
  let rest: Transport;

  const serve = ({ grpcPort, httpPort, data }: Omit<Member, 'server'>): Promise<ServerProcess> =>
    startServerProcess({
      data,
      args: [
        ...['--event-store', `esdb://${log.address}?tls=false`],
        ...['--grpc-port', String(grpcPort), '--http-port', String(httpPort)],
      ],
      env: { FLIGHTLOG_PROJECTS: '["flytesnacks"]' },
    });

  const startMember = async (name: string): Promise<Member> => {
    const place = { data: join(folder, name), grpcPort: await freePort(), httpPort: await freePort() };
    return { ...place, server: await serve(place) };
  };

  beforeAll(async () => {
    log = await startLogServer(join(folder, 'log'));
    members = [await startMember('first'), await startMember('second')];
    balancer = await startLoadBalancer(members);
    grpc = overGrpc({ grpc: balancer.grpc });
    rest = overRest({ http: balancer.http });
    await register(grpc, [fixtureFolder('01-hello')]);
  }, 120_000);

  afterAll(async () => {
    grpc.close();
    await balancer.close();
    await Promise.all(members.map(({ server }) => server.kill()));
    await log.kill();
    rmSync(folder, { recursive: true });
  });

  it('share the calls of one gRPC connection, and the requests of REST', async () => {
    for (let turn = 0; turn < 20; turn += 1) {
      expect((await grpc.attempt(method.getVersion, {})).code).toBe('OK');
      expect((await rest.attempt(method.getVersion, {})).code).toBe('OK');
    }
    for (const part of ['grpc', 'rest'] as const) {
      const { 'api-1': first = 0, 'api-2': second = 0 } = balancer.requests(part);
      expect(first).toBeGreaterThanOrEqual(5);
      expect(second).toBeGreaterThanOrEqual(5);
    }
  });

  /** A connection that closes just when it is reused counts as one attempt. */
  const notAnswered = (error: unknown) => ({ code: 'UNAVAILABLE', message: String(error) }) as const;

  /**
   * Launches executions one after another until `isOver` returns true.
   *
   * @returns the names of those that were launched, and the last answers to the other launches.
   */
  const launch = async (
    caller: number,
    isOver: () => boolean,
    pause: () => Promise<unknown>,
  ): Promise<{ names: string[]; lost: string[] }> => {
    const names: string[] = [];
    const lost: string[] = [];
    for (let turn = 0; !isOver(); turn += 1) {
      const name = `rolling-${caller}-${turn}`;
      const transport = turn % 2 === 0 ? grpc : rest;
      const call = () => transport.attempt(method.createExecution, helloRequest(name)).catch(notAnswered);
      let answer = await call();
      const isRetried = RETRIED_STATUSES.has(answer.code);
      if (isRetried) answer = await call();
      const isLaunched = answer.code === 'OK' || (isRetried && answer.code === 'ALREADY_EXISTS');
      if (isLaunched) names.push(name);
      else lost.push(`${name}: ${answer.code}: ${answer.message}`);
      await pause();
    }
    return { names, lost };
  };

  /** The numbers of requests, over gRPC and over REST, that a member has got. */
  const sentTo = (member: Member): readonly number[] =>
    (['grpc', 'rest'] as const).map((part) => balancer.requests(part)[`api-${members.indexOf(member) + 1}`] ?? 0);

  it('lose no launch of clients that try once more, while both are restarted', async () => {
    let isOver = false;
    // Fewer calls while a process starts, which needs the processor that they would take.
    let pauseMs = 0;
    const pause = () => (pauseMs > 0 ? sleep(pauseMs) : Promise.resolve());
    const working = Array.from({ length: CALLERS }, (_, caller) => launch(caller, () => isOver, pause));
    for (const member of members) {
      expect(await member.server.stop()).toBe(0);
      const before = sentTo(member);
      pauseMs = 50;
      member.server = await serve(member);
      pauseMs = 0;
      await until(
        () => Promise.resolve(sentTo(member)),
        (now) => now.every((count, part) => count > before[part]!),
      );
    }
    isOver = true;
    const done = await Promise.all(working);
    expect(
      done.flatMap(({ lost }) => lost),
      balancer.changes().join('\n'),
    ).toEqual([]);
    const names = done.flatMap((each) => each.names);
    expect(names.length).toBeGreaterThan(CALLERS);
    for (const name of names) {
      const id = { project: 'flytesnacks', domain: 'development', name };
      expect((await grpc.attempt(method.getExecution, { id })).code, name).toBe('OK');
    }
  }, 240_000);
});
