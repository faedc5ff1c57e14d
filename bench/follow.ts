import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { grpcClient, type GrpcClient } from '../test/support/grpc-client.js';
import { type ServerProcess, startServerProcess } from '../test/support/server-process.js';
import { assertAllOk } from './acknowledged.js';
import type { Bench, BenchOptions, Figure } from './bench.js';
import type { Followed } from './followers.js';
import type { LoadResult } from './load.js';
import { generateLoad, writeFrames } from './processes.js';
import { figuresOf } from './process-figures.js';
import { createRequests, DOMAIN, nodeEvents, PROJECT, registerHello } from './workload.js';

const SERVICE = '/flyteidl.service.AdminService';

/** Connections that read Server-Sent Events, in a process of their own. */
type Followers = {
  /** Resolves when so many events have come since the last call. */
  readonly received: (expected: number) => Promise<Followed>;
  readonly close: () => void;
};

/** The longest time for events to come; at the full size all tails together receive 1,200,000. */
const MOST_SECONDS = 300;

const openFollowers = async (urls: readonly string[]): Promise<Followers> => {
  const child = fork(fileURLToPath(new URL('./followers.js', import.meta.url)));
  child.send({ urls });
  await once(child, 'message');
  return {
    received: async (expected) => {
      const answer = once(child, 'message', { signal: AbortSignal.timeout(MOST_SECONDS * 1_000) });
      child.send({ expected });
      const [followed] = (await answer) as [Followed];
      if (followed.events !== expected || followed.outOfOrder > 0)
        throw new Error(`${expected} events in order were expected: ${JSON.stringify(followed)}`);
      return followed;
    },
    close: () => void child.kill(),
  };
};

/** A kind of follower: what is followed, by how many, and at which rate of events. */
type Kind = {
  readonly name: string;
  readonly executions: number;
  readonly mostPerSecond: number;
  /** The paths to read, for these executions. */
  readonly pathsOf: (executions: readonly string[]) => readonly string[];
  /** The followers of each event. */
  readonly readersOfEach: number;
};

type Measured = { readonly load: LoadResult; readonly cpuMsPerEvent: number };

type Loading = { readonly server: ServerProcess; readonly framesFile: string; readonly count: number };

const measured = async ({ server, framesFile, count }: Loading, part: number, most?: number): Promise<Measured> => {
  const pid = server.child.pid ?? 0;
  const before = figuresOf(pid).cpuSeconds;
  const load = await generateLoad({
    address: server.ready.grpc,
    path: `${SERVICE}/CreateNodeEvent`,
    framesFile,
    from: part * count,
    count,
    inFlight: 64,
    ...(most !== undefined && { mostPerSecond: most }),
  });
  assertAllOk(load);
  return { load, cpuMsPerEvent: ((figuresOf(pid).cpuSeconds - before) * 1_000) / count };
};

const prepare = async ({ disk, count, nodeArgs }: BenchOptions, kind: Kind): Promise<Loading> => {
  const framesFile = join(disk.directory, `${kind.name}-frames`);
  const server = await startServerProcess({
    data: join(disk.directory, kind.name),
    nodeArgs,
    env: { FLIGHTLOG_PROJECTS: `["${PROJECT}"]` },
  });
  const client: GrpcClient = grpcClient(server.ready.grpc);
  await registerHello(client);
  for (const request of createRequests('bench', kind.executions))
    await client.raw(`${SERVICE}/CreateExecution`, request);
  client.close();
  const { requests } = nodeEvents(namesOf(kind), count);
  writeFrames(framesFile, requests);
  return { server, framesFile, count: Math.floor(requests.length / 3) };
};

const namesOf = ({ executions }: Kind): readonly string[] =>
  Array.from({ length: executions }, (_, index) => `bench-${index}`);

/** Loads a server without followers, with them as fast as it can, and with them at a rate. */
const runKind = async (options: BenchOptions, kind: Kind): Promise<readonly Figure[]> => {
  const loading = await prepare(options, kind);
  const { server, count } = loading;
  const alone = await measured(loading, 0);
  const paths = kind.pathsOf(namesOf(kind));
  const followers = await openFollowers(paths.map((path) => `${server.ready.http}${path}`));
  const followed = await measured(loading, 1);
  const atPeak = await followers.received(count * kind.readersOfEach);
  await measured(loading, 2, kind.mostPerSecond);
  const atRate = await followers.received(count * kind.readersOfEach);
  const { peakRssMb } = figuresOf(server.child.pid ?? 0);
  followers.close();
  await server.stop();
  return [
    {
      name: `${kind.name}: events while ${paths.length} follow`,
      perSecond: followed.load.perSecond,
      floor: { what: 'without them', perSecond: alone.load.perSecond },
      notes: {
        cpuMsPerEvent: followed.cpuMsPerEvent,
        cpuMsPerEventAlone: alone.cpuMsPerEvent,
        deliveredP99Ms: atPeak.p99Ms,
        [`deliveredP50MsAt${kind.mostPerSecond}`]: atRate.p50Ms,
        [`deliveredP99MsAt${kind.mostPerSecond}`]: atRate.p99Ms,
        peakRssMb,
      },
    },
  ];
};

const WATCHERS_OF_EACH = 4;
const MOST_EXECUTIONS = 500;

/** 2,000 watchers of 500 executions at the full size. */
export const watch: Bench = {
  name: 'watch',
  target: 0,
  run: (options) =>
    runKind(options, {
      name: 'watch',
      executions: Math.min(Math.ceil(options.count / 120), MOST_EXECUTIONS),
      mostPerSecond: 2_000,
      readersOfEach: WATCHERS_OF_EACH,
      pathsOf: (executions) =>
        Array.from({ length: WATCHERS_OF_EACH }).flatMap(() =>
          executions.map((name) => `/api/v1/watch/executions/${PROJECT}/${DOMAIN}/${name}`),
        ),
    }),
};

const MOST_TAILS = 200;

/** 200 tails of the whole log at the full size: each event is delivered as often. */
export const tails: Bench = {
  name: 'tail',
  target: 0,
  run: (options) => {
    const count = Math.min(options.count, 18_000);
    const readersOfEach = Math.min(Math.ceil(count / 90), MOST_TAILS);
    return runKind(
      { ...options, count },
      {
        name: 'tail',
        executions: 100,
        mostPerSecond: 3_000,
        readersOfEach,
        pathsOf: () => Array.from({ length: readersOfEach }, () => '/api/v1/tail?from=now&types=NodePhaseReported'),
      },
    );
  },
};
