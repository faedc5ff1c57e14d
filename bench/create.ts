import { join } from 'node:path';
import { grpcClient } from '../test/support/grpc-client.js';
import { startServerProcess } from '../test/support/server-process.js';
import { AdminService } from '../proto/gen/platformidl/service/admin_pb.js';
import type { Bench, BenchOptions, Figure } from './bench.js';
import { generateLoad, measureEcho, writeFrames } from './processes.js';
import { createRequests, DOMAIN, PROJECT, registerHello } from './workload.js';

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

/** CreateExecution, durable when answered. */
export const creates: Bench = {
  name: 'create',
  target: 0.25,
  run: async (options) => {
    const fewer = { ...options, count: Math.ceil(options.count / 4) };
    return [await measure(fewer, 64), await measure(fewer, 256)];
  },
};
