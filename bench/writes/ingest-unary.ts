import { join } from 'node:path';
import { grpcClient } from '../../test/support/clients/grpc-client.js';
import { startServerProcess } from '../../test/support/processes/server-process.js';
import { assertAllOk, assertInLogOnce, awaitViews } from '../load/acknowledged.js';
import type { Bench, BenchOptions, Figure } from '../bench.js';
import { writeFrames } from '../load/frames.js';
import { generateLoad, measureEcho } from '../load/processes.js';
import { createRequests, nodeEvents, PROJECT, registerHello } from '../load/workload.js';

const EXECUTIONS = 200;
const PATH = '/flyteidl.service.AdminService/CreateNodeEvent';

const measure = async ({ disk, count, nodeArgs }: BenchOptions, inFlight: number): Promise<Figure> => {
  const data = join(disk.directory, `ingest-unary-${inFlight}`);
  const framesFile = join(disk.directory, `ingest-unary-events-${inFlight}`);
  const server = await startServerProcess({ data, nodeArgs, env: { FLIGHTLOG_PROJECTS: `["${PROJECT}"]` } });
  const client = grpcClient(server.ready.grpc);
  await registerHello(client);
  const names = Array.from({ length: EXECUTIONS }, (_, index) => `bench-${index}`);
  for (const request of createRequests('bench', EXECUTIONS)) {
    await client.raw('/flyteidl.service.AdminService/CreateExecution', request);
  }
  const warmUp = Math.floor(count / 5);
  const { requests, nodes } = nodeEvents(names, count + warmUp);
  writeFrames(framesFile, requests);
  const order = { framesFile, inFlight };
  const echo = await measureEcho({ ...order, from: 0, count: requests.length });
  assertAllOk(await generateLoad({ ...order, from: 0, count: warmUp, address: server.ready.grpc, path: PATH }));
  const rest = { from: warmUp, count: requests.length - warmUp };
  const load = await generateLoad({ ...order, ...rest, address: server.ready.grpc, path: PATH });
  assertAllOk(load);
  const behindMs = await awaitViews(client, names, nodes);
  client.close();
  await server.stop();
  await assertInLogOnce(data, requests.length);
  return {
    name: `ingest-unary, ${inFlight} in flight`,
    baseline: { what: 'grpc-js echo', perSecond: echo.perSecond },
    perSecond: load.perSecond,
    notes: { p50Ms: load.p50Ms, p99Ms: load.p99Ms, viewsBehindMs: behindMs, bytes: requests[0]?.length ?? 0 },
  };
};

/** Engine events in single calls: durable when the response arrives, and soon visible in the views. */
export const ingestUnary: Bench = {
  name: 'ingest-unary',
  target: 0.5,
  run: async (options) => [await measure(options, 64), await measure(options, 256)],
};
