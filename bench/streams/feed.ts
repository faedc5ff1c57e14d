import { join } from 'node:path';
import { create, toBinary } from '@bufbuild/protobuf';

import { ExecutionCreateRequestSchema } from '../../proto/gen/platformidl/admin/execution_pb.js';
import { QualityOfService_Tier as Tier } from '../../proto/gen/platformidl/core/execution_pb.js';
import { ResourceType } from '../../proto/gen/platformidl/core/identifier_pb.js';
import type { WorkLaunch } from '../../proto/gen/platformidl/eventlog/engine_work_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { grpcClient, type GrpcClient } from '../../test/support/clients/grpc-client.js';
import { startServerProcess } from '../../test/support/processes/server-process.js';
import { openWork, type WorkStream } from '../../test/support/clients/work-stream.js';
import type { Bench, Figure } from '../bench.js';
import { DOMAIN, PROJECT, registerHello } from '../load/workload.js';
import { percentile } from '../percentile.js';

const { method } = AdminService;
/** The project of a few executions beside one of very many. */
const SMALL = 'small';
const TIERS = [Tier.HIGH, Tier.MEDIUM, Tier.LOW] as const;
/** One in this number of executions is of the small project. */
const SMALL_SHARE = 50;
const IN_FLIGHT = 64;
/** Free places of the engine: it may be given as many launches before it reports free places again. */
const PLACES = 256;
/** Number of executions that are aborted. */
const ABORTS = 200;
/** Target: an abort reaches the engine within this time at the 99th percentile. */
const ABORT_MS = 100;
const HEARTBEAT_MS = 5_000;
/** Launches per second that the measured rate is compared with; missing it is no failure. */
const TARGET_PER_SECOND = 5_000;

const launchRequest = (project: string, name: string, tier: Tier): Uint8Array =>
  toBinary(
    ExecutionCreateRequestSchema,
    create(ExecutionCreateRequestSchema, {
      ...{ project, domain: DOMAIN, name },
      spec: {
        launchPlan: {
          ...{ resourceType: ResourceType.LAUNCH_PLAN, project: PROJECT, domain: DOMAIN },
          ...{ name: 'hello.hello', version: 'v1' },
        },
        metadata: { principal: 'bench' },
        qualityOfService: { designation: { case: 'tier', value: tier } },
      },
    }),
  );

/** Creates the executions: all of the large project first, so that those of the small one are the youngest. */
const createAll = async (client: GrpcClient, count: number): Promise<void> => {
  const ofSmall = Math.ceil(count / SMALL_SHARE);
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) {
      const at = next++;
      const project = at < count - ofSmall ? PROJECT : SMALL;
      const request = launchRequest(project, `fed-${at}`, TIERS[at % TIERS.length] ?? Tier.MEDIUM);
      const { code } = await client.raw('/flyteidl.service.AdminService/CreateExecution', request);
      if (code !== 'OK') throw new Error(`CreateExecution returned ${code}`);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker));
};

/** A launch that the engine was given, and the time since it was given the first one. */
type Handed = { readonly launch: WorkLaunch; readonly afterMs: number };

/** Takes all executions as one engine; times count from the first launch, when the list of work has been read. */
const takeAll = async (stream: WorkStream, count: number): Promise<readonly Handed[]> => {
  const handed: Handed[] = [];
  let firstMs = 0;
  while (handed.length < count) {
    const launch = await stream.next('launch');
    firstMs ||= performance.now();
    handed.push({ launch, afterMs: performance.now() - firstMs });
    if (handed.length % (PLACES / 2) === 0) stream.send({ case: 'places', value: { free: PLACES } });
  }
  return handed;
};

/** The waiting times by project and tier, in milliseconds: median and longest. */
const waits = (handed: readonly Handed[]): Readonly<Record<string, number>> => {
  const notes: Record<string, number> = {};
  for (const project of [SMALL, PROJECT])
    for (const tier of TIERS) {
      const waited = handed
        .filter(({ launch }) => launch.lease?.execution?.project === project && launch.settings?.tier === tier)
        .map(({ afterMs }) => afterMs)
        .sort((a, b) => a - b);
      const name = `${project === SMALL ? 'small' : 'large'}${Tier[tier]}`;
      notes[`${name}P50Ms`] = percentile(waited, 0.5);
      notes[`${name}MaxMs`] = percentile(waited, 1);
    }
  return notes;
};

/** Aborts executions one after another; the times until the engine has each request, in milliseconds, ascending. */
const abortTimes = async (client: GrpcClient, stream: WorkStream, handed: readonly Handed[]): Promise<number[]> => {
  const times: number[] = [];
  for (const { launch } of handed.slice(0, ABORTS)) {
    const id = launch.lease?.execution;
    if (id === undefined) throw new Error('a launch without an execution');
    const startedMs = performance.now();
    const aborted = stream.next('abort');
    await client.call(method.terminateExecution, { id, cause: 'bench' });
    await aborted;
    times.push(performance.now() - startedMs);
  }
  return times.sort((a, b) => a - b);
};

/** Executions of two projects and three tiers, handed out to one engine, and aborts of some of them. */
export const feed: Bench = {
  name: 'feed',
  target: 0,
  run: async ({ disk, count, nodeArgs }): Promise<readonly Figure[]> => {
    const executions = Math.ceil(count / 6); // 10,000 with the default count
    const env = { FLIGHTLOG_PROJECTS: `["${PROJECT}","${SMALL}"]` };
    const server = await startServerProcess({ data: join(disk.directory, 'feed'), nodeArgs, env });
    const client = grpcClient(server.ready.grpc);
    await registerHello(client);
    await createAll(client, executions);
    const stream = openWork(server.ready.grpc, { group: 'default', engine: 'bench', freePlaces: PLACES });
    const heartbeat = setInterval(() => stream.send({ case: 'heartbeat', value: {} }), HEARTBEAT_MS);
    const handed = await takeAll(stream, executions);
    const aborts = await abortTimes(client, stream, handed);
    clearInterval(heartbeat);
    stream.drop();
    client.close();
    await server.stop();
    const seconds = (handed.at(-1)?.afterMs ?? 1) / 1_000;
    const p99Ms = percentile(aborts, 0.99);
    return [
      {
        name: `${executions} launches handed out`,
        perSecond: executions / seconds,
        baseline: { what: 'aimed for', perSecond: TARGET_PER_SECOND },
        notes: waits(handed),
      },
      {
        name: 'aborts, one after another',
        perSecond: 1_000 / p99Ms,
        baseline: { what: `p99 of ${ABORT_MS} ms`, perSecond: 1_000 / ABORT_MS },
        notes: { p50Ms: percentile(aborts, 0.5), p99Ms, maxMs: percentile(aborts, 1) },
        target: 1,
      },
    ];
  },
};
