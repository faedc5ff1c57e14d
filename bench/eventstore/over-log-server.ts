import { join } from 'node:path';
import { NodeExecution_Phase } from '../../proto/gen/platformidl/core/execution_pb.js';
import { type GrpcClient, grpcClient } from '../../test/support/clients/grpc-client.js';
import { type LogServer, startLogServer } from '../../test/support/processes/log-server.js';
import { startServerProcess } from '../../test/support/processes/server-process.js';
import { assertAllOk, assertInLogOnce, awaitViews } from '../load/acknowledged.js';
import type { BenchOptions, Figure } from '../bench.js';
import type { LoadResult } from '../load/load.js';
import { writeFrames } from '../load/frames.js';
import { generateLoad } from '../load/processes.js';
import { processorMs } from '../processor-time.js';
import { createRequests, nodeEvent, nodeEvents, PROJECT, registerHello } from '../load/workload.js';

const SERVICE = '/flyteidl.service.AdminService';
const EXECUTIONS = 200;
const IN_FLIGHT = 64;
/** The single caller sends one event for every 30 that the measurement with many in flight sends. */
const ALONE_SHARE = 30;

/** A control plane under load, and the process of its log server. */
type LoadTarget = {
  readonly address: string;
  readonly client: GrpcClient;
  readonly pid: number;
  /** Process ID of the log server; `undefined` with an embedded log. */
  readonly logPid: number | undefined;
  readonly framesFile: string;
};

/** Cost of requests: their rate, and the processor time of each in the control plane and in the log server. */
type Cost = LoadResult & { readonly processorUs: number; readonly logServerUs: number };

/** The cost of one kind of log. */
type Costs = {
  readonly events: Cost;
  readonly creates: LoadResult;
  /** Events per second of a single caller. */
  readonly alonePerSecond: number;
  /** Number of reports of nodes that were sent, including the warm-up. */
  readonly reports: number;
};

const sendAll = async (target: LoadTarget, method: string, requests: readonly Uint8Array[]): Promise<LoadResult> => {
  writeFrames(target.framesFile, requests);
  const { address, framesFile } = target;
  const order = { address, framesFile, path: `${SERVICE}/${method}`, from: 0, inFlight: IN_FLIGHT };
  const result = await generateLoad({ ...order, count: requests.length });
  assertAllOk(result);
  return result;
};

/** Processor time used so far by the control plane (`own`) and by its log server (`log`), in milliseconds. */
const usedMs = ({ pid, logPid }: LoadTarget) => ({
  own: processorMs(pid),
  log: logPid === undefined ? 0 : processorMs(logPid),
});

/**
 * Sends engine events. Their cost includes projecting them into the views, and the reads that wait for that. `sent`
 * counts those of the warm-up too.
 */
const events = async (target: LoadTarget, count: number): Promise<{ readonly cost: Cost; readonly sent: number }> => {
  const names = Array.from({ length: EXECUTIONS }, (_, index) => `bench-${index}`);
  const { requests, nodes } = nodeEvents(names, count + Math.floor(count / 5));
  const warmUp = requests.length - count;
  await sendAll(target, 'CreateNodeEvent', requests.slice(0, warmUp));
  const before = usedMs(target);
  const load = await sendAll(target, 'CreateNodeEvent', requests.slice(warmUp));
  await awaitViews(target.client, names, nodes);
  const after = usedMs(target);
  const us = (ms: number): number => (ms * 1_000) / count;
  const cost = { ...load, processorUs: us(after.own - before.own), logServerUs: us(after.log - before.log) };
  return { cost, sent: requests.length };
};

/**
 * A single caller without other load: sends each engine event after the response to the one before.
 *
 * @returns events per second.
 */
const alone = async ({ client }: LoadTarget, count: number): Promise<number> => {
  const start = performance.now();
  for (let at = 0; at < count; at += 1) {
    const request = nodeEvent('bench-0', `alone-${at}`, NodeExecution_Phase.QUEUED, Date.UTC(2026, 0, 1));
    const { code, message } = await client.raw(`${SERVICE}/CreateNodeEvent`, request);
    if (code !== 'OK') throw new Error(`CreateNodeEvent returned ${code}: ${message}`);
  }
  return (count * 1_000) / (performance.now() - start);
};

const measure = async ({ disk, count, nodeArgs }: BenchOptions, name: string, log?: LogServer): Promise<Costs> => {
  const data = join(disk.directory, name);
  const args = log === undefined ? [] : ['--event-store', `esdb://${log.address}?tls=false`];
  const server = await startServerProcess({ data, nodeArgs, args, env: { FLIGHTLOG_PROJECTS: `["${PROJECT}"]` } });
  const client = grpcClient(server.ready.grpc);
  await registerHello(client);
  for (const request of createRequests('bench', EXECUTIONS)) await client.raw(`${SERVICE}/CreateExecution`, request);
  const target: LoadTarget = {
    address: server.ready.grpc,
    client,
    pid: server.child.pid ?? 0,
    logPid: log?.child().pid,
    framesFile: join(disk.directory, `${name}-frames`),
  };
  const { cost, sent } = await events(target, count);
  const aloneCount = Math.ceil(count / ALONE_SHARE);
  const costs = {
    events: cost,
    creates: await sendAll(target, 'CreateExecution', createRequests('create', Math.ceil(count / 4))),
    alonePerSecond: await alone(target, aloneCount),
    reports: sent + aloneCount,
  };
  client.close();
  await server.stop();
  return costs;
};

const figures = (overServer: Costs, embedded: Costs): readonly Figure[] => [
  {
    name: `eventstore, events over serve --role log, ${IN_FLIGHT} in flight`,
    perSecond: overServer.events.perSecond,
    baseline: { what: 'the embedded log', perSecond: embedded.events.perSecond },
    notes: {
      p99Ms: overServer.events.p99Ms,
      embeddedP99Ms: embedded.events.p99Ms,
      processorUs: overServer.events.processorUs,
      embeddedProcessorUs: embedded.events.processorUs,
      logServerUs: overServer.events.logServerUs,
    },
    target: 0.5,
  },
  {
    name: `eventstore, creates over serve --role log, ${IN_FLIGHT} in flight`,
    perSecond: overServer.creates.perSecond,
    baseline: { what: 'the embedded log', perSecond: embedded.creates.perSecond },
    notes: { p99Ms: overServer.creates.p99Ms, embeddedP99Ms: embedded.creates.p99Ms },
    target: 0,
  },
  {
    name: 'eventstore, one caller, events over serve --role log',
    perSecond: overServer.alonePerSecond,
    baseline: { what: 'the embedded log', perSecond: embedded.alonePerSecond },
    notes: { responseMs: 1_000 / overServer.alonePerSecond },
    target: 0,
  },
];

/**
 * Sends the same requests first to a control plane with an embedded log, then to one whose log is in a log server on
 * this machine.
 *
 * @returns the figures, and the data directory of the log server, which contains everything recorded.
 */
export const overLogServer = async (
  options: BenchOptions,
): Promise<{ readonly figures: readonly Figure[]; readonly log: string }> => {
  const directory = join(options.disk.directory, 'log-server');
  const embedded = await measure(options, 'over-embedded');
  const log = await startLogServer(directory);
  try {
    const overServer = await measure(options, 'over-log-server', log);
    await log.stop();
    await assertInLogOnce(directory, overServer.reports);
    return { figures: figures(overServer, embedded), log: directory };
  } finally {
    await log.stop();
  }
};
