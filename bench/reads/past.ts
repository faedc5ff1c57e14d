import { join } from 'node:path';
import { streamName } from '../../services/kernel/stream.js';
import { metadataOf, type RecordedEvent } from '../../services/kernel/event.js';
import { sqliteLogReader } from '../../services/store/log/sqlite-log-reader.js';
import { grpcClient } from '../../test/support/clients/grpc-client.js';
import { type ServerProcess, startServerProcess } from '../../test/support/processes/server-process.js';
import type { Bench, BenchOptions, Figure } from '../bench.js';
import { REPORT_PATH, reportOf } from '../writes/ingest-stream.js';
import { figuresOf } from '../process-figures.js';
import { processorMs } from '../processor-time.js';
import { writeFrames } from '../load/frames.js';
import { generateStreams } from '../load/processes.js';
import { createRequest, DOMAIN, nodeEvents, PROJECT, registerHello } from '../load/workload.js';

/** The name of the execution, and its path. */
const NAME = 'long';
const SCOPED = `${PROJECT}/${DOMAIN}/${NAME}`;

/** Makes the path of a read as of `at`; a difference compares that moment with `other`. */
type PathOf = (at: Moment, other: Moment) => string;

/** Reads of the past, by name: their paths. */
const READS: Readonly<Record<string, PathOf>> = {
  'the execution': ({ time }) => `/api/v1/executions/${SCOPED}?asOf=${time}`,
  'one node': ({ time }) => `/api/v1/node_executions/${SCOPED}/n1?asOf=${time}`,
  'the first page of all nodes': ({ position }) => `/api/v1/node_executions/${SCOPED}?limit=100&asOf=${position}`,
  'failed nodes': ({ position }) =>
    `/api/v1/node_executions/${SCOPED}?limit=100&filters=eq(phase,FAILED)&asOf=${position}`,
  'the difference of two moments': (later, earlier) =>
    `/api/v1/history/diff/${SCOPED}?asOf=${earlier.position}&otherAsOf=${later.position}&paths=/closure/phase`,
};

/** Number of times that each read is made, each at another moment: a prefix that was folded lately is cached. */
const TIMES = 3;

/** A moment of the execution: the position of one of its events, and the time when that was recorded (RFC 3339). */
type Moment = { readonly position: bigint; readonly time: string };

/** A server with one long execution, a moment for each of its events, and the time to read its stream directly. */
type Long = { readonly server: ServerProcess; readonly moments: readonly Moment[]; readonly readMs: number };

/** Starts a server with one execution of many events. */
const prepare = async ({ disk, count, nodeArgs }: BenchOptions): Promise<Long> => {
  const data = join(disk.directory, 'past');
  const framesFile = join(disk.directory, 'past-frames');
  const server = await startServerProcess({ data, nodeArgs, env: { FLIGHTLOG_PROJECTS: `["${PROJECT}"]` } });
  const client = grpcClient(server.ready.grpc);
  await registerHello(client);
  await client.raw('/flyteidl.service.AdminService/CreateExecution', createRequest(NAME));
  client.close();
  const { requests } = nodeEvents([NAME], count);
  writeFrames(
    framesFile,
    requests.map((request, index) => reportOf(request, index + 1)),
  );
  const shares = [{ from: 0, count: requests.length }];
  const { failures } = await generateStreams({
    ...{ address: server.ready.grpc, path: REPORT_PATH },
    ...{ framesFile, shares, inFlight: 512 },
  });
  if (failures > 0) throw new Error(`${failures} events were not recorded`);
  const log = await sqliteLogReader({ directory: data });
  const events: RecordedEvent[] = [];
  const started = performance.now();
  for await (const page of log.readStream(streamName('execution', [PROJECT, DOMAIN, NAME]))) events.push(...page);
  const readMs = performance.now() - started;
  await log.close();
  const momentOf = (event: RecordedEvent): Moment => {
    const time = new Date(metadataOf(event).recordedAtMs).toISOString();
    return { position: event.position, time };
  };
  return { server, moments: events.map(momentOf), readMs };
};

/** Makes a read `TIMES` times; returns the milliseconds of each, ascending, and the server's processor time for one. */
const timed = async ({ server, moments }: Long, pathOf: PathOf) => {
  const took: number[] = [];
  const pid = server.child.pid ?? 0;
  const before = processorMs(pid);
  for (let round = 1; round <= TIMES; round += 1) {
    // As of 2, 4 and 6 % of the events before the end: with the default count, no two are in the same millisecond.
    const [at, other] = [moments.at(-Math.ceil((moments.length * round) / 50)), moments.at(-moments.length / 2)];
    if (!at || !other) throw new Error('too few events');
    const started = performance.now();
    const response = await fetch(`${server.ready.http}${pathOf(at, other)}`);
    await response.arrayBuffer();
    if (!response.ok) throw new Error(`${pathOf(at, other)}: ${response.status}`);
    took.push(performance.now() - started);
  }
  return { took: took.sort((a, b) => a - b), processorMsEach: (processorMs(pid) - before) / TIMES };
};

const figureOf = async (long: Long, name: string): Promise<Figure> => {
  const pathOf = READS[name];
  if (!pathOf) throw new Error(name);
  const { took, processorMsEach } = await timed(long, pathOf);
  const middle = took[Math.floor(TIMES / 2)] ?? 0;
  const { length } = long.moments;
  return {
    name: `past: ${name}, of ${length} events`,
    perSecond: (length * 1_000) / middle,
    baseline: { what: 'the stream read', perSecond: (length * 1_000) / long.readMs },
    notes: {
      ms: middle,
      slowestMs: took.at(-1) ?? 0,
      processorMs: processorMsEach,
      rssMb: figuresOf(long.server.child.pid ?? 0).rssMb,
    },
  };
};

/**
 * Reads of an execution as of a moment. Its events are folded for each, but only once for the earlier moment of a
 * difference.
 */
export const past: Bench = {
  name: 'past',
  target: 0,
  run: async (options) => {
    const long = await prepare(options);
    const figures: Figure[] = [];
    for (const name of Object.keys(READS)) figures.push(await figureOf(long, name));
    await long.server.stop();
    return figures;
  },
};
