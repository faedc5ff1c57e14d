import { expect } from 'vitest';

import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import type { MongoLocation } from '../../../projections/store/mongo/location.js';
import { runEngine } from '../../../engine/engine.js';
import type { EngineSummary } from '../../../engine/options.js';
import { bytesOf, type Content } from '../../../services/kernel/ports/payload-store.js';
import { filePayloadStore } from '../../../services/store/payloads/file-payload-store.js';
import { register } from '../processes/control-plane.js';
import { allEvents } from '../streams/filled-log.js';
import { withNeeds } from '../requests/fixtures.js';
import { type Followers, followProcesses } from './followed-load.js';
import { type GrpcClient, grpcClient } from '../clients/grpc-client.js';
import { helloRequest } from '../requests/hello.js';
import { modelOf } from '../views/independent-model.js';
import { timesInLog, watchRecorded } from '../streams/recorded-events.js';
import { type RoleProcesses, type RoleProcessesOptions, type Roles, startRoleProcesses } from '../processes/roles.js';
import { overGrpc, type Transport } from '../clients/transports.js';
import { until } from '../until.js';
import { viewDifferences } from '../views/view-check.js';

/** Events per second while processes are killed. It is small, because killing and restarting takes most of the time. */
const RATE = 40;
/** The rate once no process is killed any more. */
const UNLIMITED_RATE = 0;
/** The phases in which an execution has ended: SUCCEEDED, FAILED, ABORTED and TIMED_OUT. */
const ENDED = new Set([4, 6, 7, 8]);

/** About the number of events of an execution, by which the number of executions that have run is estimated. */
const EVENTS_PER_EXECUTION = 12;
/**
 * An execution is launched while fewer than about this number of created executions have not run yet: enough for the
 * engine not to run out of executions, and few enough to run before a test times out.
 */
const EXECUTIONS_AHEAD = 30;

/** A launch, and the status of its answer. */
export type Launched = { readonly name: string; readonly code: string };

/** The settings of the processes, the clients that follow their log, and a check of their exports. */
export type Setting<Running extends Roles = RoleProcesses> = {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** The location of the views, when it is not the data directory. */
  readonly location?: MongoLocation;
  /** Waits until exports are complete up to the position `head`, and compares them with the log. */
  readonly settled?: (parts: Running, head: bigint) => Promise<void>;
  /** Starts clients that follow the log and its executions. */
  readonly follow?: (parts: Running) => Promise<Followers>;
};

/**
 * A load on the processes of a control plane: an engine runs the launched executions. The result has the hashes of the
 * acknowledged events (`recorded`) and the acknowledged executions (`created`), as `project/domain/name`.
 */
export const loadOn = <Running extends Roles>(
  startAll: (options: RoleProcessesOptions) => Promise<Running>,
  { args = [], env = {}, settled, follow }: Setting<Running> = {},
) => {
  const { watch, hashes: recorded } = watchRecorded();
  const created = new Set<string>();
  const stopping = new AbortController();
  let parts: Running;
  let apis: readonly Transport[] = [];
  let followers: Followers | undefined;
  let engine: Promise<EngineSummary> = Promise.reject(new Error('no engine was started'));
  engine.catch(() => undefined);
  let launches = 0;

  const logger = { debug: () => undefined, info: () => undefined, warn: () => undefined };
  const run = (rate: number, signal: AbortSignal): Promise<EngineSummary> =>
    runEngine(
      {
        endpoint: parts.process('api-1').server().ready.grpc,
        concurrency: 16,
        rate,
        failureProbability: 0.05,
        seed: 'roles',
        gates: 'auto',
        untilIdle: rate === UNLIMITED_RATE,
      },
      { signal, logger, watch },
    );

  /** Launches through both API processes in turn, or through the one with the index `api`. */
  const launch = async (api = launches % 2): Promise<Launched> => {
    const name = `killed-${launches++}`;
    const { code } = await apis[api]!.attempt(AdminService.method.createExecution, helloRequest(name));
    if (code === 'OK' || code === 'ALREADY_EXISTS') created.add(`flytesnacks/development/${name}`);
    if (code === 'OK') followers?.watch(name);
    return { name, code };
  };

  return {
    parts: () => parts,
    settled,
    followers: () => followers,
    recorded,
    created,
    launch,
    /** Launches six executions at once. */
    launchSome: () => Promise.all(Array.from({ length: 6 }, () => launch())),
    /** Waits until this many more events of the engine are acknowledged, and meanwhile launches executions for it. */
    progress: async (events = 10): Promise<void> => {
      const wanted = recorded.size + events;
      await until(
        async () => {
          if (created.size < recorded.size / EVENTS_PER_EXECUTION + EXECUTIONS_AHEAD) await launch();
          return recorded.size;
        },
        (size) => size >= wanted,
      );
    },
    /** Starts the processes, the clients that follow their log, and the engine. */
    start: async (): Promise<void> => {
      const verbose = [...args, '--log-level', 'debug'];
      parts = await startAll({ env, args: verbose });
      apis = ['api-1', 'api-2'].map((name) => overGrpc(parts.process(name).server().ready));
      await register(apis[0]!, withNeeds('01-hello'));
      followers = await follow?.(parts);
      engine = run(RATE, stopping.signal);
    },
    /** Stops the engine, and runs another one without a rate limit until all executions have ended. */
    finish: async (): Promise<EngineSummary> => {
      stopping.abort();
      await engine.catch(() => undefined);
      return run(UNLIMITED_RATE, new AbortController().signal);
    },
    close: async (): Promise<void> => {
      stopping.abort();
      await engine.catch(() => undefined);
      await followers?.stop();
      for (const api of apis) api.close();
      await parts.close();
    },
  };
};

/** A control plane of five processes and their log server, under load. */
export const underLoad = (setting: Setting) =>
  loadOn((options) => startRoleProcesses(['api', 'api', 'projector', 'projector', 'reactor'], options), {
    ...setting,
    follow: followProcesses,
  });

/** A control plane under load. */
export type Load<Running extends Roles = RoleProcesses> = ReturnType<typeof loadOn<Running>>;

/**
 * Expects that every acknowledged event is in the log once, that every execution has ended, and that the views of each
 * API process match the log. Resolves with a sentence that counts events and executions.
 */
export const expectNothingLost = async <Running extends Roles>({
  parts,
  recorded,
  created,
  settled,
  followers,
}: Load<Running>): Promise<string> => {
  const { directory, openLog, process } = parts();
  const log = await openLog();
  const payloads = filePayloadStore({ directory: `${directory}/data` });
  const read = (content: Content): Promise<Uint8Array> => bytesOf(content, payloads);
  const times = await timesInLog(log, read);
  expect([...times.values()].filter((count) => count !== 1)).toEqual([]);
  expect([...recorded].filter((hash) => !times.has(hash))).toEqual([]);

  const model = await modelOf(log, read);
  expect([...created].filter((name) => !model.has(name))).toEqual([]);
  expect([...model].filter(([, { phase }]) => !ENDED.has(phase)).map(([name]) => name)).toEqual([]);
  const head = await log.head();
  const followed = await followers()?.expectAll(await allEvents(log));
  await log.close();
  await settled?.(parts(), head);
  for (const name of ['api-1', 'api-2']) {
    const client: GrpcClient = grpcClient(process(name).server().ready.grpc);
    const seen = (): Promise<readonly string[]> => viewDifferences(client, model);
    expect(await until(seen, (differences) => differences.length === 0)).toEqual([]);
    client.close();
  }
  const counts = `${recorded.size} events acknowledged, ${model.size} executions`;
  return followed === undefined ? counts : `${counts}; ${followed}`;
};
