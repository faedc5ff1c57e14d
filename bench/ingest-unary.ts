import { join } from 'node:path';
import { AdminService } from '../proto/gen/platformidl/service/admin_pb.js';
import { NodePhaseReportedSchema } from '../proto/gen/platformidl/eventlog/execution_pb.js';
import { NodeExecution_Phase } from '../proto/gen/platformidl/core/execution_pb.js';
import { fromBinary } from '@bufbuild/protobuf';
import { sqliteLogReader } from '../services/store/log/sqlite-log-reader.js';
import { grpcClient, type GrpcClient } from '../test/support/grpc-client.js';
import { startLogServer } from '../test/support/log-server.js';
import { startServerProcess } from '../test/support/server-process.js';
import type { Bench, BenchOptions, Figure } from './bench.js';
import type { LoadResult } from './load.js';
import { generateLoad, measureEcho, writeFrames } from './processes.js';
import { createRequests, DOMAIN, nodeEvents, PROJECT, registerHello } from './workload.js';

const EXECUTIONS = 200;
const PATH = '/flyteidl.service.AdminService/CreateNodeEvent';

const assertAllOk = ({ statuses }: LoadResult): void => {
  const others = Object.keys(statuses).filter((code) => code !== '0');
  if (others.length > 0) throw new Error(`not every event was acknowledged: ${JSON.stringify(statuses)}`);
};

/** Waits until every node is seen as ended, and answers how long that took after the last answer, in ms. */
const awaitViews = async (client: GrpcClient, executions: readonly string[], nodes: number): Promise<number> => {
  const start = performance.now();
  let seen = 0;
  for (const name of executions) {
    for (let ended = -1; ended < 0;) {
      const { nodeExecutions } = await client.call(AdminService.method.listNodeExecutions, {
        workflowExecutionId: { project: PROJECT, domain: DOMAIN, name },
        limit: 10_000,
      });
      const isDone = nodeExecutions.every(({ closure }) => closure?.phase === NodeExecution_Phase.SUCCEEDED);
      if (isDone) ended = nodeExecutions.length;
      else if (performance.now() - start > 60_000) throw new Error(`the view of ${name} does not catch up`);
      else await new Promise((resolve) => setTimeout(resolve, 5));
      if (isDone) seen += ended;
    }
  }
  if (seen !== nodes) throw new Error(`the views have ${seen} ended nodes, not ${nodes}`);
  return performance.now() - start;
};

/** Every acknowledged event is in the log, once. */
const assertInLogOnce = async (directory: string, expected: number): Promise<void> => {
  const log = await sqliteLogReader({ directory });
  const seen = new Set<string>();
  for await (const { events } of log.readLog({ after: 0n, filter: { types: ['NodePhaseReported'] } })) {
    for (const { stream, data } of events) {
      const { node, phase } = fromBinary(NodePhaseReportedSchema, data);
      const key = `${stream}/${node}/${phase}`;
      if (seen.has(key)) throw new Error(`${key} is in the log twice`);
      seen.add(key);
    }
  }
  await log.close();
  if (seen.size !== expected) throw new Error(`the log has ${seen.size} engine events, not ${expected}`);
};

/** Where the events are measured to: `directory` has the file of the log, `args` lead a server there. */
type Place = { readonly name: string; readonly directory?: string; readonly args?: readonly string[] };

const measure = async (
  { disk, count, nodeArgs }: BenchOptions,
  inFlight: number,
  { name, directory, args = [] }: Place = { name: 'ingest-unary' },
): Promise<Figure> => {
  const data = join(disk.directory, `${name}-${inFlight}`);
  const framesFile = join(disk.directory, `${name}-events-${inFlight}`);
  const server = await startServerProcess({ data, nodeArgs, args, env: { FLIGHTLOG_PROJECTS: `["${PROJECT}"]` } });
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
  await assertInLogOnce(directory ?? data, requests.length);
  return {
    name: `${name}, ${inFlight} in flight`,
    floor: { what: 'grpc-js echo', perSecond: echo.perSecond },
    perSecond: load.perSecond,
    notes: { p50Ms: load.p50Ms, p99Ms: load.p99Ms, viewsBehindMs: behindMs, bytes: requests[0]?.length ?? 0 },
  };
};

/** Engine events one by one: durable when answered, and soon in the views. */
export const ingestUnary: Bench = {
  name: 'ingest-unary',
  target: 0.5,
  run: async (options) => [await measure(options, 64), await measure(options, 256)],
};

/** The same over the EventStoreDB protocol to a log server on this machine, beside the embedded log. */
const besideEmbedded = async (options: BenchOptions, inFlight: number): Promise<Figure> => {
  const embedded = await measure(options, inFlight, { name: 'ingest-embedded' });
  const directory = join(options.disk.directory, `log-${inFlight}`);
  const log = await startLogServer(directory);
  try {
    const args = ['--event-store', `esdb://${log.address}?tls=false`];
    const figure = await measure(options, inFlight, { name: 'ingest-eventstore', directory, args });
    return { ...figure, floor: { what: 'the embedded log', perSecond: embedded.perSecond } };
  } finally {
    await log.stop();
  }
};

/** Engine events one by one to a log in an event store. */
export const ingestEventstore: Bench = {
  name: 'ingest-eventstore',
  target: 0,
  run: async (options) => [await besideEmbedded(options, 64), await besideEmbedded(options, 256)],
};
