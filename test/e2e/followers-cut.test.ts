import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';

import { create, type DescMethod, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { Client, credentials } from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, it } from 'vitest';

import {
  EventLogService,
  TailRequestSchema,
  TailResponseSchema,
} from '../../proto/gen/platformidl/eventlog/tail_pb.js';
import {
  ExecutionWatchService,
  WatchRequestSchema,
  WatchResponse_Kind as Kind,
  WatchResponseSchema,
} from '../../proto/gen/platformidl/eventlog/watch_pb.js';
import { NodeExecution_Phase as NodePhase } from '../../proto/gen/platformidl/core/execution_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { executionStream } from '../support/filled-log.js';
import { type ControlPlane, register, startControlPlane } from '../support/control-plane.js';
import { type CuttingProxy, startCuttingProxy } from '../support/cutting-proxy.js';
import { withNeeds } from '../support/fixtures.js';
import { launchHello } from '../support/hello.js';
import { nodeReport } from '../support/reports.js';

/** Connections that are broken before the last event; `FLIGHTLOG_TEST_CUTS=200` takes some minutes. */
const CUTS = Number(process.env['FLIGHTLOG_TEST_CUTS'] ?? '12');
const ID = { project: 'flytesnacks', domain: 'development', name: 'followed' };
const LIMIT_MS = 60_000 + 3_000 * CUTS;
const LAST_NODE = 'the-last';

let plane: ControlPlane;
let proxies: readonly CuttingProxy[];

/** Mostly so few bytes that connections break in the middle of an event; sometimes enough for the largest event. */
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

/** An answer: its position, when it is one that a client may go on after, and whether it is an event or a change. */
type Answer = { readonly position: string | undefined; readonly isEvent: boolean };

/** Connects, to go on after a position; the answers end or throw when the connection breaks. */
type Connect = (after: string) => AsyncIterable<Answer>;

const eventsOf = async function* (path: string, after: string): AsyncGenerator<Answer> {
  const headers = after === '' ? {} : { 'last-event-id': after };
  const request = get(`http://${proxies[1]!.address}${path}`, { headers, agent: false });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  let text = '';
  for await (const chunk of response) {
    const blocks = (text + String(chunk)).split('\n\n');
    text = blocks.pop()!;
    for (const block of blocks) {
      const [, position, type] = /^(?:id: (\d+)\n)?event: (\w+)\n/u.exec(block) ?? [];
      yield { position, isEvent: type === 'event' || type === 'change' };
    }
  }
};

const answersOf = async function* <Each>(
  method: DescMethod,
  request: Uint8Array,
  decode: (bytes: Uint8Array) => Each,
): AsyncGenerator<Each> {
  const client = new Client(proxies[0]!.address, credentials.createInsecure());
  const asIs = (bytes: Buffer): Buffer => bytes;
  const rpc = `/${method.parent.typeName}/${method.name}`;
  const stream = client.makeServerStreamRequest(rpc, asIs, asIs, Buffer.from(request));
  try {
    for await (const bytes of stream as AsyncIterable<Buffer>) yield decode(bytes);
  } finally {
    stream.cancel();
    client.close();
  }
};

const watchOverGrpc = async function* (lastEventId: string): AsyncGenerator<Answer> {
  const request: MessageInitShape<typeof WatchRequestSchema> = { ...ID, lastEventId };
  const encoded = toBinary(WatchRequestSchema, create(WatchRequestSchema, request));
  const decode = (bytes: Uint8Array) => fromBinary(WatchResponseSchema, bytes);
  for await (const { position, kind, hasMore } of answersOf(ExecutionWatchService.method.watch, encoded, decode))
    yield { position: hasMore ? undefined : String(position), isEvent: kind === Kind.CHANGE };
};

const tailOverGrpc = async function* (lastEventId: string): AsyncGenerator<Answer> {
  const encoded = toBinary(TailRequestSchema, create(TailRequestSchema, { from: 'start', lastEventId }));
  const decode = (bytes: Uint8Array) => fromBinary(TailResponseSchema, bytes);
  for await (const { position, event } of answersOf(EventLogService.method.tail, encoded, decode))
    yield { position: String(position), isEvent: event !== undefined };
};

const CLIENTS: Readonly<Record<string, Connect>> = {
  'watch over gRPC': watchOverGrpc,
  'watch by Server-Sent Events': (after) =>
    eventsOf(`/api/v1/watch/executions/${ID.project}/${ID.domain}/${ID.name}`, after),
  'tail over gRPC': tailOverGrpc,
  'tail by Server-Sent Events': (after) => eventsOf('/api/v1/tail?from=start', after),
};

type Followed = { readonly events: readonly string[]; readonly state: string };

/** The answers that a client may go on after, of one connection until it breaks. */
const untilBroken = async function* (answers: AsyncIterable<Answer>): AsyncGenerator<Answer> {
  try {
    for await (const each of answers) if (each.position !== undefined) yield each;
  } catch {
    // broken: the next connection goes on
  }
};

type Following = { readonly isLast: (position: string) => boolean; readonly onConnect: () => void };

/** Follows until the given position, and connects again whenever the connection breaks. */
const follow = async (connect: Connect, { isLast, onConnect }: Following): Promise<Followed> => {
  const events: string[] = [];
  let [after, state] = ['', ''];
  while (!isLast(after)) {
    onConnect();
    for await (const { position = '', isEvent } of untilBroken(connect(after))) {
      after = position;
      if (state === '') state = position;
      if (isEvent) events.push(position);
      if (isLast(position)) break;
    }
  }
  return { events, state };
};

it(
  'watches and tails have every change once and in order behind a proxy that breaks connections',
  { timeout: LIMIT_MS },
  async () => {
    let last = -1n;
    const isLast = (position: string): boolean => last >= 0n && position !== '' && BigInt(position) >= last;
    const connections = new Map(Object.keys(CLIENTS).map((name) => [name, 0]));
    const following = Object.entries(CLIENTS).map(async ([name, connect]) => {
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
      const expected = name.startsWith('tail')
        ? inLog
        : ofExecution.filter((position) => BigInt(position) > BigInt(state));
      expect(events, name).toEqual(expected);
    }
  },
);
