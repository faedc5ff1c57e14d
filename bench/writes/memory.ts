import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { grpcClient } from '../../test/support/clients/grpc-client.js';
import { startServerProcess } from '../../test/support/processes/server-process.js';
import type { Bench, BenchOptions, Figure } from '../bench.js';
import { medianSyncMs } from '../disk.js';
import { writeFrames } from '../load/frames.js';
import { generateLoad } from '../load/processes.js';
import { figuresOf } from '../process-figures.js';
import { createRequests, nodeEvents, PROJECT, registerHello } from '../load/workload.js';

const SERVICE = '/flyteidl.service.AdminService';
/** Upper limit of the server's resident memory at the end. */
const MAX_RSS_MB = 600;
const IN_FLIGHT = 64;
const ROUNDS = 20;
/** Rounds averaged at the beginning and at the end; the first round is left out as a warm-up. */
const COMPARED = 5;
/** With the default count of a bench, this makes 500,000 executions. */
const EXECUTIONS_PER_COUNT = 25 / 3;

/** Requests of one method in a round: their rate, and the server's processor time of each. */
type Load = { readonly perSecond: number; readonly cpuUs: number };
/** `syncMs` is the median time of a sync on the disk after the round; a disk that slows down slows the server. */
type Round = { readonly creates: Load; readonly events: Load; readonly syncMs: number };

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

  const load = async (method: string, requests: readonly Uint8Array[]): Promise<Load> => {
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
    return { creates, events, syncMs: medianSyncMs(disk.directory) };
  };

  const rounds: Round[] = [];
  for (let number = 0; number < ROUNDS; number += 1) {
    const done = await round(`round${number}`);
    rounds.push(done);
    const { creates, events } = done;
    process.stderr.write(
      `memory: ${executions * (number + 1)} creates, ${Math.round(figures().rssMb)} MB, ${Math.round(creates.perSecond)} creates/s and ${Math.round(events.perSecond)} events/s\n`,
    );
  }
  const { rssMb, peakRssMb } = figures();
  await server.stop();
  rmSync(data, { recursive: true });

  const first = rounds.slice(1, 1 + COMPARED);
  const last = rounds.slice(-COMPARED);
  const compared = (name: string, kind: 'creates' | 'events'): Figure => {
    const over = (some: readonly Round[], value: (round: Round) => number): number => mean(some.map(value));
    return {
      name,
      perSecond: over(last, (round) => round[kind].perSecond),
      baseline: { what: 'at the beginning', perSecond: over(first, (round) => round[kind].perSecond) },
      notes: {
        rssMb,
        peakRssMb,
        cpuUsFirst: over(first, (round) => round[kind].cpuUs),
        cpuUsLast: over(last, (round) => round[kind].cpuUs),
        syncMsFirst: over(first, ({ syncMs }) => syncMs),
        syncMsLast: over(last, ({ syncMs }) => syncMs),
      },
    };
  };
  if (rssMb > MAX_RSS_MB)
    throw new Error(`RSS ${Math.round(rssMb)} MB after ${executions * ROUNDS} creates; limit ${MAX_RSS_MB} MB`);
  return [
    compared(`creates at the end of ${(executions * ROUNDS).toLocaleString('en')}`, 'creates'),
    compared('events at the end', 'events'),
  ];
};

/**
 * Memory of a server after many new executions and as many events, and its speed compared with that at the beginning.
 */
export const memory: Bench = { name: 'memory', target: 0.95, run: measure };
