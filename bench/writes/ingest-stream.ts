import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { grpcClient } from '../../test/support/clients/grpc-client.js';
import { startServerProcess } from '../../test/support/processes/server-process.js';
import { assertInLogOnce, awaitViews } from '../load/acknowledged.js';
import type { Bench, BenchOptions, Figure } from '../bench.js';
import { processorMs } from '../processor-time.js';
import { writeFrames } from '../load/frames.js';
import { generateStreams, measureEchoStreams, measureRecorder } from '../load/processes.js';
import type { Share, StreamResult } from '../load/stream-load.js';
import { createRequests, nodeEvents, PROJECT, registerHello } from '../load/workload.js';

/** A multiple of each number of streams that is measured, so that every stream has equally many executions. */
const EXECUTIONS = 192;
const IN_FLIGHT = 512;
/** The path of the RPC that takes reports in a stream. */
export const REPORT_PATH = '/platformidl.eventlog.EngineService/Report';
/** Numbers of fields of `ReportRequest`. */
const SEQUENCE = 1;
const NODE_EVENT = 3;

/** Encodes a `ReportRequest` of an encoded node event. */
export const reportOf = (event: Uint8Array, sequence: number): Uint8Array =>
  new BinaryWriter()
    .tag(SEQUENCE, WireType.Varint)
    .uint64(sequence)
    .tag(NODE_EVENT, WireType.LengthDelimited)
    .bytes(event)
    .finish();

/** Encodes the events of all streams as one list, stream by stream. No two streams report on the same execution. */
const eventsOf = (names: readonly string[], streams: number, count: number) => {
  const each = names.length / streams;
  const shares = Array.from({ length: streams }, (_, index) =>
    nodeEvents(names.slice(index * each, (index + 1) * each), Math.ceil(count / streams)),
  );
  const events = shares.flatMap(({ requests }) => requests);
  return {
    requests: events.map((event, index) => reportOf(event, index + 1)),
    perStream: shares[0]?.requests.length ?? 0,
    nodes: shares.reduce((sum, { nodes }) => sum + nodes, 0),
  };
};

const assertNoFailures = ({ failures }: StreamResult): void => {
  if (failures > 0) throw new Error(`${failures} events were not recorded`);
};

const measure = async ({ disk, count, nodeArgs }: BenchOptions, streams: number): Promise<Figure> => {
  const data = join(disk.directory, `ingest-stream-${streams}`);
  const framesFile = join(disk.directory, `ingest-stream-events-${streams}`);
  const server = await startServerProcess({ data, nodeArgs, env: { FLIGHTLOG_PROJECTS: `["${PROJECT}"]` } });
  const client = grpcClient(server.ready.grpc);
  await registerHello(client);
  const names = Array.from({ length: EXECUTIONS }, (_, index) => `bench-${index}`);
  for (const request of createRequests('bench', EXECUTIONS))
    await client.raw('/flyteidl.service.AdminService/CreateExecution', request);
  // A sixth of these events only warms the server up, so that `count` of them are measured.
  const { requests, perStream, nodes } = eventsOf(names, streams, Math.ceil(count * 1.2));
  writeFrames(framesFile, requests);
  const warmUp = Math.floor(perStream / 6);
  const sharesOf = (from: number, to: number): Share[] =>
    Array.from({ length: streams }, (_, index) => ({ from: index * perStream + from, count: to - from }));
  const order = { framesFile, inFlight: IN_FLIGHT };
  const echo = await measureEchoStreams({ ...order, shares: sharesOf(0, perStream) });
  const bare = join(disk.directory, `ingest-stream-bare-${streams}`);
  mkdirSync(bare);
  const recorder = await measureRecorder(bare, { ...order, shares: sharesOf(0, perStream) });
  const target = { ...order, address: server.ready.grpc, path: REPORT_PATH };
  assertNoFailures(await generateStreams({ ...target, shares: sharesOf(0, warmUp) }));
  const pid = server.child.pid ?? 0;
  const before = processorMs(pid);
  const load = await generateStreams({ ...target, shares: sharesOf(warmUp, perStream) });
  assertNoFailures(load);
  const processorUs = ((processorMs(pid) - before) * 1_000) / ((perStream - warmUp) * streams);
  const behindMs = await awaitViews(client, names, nodes);
  client.close();
  await server.stop();
  await assertInLogOnce(data, requests.length);
  return {
    name: `ingest-stream, ${streams} streams, ${IN_FLIGHT} in flight`,
    baseline: { what: 'grpc-js echo in streams', perSecond: echo.perSecond },
    perSecond: load.perSecond,
    notes: {
      p50Ms: load.p50Ms,
      p99Ms: load.p99Ms,
      processorUs,
      recorderPerSecond: recorder.perSecond,
      ratioToRecorder: load.perSecond / recorder.perSecond,
      viewsBehindMs: behindMs,
      bytes: requests[0]?.length ?? 0,
    },
  };
};

/** Engine events in streams: durable when the response arrives, and soon visible in the views. */
export const ingestStream: Bench = {
  name: 'ingest-stream',
  target: 0.5,
  run: async (options) => [await measure(options, 1), await measure(options, 8), await measure(options, 64)],
};
