import { afterAll, beforeAll, expect, it } from 'vitest';

import { NodeExecution_Phase as NodePhase } from '../../proto/gen/platformidl/core/execution_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { executionStream } from '../support/streams/filled-log.js';
import { type ControlPlane, register, startControlPlane } from '../support/processes/control-plane.js';
import { type CuttingProxy, startCuttingProxy } from '../support/proxies/cutting-proxy.js';
import { withNeeds } from '../support/requests/fixtures.js';
import {
  type Connect,
  follow,
  type NextServer,
  tailByEvents,
  tailOverGrpc,
  watchByEvents,
  watchOverGrpc,
} from '../support/clients/followers.js';
import { launchHello } from '../support/requests/hello.js';
import { nodeReport } from '../support/requests/reports.js';

/** At least this many connections are broken before the last event; `FLIGHTLOG_TEST_CUTS=200` takes some minutes. */
const CUTS = Number(process.env['FLIGHTLOG_TEST_CUTS'] ?? '12');
const ID = { project: 'flytesnacks', domain: 'development', name: 'followed' };
const LIMIT_MS = 60_000 + 3_000 * CUTS;
const LAST_NODE = 'the-last';

let plane: ControlPlane;
let proxies: readonly CuttingProxy[];

/** Mostly few bytes, so that connections break often; sometimes enough for the largest event. */
const someBytes = (): number => Math.floor(Math.random() * (Math.random() < 0.25 ? 200_000 : 12_000));

beforeAll(async () => {
  plane = await startControlPlane();
  await register(plane.grpc, withNeeds('01-hello'));
  await launchHello(plane.grpc, ID.name);
  const { ready } = plane.server();
  proxies = [
    await startCuttingProxy({ target: () => ready.grpc, nextBytes: someBytes }),
    await startCuttingProxy({ target: () => new URL(ready.http).host, nextBytes: someBytes }),
  ];
});
afterAll(async () => {
  for (const proxy of proxies) await proxy.close();
  await plane.close();
});

/** The four ways to follow: each connects through a proxy. */
const clientsOf = (): Readonly<Record<string, Connect>> => {
  const [grpc, http] = proxies.map(
    ({ address }) =>
      () =>
        address,
  ) as [NextServer, NextServer];
  return {
    'watch over gRPC': watchOverGrpc(grpc, ID),
    'watch by Server-Sent Events': watchByEvents(http, ID),
    'tail over gRPC': tailOverGrpc(grpc),
    'tail by Server-Sent Events': tailByEvents(http),
  };
};

it(
  'watches and tails have every change once and in order behind a proxy that breaks connections',
  { timeout: LIMIT_MS },
  async () => {
    let last = -1n;
    const isLast = (position: string): boolean => last >= 0n && position !== '' && BigInt(position) >= last;
    const clients = Object.entries(clientsOf());
    const connections = new Map(clients.map(([name]) => [name, 0]));
    const following = clients.map(async ([name, connect]) => {
      const onConnect = (): void => void connections.set(name, (connections.get(name) ?? 0) + 1);
      return [name, await follow(connect, { isLast, onConnect })] as const;
    });
    const cuts = (): number => proxies.reduce((sum, proxy) => sum + proxy.cuts(), 0);
    const isEachBroken = (): boolean => [...connections.values()].every((count) => count > 1);
    const report = (node: string) =>
      plane.grpc.call(AdminService.method.createNodeEvent, nodeReport(ID, node, { phase: NodePhase.RUNNING }));
    for (let node = 0; cuts() < CUTS || !isEachBroken(); node += 1) await report(`n${node}`);
    await report(LAST_NODE);
    const log = await plane.events();
    last = log.at(-1)!.position;
    const all = await Promise.all(following);

    const inLog = log.map(({ position }) => String(position));
    const ofExecution = log
      .filter(({ stream }) => stream === executionStream(ID.name))
      .map(({ position }) => String(position));
    for (const [name, { events, state }] of all) {
      // A watch begins with the state of the execution as of a position, and has the events after that.
      const expected = name.startsWith('tail')
        ? inLog
        : ofExecution.filter((position) => BigInt(position) > BigInt(state));
      expect(events, name).toEqual(expected);
    }
  },
);
