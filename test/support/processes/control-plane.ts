import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import type { RecordedEvent } from '../../../services/kernel/event.js';
import type { EventLog } from '../../../services/kernel/ports/event-store.js';
import { type EngineOptions, type EngineSummary } from '../../../engine/options.js';
import { runEngine } from '../../../engine/engine.js';
import type { FixtureFolder } from '../requests/fixtures.js';
import { kafkaBrokers } from '../servers/kafka-server.js';
import { byTurns, type Client } from '../clients/alternating-clients.js';
import { areApart, type Processes, reconciled, startApart } from './processes-apart.js';
import { type Ready, type ServerProcess, startServerProcess } from './server-process.js';
import { openTestLog } from './test-log.js';
import { overGrpc, overRest, type Transport } from '../clients/transports.js';

/** The two transports that clients use. */
export type Transports = { readonly grpc: Transport; readonly rest: Transport };

/** A control plane for one test file: a process with its data, the transports to it, and its log. */
export type ControlPlane = Transports & {
  /** REST with encoded messages as bodies. */
  readonly octets: Transport;
  readonly server: () => ServerProcess;
  readonly directory: string;
  /** Reads the position of the last event; a request that changes nothing leaves it unchanged. */
  readonly head: () => Promise<bigint>;
  /** Runs the requests, and throws when an event was recorded meanwhile. */
  readonly unchanged: <Result>(ask: () => Promise<Result>) => Promise<Result>;
  /** All events, without the log's id. */
  readonly events: () => Promise<readonly RecordedEvent[]>;
  /** The events after a position, without the log's id. */
  readonly eventsAfter: (position: bigint) => Promise<readonly RecordedEvent[]>;
  /** Runs a simulated engine until nothing is left to run, or until the signal aborts. */
  readonly run: (options?: Partial<EngineOptions>, signal?: AbortSignal) => Promise<EngineSummary>;
  /** Kills the process and leaves its data. */
  readonly kill: () => Promise<void>;
  readonly close: () => Promise<void>;
};

/** The graphs that dynamic tasks of the fixtures produce at run time. */
const DYNAMIC_DIRECTORY = fileURLToPath(new URL('../../../../test/fixtures/06-dynamic/dynamic', import.meta.url));

/** The stream with the log's id, which only a log in an event store has. */
const LOG_IDENTITY = 'flightlog-identity';

const noLogger = { debug: () => undefined, info: () => undefined, warn: () => undefined };

/** Opens the log of a data directory, reads from it, and closes it. */
const reading = async <Result>(directory: string, read: (log: EventLog) => Promise<Result>): Promise<Result> => {
  const log = await openTestLog(directory);
  try {
    return await read(log);
  } finally {
    await log.close();
  }
};

/** The options of an engine without a rate limit and without random failures. */
export const engineOptions = (
  server: Pick<ServerProcess, 'ready'>,
  options: Partial<EngineOptions> = {},
): EngineOptions => ({
  endpoint: server.ready.grpc,
  concurrency: 64,
  rate: 0,
  failureProbability: 0,
  seed: 'flightlog',
  gates: 'auto',
  dynamicDirectory: DYNAMIC_DIRECTORY,
  untilIdle: true,
  ...options,
});

const startProcesses = async (data: string, env: Readonly<Record<string, string>>): Promise<Processes> => {
  if (areApart) return startApart(data, env);
  const server = await startServerProcess({ data, env });
  return { ...server, apis: [server] };
};

/** Starts a control plane with the project of the fixtures, on the data of a killed one or on empty data. */
export const startControlPlane = async (
  env: Readonly<Record<string, string>> = {},
  directory = mkdtempSync(join(tmpdir(), 'flightlog-e2e-')),
): Promise<ControlPlane> => {
  const server = await startProcesses(directory, { FLIGHTLOG_PROJECTS: '["flytesnacks"]', ...env });
  const client: Client = {};
  /** One transport to all processes that serve the interface. */
  const transportBy = (open: (ready: Ready) => Transport): Transport =>
    byTurns(
      server.apis.map(({ ready }) => open(ready)),
      client,
    );
  const grpc = transportBy((ready) => overGrpc(ready));
  const head = (): Promise<bigint> => reading(directory, (log) => log.head());
  const eventsAfter = (after: bigint): Promise<readonly RecordedEvent[]> =>
    reading(directory, async (log) => {
      const events: RecordedEvent[] = [];
      for await (const page of log.readLog({ after })) events.push(...page.events);
      return events.filter(({ stream }) => stream !== LOG_IDENTITY);
    });
  return {
    grpc,
    rest: transportBy((ready) => overRest(ready)),
    octets: transportBy((ready) => overRest(ready, 'octets')),
    server: () => server,
    directory,
    head,
    unchanged: async (ask) => {
      const before = await head();
      const result = await ask();
      const after = await head();
      if (after !== before) throw new Error(`the head of the log moved from ${before} to ${after}`);
      return result;
    },
    events: () => eventsAfter(0n),
    eventsAfter,
    run: (options, signal = new AbortController().signal) =>
      runEngine(engineOptions(server, options), { signal, logger: noLogger }),
    kill: async () => {
      grpc.close();
      await server.kill();
    },
    close: async () => {
      grpc.close();
      if (areApart && kafkaBrokers !== undefined) await reconciled(directory, await head(), env);
      await server.stop();
      rmSync(directory, { recursive: true });
    },
  };
};

/**
 * Sends the requests of folders in their order, without those of executions and upload locations.
 *
 * @throws {Error} when an answer is not OK.
 */
export const register = async (transport: Transport, folders: readonly FixtureFolder[]): Promise<void> => {
  for (const entry of folders.flatMap(({ entries }) => entries)) {
    if (entry.kind === 'execution' || entry.kind === 'upload_location') continue;
    const { code, message } = await transport.send(entry.method, entry.bytes);
    if (code !== 'OK') throw new Error(`${entry.path}: ${code}: ${message}`);
  }
};
