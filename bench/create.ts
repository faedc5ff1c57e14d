import { join } from 'node:path';
import { grpcClient } from '../test/support/grpc-client.js';
import { startServerProcess } from '../test/support/server-process.js';
import { NodeExecution_Phase } from '../proto/gen/platformidl/core/execution_pb.js';
import { AdminService } from '../proto/gen/platformidl/service/admin_pb.js';
import type { Bench, BenchOptions, Figure } from './bench.js';
import { generateLoad, measureEcho, writeFrames } from './processes.js';
import { createRequest, createRequests, DOMAIN, nodeEvent, PROJECT, registerHello } from './workload.js';

const PATH = '/flyteidl.service.AdminService/CreateExecution';

const measure = async ({ disk, count, nodeArgs }: BenchOptions, inFlight: number): Promise<Figure> => {
  const data = join(disk.directory, `create-${inFlight}`);
  const framesFile = join(disk.directory, `creates-${inFlight}`);
  const server = await startServerProcess({ data, nodeArgs, env: { FLIGHTLOG_PROJECTS: `["${PROJECT}"]` } });
  const client = grpcClient(server.ready.grpc);
  await registerHello(client);
  const warmUp = Math.floor(count / 5);
  const requests = createRequests('bench', count + warmUp);
  writeFrames(framesFile, requests);
  const echo = await measureEcho({ framesFile, inFlight, from: 0, count: requests.length });
  const target = { framesFile, inFlight, address: server.ready.grpc, path: PATH };
  await generateLoad({ ...target, from: 0, count: warmUp });
  const load = await generateLoad({ ...target, from: warmUp, count });
  if (load.statuses['0'] !== count)
    throw new Error(`not every create was answered OK: ${JSON.stringify(load.statuses)}`);
  const last = { project: PROJECT, domain: DOMAIN, name: `bench-${count + warmUp - 1}` };
  await client.call(AdminService.method.getExecution, { id: last });
  client.close();
  await server.stop();
  return {
    name: `create, ${inFlight} in flight`,
    floor: { what: 'grpc-js echo', perSecond: echo.perSecond },
    perSecond: load.perSecond,
    notes: { p50Ms: load.p50Ms, p99Ms: load.p99Ms, bytes: requests[0]?.length ?? 0 },
  };
};

const median = (took: readonly number[]): number => took.toSorted((a, b) => a - b)[took.length >> 1] ?? 0;

/** One caller and nothing else: how long a create takes beside an engine event, by turns. Both are one commit. */
const measureAlone = async ({ disk, count, nodeArgs }: BenchOptions): Promise<Figure> => {
  const data = join(disk.directory, 'create-alone');
  const server = await startServerProcess({ data, nodeArgs, env: { FLIGHTLOG_PROJECTS: `["${PROJECT}"]` } });
  const client = grpcClient(server.ready.grpc);
  await registerHello(client);
  const took = async (method: string, request: Uint8Array): Promise<number> => {
    const start = performance.now();
    const { code, message } = await client.raw(`/flyteidl.service.AdminService/${method}`, request);
    if (code !== 'OK') throw new Error(`${method} was answered ${code}: ${message}`);
    return performance.now() - start;
  };
  await took('CreateExecution', createRequest('alone'));
  const times: { readonly create: number; readonly event: number }[] = [];
  for (let at = 0; at < count; at += 1)
    times.push({
      create: await took('CreateExecution', createRequest(`alone-${at}`)),
      event: await took(
        'CreateNodeEvent',
        nodeEvent('alone', `n${at}`, NodeExecution_Phase.QUEUED, Date.UTC(2026, 0, 1)),
      ),
    });
  client.close();
  await server.stop();
  const warm = times.slice(Math.floor(count / 5));
  const [createMs, eventMs] = [median(warm.map(({ create }) => create)), median(warm.map(({ event }) => event))];
  return {
    name: 'create, one caller, by the median time',
    perSecond: 1_000 / createMs,
    floor: { what: 'an engine event', perSecond: 1_000 / eventMs },
    notes: { createMs, eventMs },
    target: 0.67, // 1 / 1.5
  };
};

/** CreateExecution, durable when answered. */
export const creates: Bench = {
  name: 'create',
  target: 0.25,
  run: async (options) => {
    const fewer = { ...options, count: Math.ceil(options.count / 4) };
    const alone = await measureAlone({ ...options, count: Math.ceil(options.count / 60) });
    return [await measure(fewer, 64), await measure(fewer, 256), alone];
  },
};
