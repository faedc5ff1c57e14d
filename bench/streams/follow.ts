import { fork } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { create, toBinary } from '@bufbuild/protobuf';
import { EventLogService, TailRequestSchema } from '../../proto/gen/platformidl/eventlog/tail_pb.js';
import { grpcClient, type GrpcClient } from '../../test/support/clients/grpc-client.js';
import { type ServerProcess, startServerProcess } from '../../test/support/processes/server-process.js';
import type { Bench, BenchOptions, Figure } from '../bench.js';
import type { Followed, FollowedStream } from './followers.js';
import { REPORT_PATH, reportOf } from '../writes/ingest-stream.js';
import { writeFrames } from '../load/frames.js';
import { generateStreams, nextMessage } from '../load/processes.js';
import { figuresOf } from '../process-figures.js';
import { createRequests, DOMAIN, nodeEvents, PROJECT, registerHello } from '../load/workload.js';

const SERVICE = '/flyteidl.service.AdminService';

/** Connections that follow streams over Server-Sent Events or gRPC, in a process of their own. */
type Followers = {
  /** Resolves when `expected` events have arrived since the last call. */
  readonly received: (expected: number) => Promise<Followed>;
  readonly close: () => void;
};

/** Reports in flight; few enough that events are delivered as they are recorded, and not in bursts. */
const IN_FLIGHT = 128;

/** The longest time for the events to arrive; at the full size all tails together receive 4,000,000. */
const MAX_SECONDS = 300;

const openFollowers = async (streams: readonly FollowedStream[]): Promise<Followers> => {
  const child = fork(fileURLToPath(new URL('./followers.js', import.meta.url)));
  child.send({ streams });
  await nextMessage(child);
  return {
    received: async (expected) => {
      child.send({ expected });
      const followed = await nextMessage<Followed>(child, AbortSignal.timeout(MAX_SECONDS * 1_000));
      if (followed.events !== expected || followed.outOfOrder > 0)
        throw new Error(`${expected} events in order were expected: ${JSON.stringify(followed)}`);
      return followed;
    },
    close: () => void child.kill(),
  };
};

/** A kind of follower: the streams that are followed, the number of followers, and the rate of events. */
type Kind = {
  readonly name: string;
  readonly executions: number;
  /** Events per second in the round at a fixed rate. */
  readonly maxPerSecond: number;
  /** The streams to read, for these executions. */
  readonly streamsOf: (executions: readonly string[], ready: ServerProcess['ready']) => readonly FollowedStream[];
  /** The number of followers that receive each event. */
  readonly followersPerEvent: number;
};

/** The server, the file with the reports of all three rounds, and the number of reports of a round. */
type LoadTarget = { readonly server: ServerProcess; readonly framesFile: string; readonly count: number };

/** The rate of events, the server's processor time for each, and the times until delivery to the followers. */
type Measured = {
  readonly perSecond: number;
  readonly cpuMsPerEvent: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
};

/** The report of the round without followers. */
const NONE: Followed = { events: 0, p50Ms: 0, p99Ms: 0, outOfOrder: 0 };

/** One of three rounds: which third of the events is sent, its rate, and a function that waits for their delivery. */
type Round = { readonly index: number; readonly maxPerSecond?: number; readonly delivered?: () => Promise<Followed> };

/** Sends a third of the events to the server, over one stream of reports. */
const measured = async (
  { server, framesFile, count }: LoadTarget,
  { index, maxPerSecond, delivered }: Round,
): Promise<Measured> => {
  const pid = server.child.pid ?? 0;
  const before = figuresOf(pid).cpuSeconds;
  const { perSecond, failures } = await generateStreams({
    address: server.ready.grpc,
    path: REPORT_PATH,
    framesFile,
    shares: [{ from: index * count, count }],
    inFlight: IN_FLIGHT,
    ...(maxPerSecond !== undefined && { maxPerSecond }),
  });
  if (failures > 0) throw new Error(`${failures} events were not recorded`);
  const { p50Ms, p99Ms } = (await delivered?.()) ?? NONE;
  return { perSecond, cpuMsPerEvent: ((figuresOf(pid).cpuSeconds - before) * 1_000) / count, p50Ms, p99Ms };
};

