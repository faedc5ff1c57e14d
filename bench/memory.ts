import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { grpcClient } from '../test/support/grpc-client.js';
import { startServerProcess } from '../test/support/server-process.js';
import type { Bench, BenchOptions, Figure } from './bench.js';
import { generateLoad, writeFrames } from './processes.js';
import { figuresOf } from './process-figures.js';
import { createRequests, nodeEvents, PROJECT, registerHello } from './workload.js';

const SERVICE = '/flyteidl.service.AdminService';
const MAX_RSS_MB = 600;
const IN_FLIGHT = 64;
const ROUNDS = 20;
/** Rounds averaged at the beginning and at the end; the first round is left out as a warm-up. */
const COMPARED = 5;
/** With the default count of a bench, this makes 500,000 executions. */
const EXECUTIONS_PER_COUNT = 25 / 3;

type Round = { readonly createsPerSecond: number; readonly eventsPerSecond: number; readonly createCpuUs: number };

const mean = (values: readonly number[]): number => values.reduce((sum, each) => sum + each, 0) / values.length;

const measure = async ({ disk, count, nodeArgs }: BenchOptions): Promise<readonly Figure[]> => {
  const executions = Math.ceil((count * EXECUTIONS_PER_COUNT) / ROUNDS);
  const data = join(disk.directory, 'memory');
  const framesFile = join(disk.directory, 'memory-frames');
  const server = await startServerProcess({ data, nodeArgs, env: { FLIGHTLOG_PROJECTS: `["${PROJECT}"]` } });
  const figures = (): ReturnType<typeof figuresOf> => figuresOf(server.child.pid ?? 0);
  const client = grpcClient(server.ready.grpc);
  await registerHello(client);
  client.close();

  const load = async (
    method: string,
    requests: readonly Uint8Array[],
  ): Promise<{ perSecond: number; cpuUs: number }> => {
    writeFrames(framesFile, requests);
    const before = figures();
    const order = { address: server.ready.grpc, path: `${SERVICE}/${method}`, framesFile, inFlight: IN_FLIGHT };
    const { perSecond, statuses } = await generateLoad({ ...order, from: 0, count: requests.length });
    if (statuses['0'] !== requests.length) throw new Error(`${method} returned ${JSON.stringify(statuses)}`);
    return { perSecond, cpuUs: ((figures().cpuSeconds - before.cpuSeconds) * 1e6) / requests.length };
  };

  const round = async (prefix: string): Promise<Round> => {
    const creates = await load('CreateExecution', createRequests(prefix, executions));
    const names = Array.from({ length: executions }, (_, index) => `${prefix}-${index}`);
    const events = await load('CreateNodeEvent', nodeEvents(names, executions).requests);
    return { createsPerSecond: creates.perSecond, eventsPerSecond: events.perSecond, createCpuUs: creates.cpuUs };
  };

  const rounds: Round[] = [];
  for (let number = 0; number < ROUNDS; number += 1) {
    rounds.push(await round(`round${number}`));
    process.stderr.write(`memory: ${executions * (number + 1)} creates, ${Math.round(figures().rssMb)} MB\n`);
  }
  const { rssMb, peakRssMb } = figures();
  await server.stop();
  rmSync(data, { recursive: true });

  const first = rounds.slice(1, 1 + COMPARED);
  const last = rounds.slice(-COMPARED);
  const creates = (some: readonly Round[]): number => mean(some.map(({ createsPerSecond }) => createsPerSecond));
  const events = (some: readonly Round[]): number => mean(some.map(({ eventsPerSecond }) => eventsPerSecond));
  if (rssMb > MAX_RSS_MB)
    throw new Error(`RSS ${Math.round(rssMb)} MB after ${executions * ROUNDS} creates; limit ${MAX_RSS_MB} MB`);
  return [
    {
      name: `creates at the end of ${(executions * ROUNDS).toLocaleString('en')}`,
      perSecond: creates(last),
      baseline: { what: 'at the beginning', perSecond: creates(first) },
      notes: {
        rssMb,
        peakRssMb,
        cpuUsFirst: mean(first.map(({ createCpuUs }) => createCpuUs)),
        cpuUsLast: mean(last.map(({ createCpuUs }) => createCpuUs)),
      },
    },
    {
      name: 'events at the end',
      perSecond: events(last),
      baseline: { what: 'at the beginning', perSecond: events(first) },
      notes: { rssMb },
    },
  ];
};

/**
 * Memory of a server after many new executions, each with an event, and its speed compared with that at the beginning.
 */
export const memory: Bench = { name: 'memory', target: 0.95, run: measure };
