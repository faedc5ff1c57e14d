import { join } from 'node:path';
import { grpcClient } from '../../test/support/clients/grpc-client.js';
import { startLogServer } from '../../test/support/processes/log-server.js';
import { startServerProcess } from '../../test/support/processes/server-process.js';
import { NodeExecution_Phase } from '../../proto/gen/platformidl/core/execution_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import type { Bench, BenchOptions, Figure } from '../bench.js';
import { assertAllOk } from '../load/acknowledged.js';
import { median } from '../percentile.js';
import { writeFrames } from '../load/frames.js';
import { generateLoad, measureEcho } from '../load/processes.js';
import { createRequest, createRequests, DOMAIN, nodeEvent, PROJECT, registerHello } from '../load/workload.js';

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
  assertAllOk(load);
  const last = { project: PROJECT, domain: DOMAIN, name: `bench-${count + warmUp - 1}` };
  await client.call(AdminService.method.getExecution, { id: last });
  client.close();
  await server.stop();
  return {
    name: `create, ${inFlight} in flight`,
    baseline: { what: 'grpc-js echo', perSecond: echo.perSecond },
    perSecond: load.perSecond,
    notes: { p50Ms: load.p50Ms, p99Ms: load.p99Ms, bytes: requests[0]?.length ?? 0 },
  };
};

/** A server for measurements with one call at a time: the time of a call includes no wait for other calls. */
type Alone = {
  readonly name: string;
  /** Sends a request of AdminService to a method, by its name, and returns the milliseconds until its response. */
  readonly took: (method: string, request: Uint8Array) => Promise<number>;
  readonly stop: () => Promise<void>;
};

const startAlone = async (
  name: string,
  { disk, nodeArgs }: BenchOptions,
  args: readonly string[] = [],
): Promise<Alone> => {
  const data = join(disk.directory, name.replaceAll(/\W+/gu, '-'));
  const server = await startServerProcess({ data, nodeArgs, args, env: { FLIGHTLOG_PROJECTS: `["${PROJECT}"]` } });
  const client = grpcClient(server.ready.grpc);
  await registerHello(client);
  return {
    name,
    took: async (method, request) => {
      const start = performance.now();
      const { code, message } = await client.raw(`/flyteidl.service.AdminService/${method}`, request);
      if (code !== 'OK') throw new Error(`${method} returned ${code}: ${message}`);
      return performance.now() - start;
    },
    stop: async () => {
      client.close();
      await server.stop();
    },
  };
};

/** The times of a create and of an engine event, in milliseconds. */
type Pair = { readonly create: number; readonly event: number };

/** Times a create and an engine event, in turn. Each is one commit of the log, which is synced before the answer. */
const createBesideEvent = async ({ took }: Alone, at: string): Promise<Pair> => ({
  create: await took('CreateExecution', createRequest(`alone-${at}`)),
  event: await took('CreateNodeEvent', nodeEvent('alone', `n${at}`, NodeExecution_Phase.QUEUED, Date.UTC(2026, 0, 1))),
});

/** The warm-up: each round sends `inFlight` pairs at the same time. */
const WARM_UP = { rounds: 100, inFlight: 16 };

/**
 * Creates the execution that the events are about, and warms the server up: after so many rounds, V8 has compiled the
 * code of creates and events, as on a server in use.
 */
const warmUp = async (server: Alone): Promise<void> => {
  await server.took('CreateExecution', createRequest('alone'));
  for (let round = 0; round < WARM_UP.rounds; round += 1)
    await Promise.all(
      Array.from({ length: WARM_UP.inFlight }, (_, at) => createBesideEvent(server, `warm-${round}-${at}`)),
    );
};

const aloneFigure = (name: string, times: readonly Pair[]): Figure => {
  const [createMs, eventMs] = [median(times.map(({ create }) => create)), median(times.map(({ event }) => event))];
  return {
    name: `${name}, by the median time`,
    perSecond: 1_000 / createMs,
    baseline: { what: 'an engine event', perSecond: 1_000 / eventMs },
    notes: { createMs, eventMs },
    target: 0.67, // a create may take 1.5 times as long as an event
  };
};

/**
 * The minimum number of pairs. With 34, as in a small run, the ratios of two measurements in one run on a busy machine
 * differed by a factor of three.
 */
const LEAST_PAIRS = 500;

/** Measures pairs on a server that nothing else uses, each call after one of the other kind; then stops the server. */
const measurePairs = async (server: Alone, count: number): Promise<Figure> => {
  await warmUp(server);
  const times: Pair[] = [];
  for (let at = 0; at < count; at += 1) times.push(await createBesideEvent(server, at.toString()));
  await server.stop();
  return aloneFigure(server.name, times);
};

/**
 * A single caller without other load: on a server with an embedded log, and then on one with its log in an event store.
 * The first is stopped before the second starts: if the calls went to both in turn, each would find the processor's
 * caches filled by the other server.
 */
const measureAlone = async (options: BenchOptions): Promise<readonly Figure[]> => {
  const embedded = await measurePairs(await startAlone('create, one caller', options), options.count);
  const log = await startLogServer(join(options.disk.directory, 'create-log'));
  const args = ['--event-store', `esdb://${log.address}?tls=false`];
  const overLog = await startAlone('create, one caller, event store', options, args);
  const overLogFigure = await measurePairs(overLog, options.count);
  await log.stop();
  return [embedded, overLogFigure];
};

/** CreateExecution, durable when its response arrives. */
export const creates: Bench = {
  name: 'create',
  target: 0.25,
  run: async (options) => {
    // Fewer than of engine events, because a create takes longer.
    const fewer = { ...options, count: Math.ceil(options.count / 4) };
    const alone = await measureAlone({ ...options, count: Math.max(LEAST_PAIRS, Math.ceil(options.count / 60)) });
    return [await measure(fewer, 64), await measure(fewer, 256), ...alone];
  },
};
