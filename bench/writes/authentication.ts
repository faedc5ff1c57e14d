import { join } from 'node:path';
import { startAuthenticatedServer } from '../../test/support/processes/authenticated-server.js';
import { type GrpcClient, grpcClient } from '../../test/support/clients/grpc-client.js';
import { type ServerProcess, startServerProcess } from '../../test/support/processes/server-process.js';
import { assertAllOk } from '../load/acknowledged.js';
import type { Bench, BenchOptions, Figure } from '../bench.js';
import { writeFrames } from '../load/frames.js';
import { generateLoad } from '../load/processes.js';
import { median } from '../percentile.js';
import { processorMs } from '../processor-time.js';
import { createRequests, nodeEvents, PROJECT, registerHello } from '../load/workload.js';

const EXECUTIONS = 50;
const IN_FLIGHT = 64;
/** Measured rounds, after one that warms up. Each sends the same events to both servers. */
const ROUNDS = 20;
const PATH = '/flyteidl.service.AdminService/CreateNodeEvent';
const env = { FLIGHTLOG_PROJECTS: `["${PROJECT}"]` };

type Headers = Readonly<Record<string, string>>;

const withHeaders = (client: GrpcClient, headers: Headers): GrpcClient => ({
  ...client,
  raw: (path, request) => client.raw(path, request, headers),
});

const prepare = async ({ ready }: ServerProcess, headers: Headers): Promise<void> => {
  const client = grpcClient(ready.grpc);
  const caller = withHeaders(client, headers);
  await registerHello(caller);
  for (const request of createRequests('bench', EXECUTIONS))
    await caller.raw('/flyteidl.service.AdminService/CreateExecution', request);
  client.close();
};

/** Sends the events of one round to a server; returns the server's processor time for each, in milliseconds. */
const roundOn = async (
  { child, ready }: ServerProcess,
  headers: Headers,
  order: { readonly framesFile: string; readonly from: number; readonly count: number },
): Promise<number> => {
  const before = processorMs(child.pid ?? 0);
  assertAllOk(await generateLoad({ ...order, inFlight: IN_FLIGHT, address: ready.grpc, path: PATH, headers }));
  return (processorMs(child.pid ?? 0) - before) / order.count;
};

const measure = async ({ disk, count, nodeArgs }: BenchOptions): Promise<readonly Figure[]> => {
  const openServer = await startServerProcess({ data: join(disk.directory, 'authentication'), nodeArgs, env });
  const authenticatedServer = await startAuthenticatedServer(
    [{ claim: 'sub', value: 'engine', role: 'administrator' }],
    env,
  );
  const token = await authenticatedServer.as('engine');
  await prepare(openServer, {});
  await prepare(authenticatedServer, token);
  const perRound = Math.ceil(count / ROUNDS);
  const framesFile = join(disk.directory, 'authentication-events');
  const names = Array.from({ length: EXECUTIONS }, (_, index) => `bench-${index}`);
  writeFrames(framesFile, nodeEvents(names, perRound * (ROUNDS + 1)).requests);
  const took: { readonly without: number; readonly with: number }[] = [];
  for (let round = 0; round <= ROUNDS; round += 1) {
    const order = { framesFile, from: round * perRound, count: perRound };
    took.push({
      without: await roundOn(openServer, {}, order),
      with: await roundOn(authenticatedServer, token, order),
    });
  }
  await openServer.stop();
  await authenticatedServer.close();
  const measured = took.slice(1); // the first round warms up
  const [without, withToken] = [median(measured.map((one) => one.without)), median(measured.map((one) => one.with))];
  return [
    {
      name: 'events with a token, by processor time',
      perSecond: 1_000 / withToken,
      baseline: { what: 'without authentication', perSecond: 1_000 / without },
      notes: { withUs: withToken * 1_000, withoutUs: without * 1_000 },
    },
  ];
};

/** The cost of authentication for an engine event: rounds on a server with it and one without, in turn. */
export const authentication: Bench = { name: 'authentication', target: 0.95, run: measure };
