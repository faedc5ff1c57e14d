import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fromBinary } from '@bufbuild/protobuf';
import { NodeExecutionEventSchema } from '../proto/gen/platformidl/event/event_pb.js';
import { executionCodec } from '../services/execution/events.js';
import { metadataOf, type RecordedEvent } from '../services/kernel/event.js';
import { sqliteLogReader } from '../services/store/sqlite-log-reader.js';
import { grpcClient } from '../test/support/grpc-client.js';
import { startServerProcess } from '../test/support/server-process.js';
import type { Bench, BenchOptions, Figure } from './bench.js';
import { generateLoad, writeFrames } from './processes.js';
import { createRequests, nodeEvents, PROJECT, registerHello } from './workload.js';

const BINARY = fileURLToPath(new URL('../../flightlog.js', import.meta.url));
const EXECUTIONS = 1_000;
const EVENT = '/flyteidl.service.AdminService/CreateNodeEvent';

type Summary = {
  readonly events: number;
  readonly buildSeconds: number;
  readonly seconds: number;
  readonly maxRssMb: number;
};

/** Runs the command as a user would. */
const rebuildOnce = async (data: string, nodeArgs: readonly string[]): Promise<Summary> => {
  const child = spawn(process.execPath, [...nodeArgs, BINARY, 'views', 'rebuild', '--data', data], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let out = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
  const [code] = (await once(child, 'exit')) as [number];
  if (code !== 0) throw new Error(`views rebuild ended with ${code}`);
  return JSON.parse(out) as Summary;
};

const decode = (event: RecordedEvent): void => {
  const decoded = executionCodec.decode(event.type, event.data, metadataOf(event).schema);
  if (decoded.type !== 'EngineReported') return;
  const [message] = executionCodec.contents(decoded);
  if (message?.content.case === 'inline') fromBinary(NodeExecutionEventSchema, message.content.value);
};

/** The floor: every event read and decoded, the engine's message too, with the decoder that the projections use. */
const readAndDecode = async (directory: string): Promise<number> => {
  const log = await sqliteLogReader({ directory });
  const started = performance.now();
  let count = 0;
  for await (const { events } of log.readLog({ after: 0n, filter: { categories: ['execution'] } })) {
    for (const event of events) decode(event);
    count += events.length;
  }
  await log.close();
  return (count * 1_000) / (performance.now() - started);
};

const measure = async ({ disk, count, nodeArgs }: BenchOptions): Promise<readonly Figure[]> => {
  const data = join(disk.directory, 'rebuild');
  const framesFile = join(disk.directory, 'rebuild-frames');
  const server = await startServerProcess({ data, env: { FLIGHTLOG_PROJECTS: `["${PROJECT}"]` } });
  const client = grpcClient(server.ready.grpc);
  await registerHello(client);
  for (const request of createRequests('bench', EXECUTIONS)) {
    await client.raw('/flyteidl.service.AdminService/CreateExecution', request);
  }
  client.close();
  const names = Array.from({ length: EXECUTIONS }, (_, index) => `bench-${index}`);
  const { requests } = nodeEvents(names, count * 3);
  writeFrames(framesFile, requests);
  const target = { address: server.ready.grpc, path: EVENT, framesFile, from: 0, inFlight: 256 };
  await generateLoad({ ...target, count: requests.length });
  await server.stop();
  const floor = await readAndDecode(data);
  const { events, buildSeconds, seconds, maxRssMb } = await rebuildOnce(data, nodeArgs);
  return [
    {
      name: `rebuild of every view, ${events.toLocaleString('en')} events`,
      floor: { what: 'read + decode', perSecond: floor },
      perSecond: events / buildSeconds,
      notes: { buildSeconds, verifySeconds: seconds - buildSeconds, maxRssMb },
    },
  ];
};

/** The command `views rebuild`; its verification is counted beside it. */
export const rebuild: Bench = { name: 'rebuild', target: 0.4, run: measure };
