import { join } from 'node:path';
import { Sort_Direction } from '../../proto/gen/platformidl/admin/common_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { grpcClient, type GrpcClient } from '../../test/support/clients/grpc-client.js';
import { startServerProcess } from '../../test/support/processes/server-process.js';
import type { Figure } from '../bench.js';
import type { Disk } from '../disk.js';
import { writeFrames } from '../load/frames.js';
import { generateLoad } from '../load/processes.js';
import { createRequests, DOMAIN, nodeEvents, PROJECT, registerHello } from '../load/workload.js';

const SERVICE = '/flyteidl.service.AdminService';
const EXECUTIONS = 100;
const MAX_SAMPLES = 2_000;

const newestName = async (client: GrpcClient): Promise<string | undefined> => {
  const { executions } = await client.call(AdminService.method.listExecutions, {
    id: { project: PROJECT, domain: DOMAIN },
    limit: 1,
    sortBy: { key: 'created_at', direction: Sort_Direction.DESCENDING },
  });
  return executions[0]?.id?.name;
};

/**
 * Creates executions one after another until `isOver`, and measures for each how long after the response a list shows
 * it.
 *
 * @returns milliseconds, sorted; at most 2,000.
 */
const sample = async (client: GrpcClient, isOver: () => boolean): Promise<number[]> => {
  const took: number[] = [];
  for (const [index, request] of createRequests('fresh', MAX_SAMPLES).entries()) {
    if (isOver()) break;
    const { code, message } = await client.raw(`${SERVICE}/CreateExecution`, request);
    if (code !== 'OK') throw new Error(`CreateExecution returned ${code}: ${message}`);
    const acknowledged = performance.now();
    while ((await newestName(client)) !== `fresh-${index}`);
    took.push(performance.now() - acknowledged);
  }
  return took.sort((a, b) => a - b);
};

/** The times until lists showed acknowledged creates, and the rates of the events beside them. */
export type Freshness = {
  /** Events per second while creates were measured. */
  readonly perSecond: number;
  /** Events per second that the server handled before, when nothing limited their rate. */
  readonly peakPerSecond: number;
  /** Number of creates that were measured. */
  readonly samples: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
};

export type FreshnessOptions = {
  readonly disk: Disk;
  /** The number of events: half of them find the peak rate, half arrive while lists are read. */
  readonly count: number;
  /** The name of the data directory. */
  readonly name: string;
  /** Arguments of the server. */
  readonly args?: readonly string[];
  /** The rate of events; by default half of the rate that the server has just been measured to handle. */
  readonly eventsPerSecond?: number;
};

/** Measures how soon a list shows an acknowledged create while events arrive. */
export const measureFreshness = async (options: FreshnessOptions): Promise<Freshness> => {
  const { disk, count, name, args = [], eventsPerSecond } = options;
  const framesFile = join(disk.directory, `${name}-frames`);
  const env = { FLIGHTLOG_PROJECTS: `["${PROJECT}"]` };
  const server = await startServerProcess({ data: join(disk.directory, name), args, env });
  const client = grpcClient(server.ready.grpc);
  await registerHello(client);
  for (const request of createRequests('bench', EXECUTIONS)) await client.raw(`${SERVICE}/CreateExecution`, request);
  const names = Array.from({ length: EXECUTIONS }, (_, index) => `bench-${index}`);
  const { requests } = nodeEvents(names, count);
  writeFrames(framesFile, requests);
  const half = Math.floor(requests.length / 2);
  const load = { address: server.ready.grpc, path: `${SERVICE}/CreateNodeEvent`, framesFile, count: half };
  const peak = await generateLoad({ ...load, from: 0, inFlight: 64 });
  let isOver = false;
  const maxPerSecond = eventsPerSecond ?? peak.perSecond / 2;
  const loaded = generateLoad({ ...load, from: half, inFlight: 64, maxPerSecond });
  void loaded.then(() => (isOver = true));
  const took = await sample(client, () => isOver);
  const { perSecond } = await loaded;
  client.close();
  await server.stop();
  const at = (share: number): number => took[Math.floor(took.length * share)] ?? NaN;
  return { perSecond, peakPerSecond: peak.perSecond, samples: took.length, p50Ms: at(0.5), p99Ms: at(0.99) };
};

/** The freshness of a list over an embedded log, while events arrive at half the rate that the server can handle. */
export const freshness = async (disk: Disk, count: number): Promise<Figure> => {
  const { perSecond, peakPerSecond, samples, p50Ms, p99Ms } = await measureFreshness({
    disk,
    count,
    name: 'freshness',
  });
  return {
    name: 'freshness of a list',
    perSecond,
    baseline: { what: 'peak', perSecond: peakPerSecond },
    notes: { samples, freshP50Ms: p50Ms, freshP99Ms: p99Ms },
    target: 0,
  };
};
