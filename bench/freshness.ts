import { join } from 'node:path';
import { Sort_Direction } from '../proto/gen/platformidl/admin/common_pb.js';
import { AdminService } from '../proto/gen/platformidl/service/admin_pb.js';
import { grpcClient, type GrpcClient } from '../test/support/grpc-client.js';
import { startServerProcess } from '../test/support/server-process.js';
import type { Figure } from './bench.js';
import type { Disk } from './disk.js';
import { generateLoad, writeFrames } from './processes.js';
import { createRequests, DOMAIN, nodeEvents, PROJECT, registerHello } from './workload.js';

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

/**
 * Measures how soon a list shows an acknowledged create while events arrive at half the rate that the server has just
 * been measured to handle.
 */
export const freshness = async (disk: Disk, count: number): Promise<Figure> => {
  const framesFile = join(disk.directory, 'freshness-frames');
  const server = await startServerProcess({
    data: join(disk.directory, 'freshness'),
    env: { FLIGHTLOG_PROJECTS: `["${PROJECT}"]` },
  });
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
  const loaded = generateLoad({ ...load, from: half, inFlight: 64, maxPerSecond: peak.perSecond / 2 });
  void loaded.then(() => (isOver = true));
  const took = await sample(client, () => isOver);
  const { perSecond } = await loaded;
  client.close();
  await server.stop();
  const at = (share: number): number => took[Math.floor(took.length * share)] ?? NaN;
  const notes = { samples: took.length, freshP50Ms: at(0.5), freshP99Ms: at(0.99) };
  return {
    name: 'freshness of a list',
    perSecond,
    baseline: { what: 'peak', perSecond: peak.perSecond },
    notes,
    target: 0,
  };
};