const prepare = async ({ disk, count, nodeArgs }: BenchOptions, kind: Kind): Promise<LoadTarget> => {
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
  writeFrames(
    framesFile,
    requests.map((request, index) => reportOf(request, index + 1)),
  );
  return { server, framesFile, count: Math.floor(requests.length / 3) };
};

const namesOf = ({ executions }: Kind): readonly string[] =>
  Array.from({ length: executions }, (_, index) => `bench-${index}`);

/** Measures a server three times: without followers, with followers at full speed, with followers at a fixed rate. */
const runKind = async (options: BenchOptions, kind: Kind): Promise<readonly Figure[]> => {
  const target = await prepare(options, kind);
  const { server, count } = target;
  const alone = await measured(target, { index: 0 });
  const streams = kind.streamsOf(namesOf(kind), server.ready);
  const followers = await openFollowers(streams);
  const delivered = (): Promise<Followed> => followers.received(count * kind.followersPerEvent);
  const atPeak = await measured(target, { index: 1, delivered });
  const atRate = await measured(target, { index: 2, delivered, maxPerSecond: kind.maxPerSecond });
  const { peakRssMb } = figuresOf(server.child.pid ?? 0);
  followers.close();
  await server.stop();
  return [
    {
      name: `${kind.name}: events while ${streams.length} follow`,
      perSecond: atPeak.perSecond,
      baseline: { what: 'without them', perSecond: alone.perSecond },
      notes: {
        cpuMsPerEventAlone: alone.cpuMsPerEvent,
        cpuMsPerEvent: atPeak.cpuMsPerEvent,
        deliveredP99Ms: atPeak.p99Ms,
        [`perSecondOf${kind.maxPerSecond}`]: atRate.perSecond,
        [`cpuMsPerEventAt${kind.maxPerSecond}`]: atRate.cpuMsPerEvent,
        [`deliveredP50MsAt${kind.maxPerSecond}`]: atRate.p50Ms,
        [`deliveredP99MsAt${kind.maxPerSecond}`]: atRate.p99Ms,
        peakRssMb,
      },
    },
  ];
};

const WATCHERS_PER_EXECUTION = 4;
const MAX_EXECUTIONS = 500;

/** 2,000 watchers of 500 executions at the full size. */
export const watch: Bench = {
  name: 'watch',
  target: 0,
  run: (options) =>
    runKind(options, {
      name: 'watch',
      executions: Math.min(Math.ceil(options.count / 120), MAX_EXECUTIONS),
      maxPerSecond: 2_000,
      followersPerEvent: WATCHERS_PER_EXECUTION,
      streamsOf: (executions, { http }) =>
        Array.from({ length: WATCHERS_PER_EXECUTION }).flatMap(() =>
          executions.map((name) => ({ url: `${http}/api/v1/watch/executions/${PROJECT}/${DOMAIN}/${name}` })),
        ),
    }),
};

const MAX_TAILS = 200;
const TYPES = ['NodePhaseReported'];

/** The stream of one tail, by transport. */
const TAILS: Readonly<Record<string, (ready: ServerProcess['ready']) => FollowedStream>> = {
  'Server-Sent Events': ({ http }) => ({ url: `${http}/api/v1/tail?from=now&types=${TYPES.join()}` }),
  gRPC: ({ grpc }) => {
    const { tail } = EventLogService.method;
    const request = toBinary(TailRequestSchema, create(TailRequestSchema, { from: 'now', types: TYPES }));
    return {
      address: grpc,
      path: `/${tail.parent.typeName}/${tail.name}`,
      request: Buffer.from(request).toString('base64'),
    };
  },
};

/** 200 tails of all reports of nodes at the full size, over each transport; each report is delivered to all tails. */
export const tails: Bench = {
  name: 'tail',
  target: 0,
  run: async (options) => {
    const readersOfEach = Math.min(Math.ceil(options.count / 90), MAX_TAILS);
    const figures: Figure[] = [];
    for (const [transport, streamOf] of Object.entries(TAILS)) {
      const kind: Kind = {
        name: `tail over ${transport}`,
        executions: 100,
        maxPerSecond: 3_000,
        followersPerEvent: readersOfEach,
        streamsOf: (_, ready) => Array.from({ length: readersOfEach }, () => streamOf(ready)),
      };
      figures.push(...(await runKind(options, kind)));
    }
    return figures;
  },
};
