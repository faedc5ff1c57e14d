import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create, toBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ExecutionCreateRequestSchema } from '../../proto/gen/platformidl/admin/execution_pb.js';
import { ResourceType } from '../../proto/gen/platformidl/core/identifier_pb.js';
import { runEngine } from '../../engine/engine.js';
import type { EngineSummary } from '../../engine/options.js';
import { bytesOf, type Content } from '../../services/kernel/ports/payload-store.js';
import { filePayloadStore } from '../../services/store/payloads/file-payload-store.js';
import { fixtureFolders } from '../support/requests/fixtures.js';
import { type GrpcClient, grpcClient } from '../support/clients/grpc-client.js';
import { modelOf } from '../support/views/independent-model.js';
import { isOnMongodb } from '../support/servers/mongo-server.js';
import { timesInLog, watchRecorded } from '../support/streams/recorded-events.js';
import { type ServerProcess, startServerProcess } from '../support/processes/server-process.js';
import { openTestLog } from '../support/processes/test-log.js';
import { viewDifferences } from '../support/views/view-check.js';

/**
 * The number of kills under load; the variable sets another. Fewer on MongoDB's protocol, whose servers may be slow.
 */
const KILLS = Number(process.env['FLIGHTLOG_TEST_KILLS'] ?? (isOnMongodb ? 4 : 15));
/** Events that the engine must have in flight at each kill. */
const IN_FLIGHT = 32;
/** Events that must be acknowledged between two kills, so that each kill finds the server at work. */
const PROGRESS = 100;
/**
 * While the test waits for a fail point, it launches more only when the engine, which reports at least `events` for
 * each execution, is behind by fewer than `executions`: so the work that is left after the last kill ends in time.
 */
const AHEAD = { executions: 4 * IN_FLIGHT, events: 12 };
/** The process is killed inside the n-th checkpoint of the views after its start; a slow store writes fewer of them. */
const CHECKPOINTS = isOnMongodb ? 5 : 25;
/** The longest wait for one condition. */
const WAIT_MS = isOnMongodb ? 300_000 : 60_000;
const LIMIT_MS = 120_000 + Math.max(KILLS, 15) * 20_000;
/** The phases of executions that have ended: SUCCEEDED, FAILED, ABORTED and TIMED_OUT. */
const ENDED = new Set([4, 6, 7, 8]);
const CREATE = '/flyteidl.service.AdminService/CreateExecution';
/** An input that is stored as a payload beside the log. */
const LARGE = 'x'.repeat(100_000);

/** Waits until a condition holds; `what` says in an error what did not happen. */
const until = async (what: string, isSo: () => boolean | Promise<boolean>): Promise<void> => {
  const deadline = Date.now() + WAIT_MS;
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error(`waited too long: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
};

describe('a server that is killed under load', () => {
  const directory = mkdtempSync(join(tmpdir(), 'flightlog-kill-'));
  const env = { FLIGHTLOG_PROJECTS: '["flytesnacks"]' };
  const { watch, hashes: recorded, inFlight } = watchRecorded();
  const created = new Set<string>();
  const stop = new AbortController();
  let server: ServerProcess;
  let client: GrpcClient;
  let engine: Promise<EngineSummary>;
  let ports: readonly string[];
  let launches = 0;

  const logger = { debug: () => undefined, info: () => undefined, warn: () => undefined };

  /** Starts the server again on its ports, with a fail point if one is given. */
  const restart = async (failPoint?: string): Promise<void> => {
    const more = failPoint === undefined ? {} : { FLIGHTLOG_FAIL_POINT: failPoint };
    server = await startServerProcess({ data: directory, args: ports, env: { ...env, ...more } });
  };

  /** Launches an execution, and adds it to `created` when an answer says that it exists. */
  const launch = async (greeting = 'you'): Promise<void> => {
    const name = `killed-${launches++}`;
    const spec = {
      launchPlan: {
        resourceType: ResourceType.LAUNCH_PLAN,
        project: 'flytesnacks',
        domain: 'development',
        name: 'hello.hello',
        version: 'v1',
      },
    };
    const inputs = {
      literals: {
        name: {
          value: {
            case: 'scalar' as const,
            value: {
              value: {
                case: 'primitive' as const,
                value: { value: { case: 'stringValue' as const, value: greeting } },
              },
            },
          },
        },
      },
    };
    const request = create(ExecutionCreateRequestSchema, {
      project: 'flytesnacks',
      domain: 'development',
      name,
      spec,
      inputs,
    });
    const { code } = await client.raw(CREATE, toBinary(ExecutionCreateRequestSchema, request));
    if (code === 'OK' || code === 'ALREADY_EXISTS') created.add(`flytesnacks/development/${name}`);
  };

  /** Launches twice as many executions as events must be in flight. */
  const keepBusy = async (): Promise<void> => {
    await Promise.all(Array.from({ length: IN_FLIGHT * 2 }, () => launch()));
  };

  beforeAll(async () => {
    server = await startServerProcess({ data: directory, env });
    const [grpcPort = '', httpPort = ''] = [server.ready.grpc, server.ready.http].map(
      (address) => address.split(':').at(-1) ?? '',
    );
    ports = ['--grpc-port', grpcPort, '--http-port', httpPort];
    client = grpcClient(server.ready.grpc);
    for (const { entries } of fixtureFolders()) {
      for (const { service, method, bytes, kind, id } of entries) {
        if (kind === 'upload_location') continue;
        const { code } = await client.raw(`/flyteidl.service.${service}/${method}`, bytes);
        expect(code).toBe('OK');
        if (kind === 'execution' && id.name !== undefined) created.add(`${id.project}/${id.domain}/${id.name}`);
      }
    }
    engine = runEngine(
      {
        endpoint: server.ready.grpc,
        concurrency: 128,
        rate: 0,
        failureProbability: 0.05,
        seed: 'kill',
        gates: 'auto',
        dynamicDirectory: join(import.meta.dirname, '../../../test/fixtures/06-dynamic/dynamic'),
        untilIdle: false,
      },
      { signal: stop.signal, logger, watch },
    );
  }, LIMIT_MS);

  afterAll(async () => {
    stop.abort();
    await engine.catch(() => undefined);
    client.close();
    await server.kill();
    rmSync(directory, { recursive: true, force: true });
  }, LIMIT_MS);

  it(
    `is killed ${KILLS} times with ${IN_FLIGHT} or more calls in flight, and starts again`,
    async () => {
      for (let kill = 0; kill < KILLS; kill += 1) {
        const before = recorded.size;
        const launching = keepBusy();
        await until(
          'events are acknowledged with enough in flight',
          () => recorded.size >= before + PROGRESS && inFlight() >= IN_FLIGHT,
        );
        await server.kill();
        await launching;
        await restart();
      }
    },
    LIMIT_MS,
  );

  // The number after a fail point is the passage at which the process is killed.
  it.each([
    ['before the commit', 'before-commit:40'],
    ['between commit and answer', 'after-commit:40'],
    ['between payload and append', 'after-payload:1'],
    ['inside a checkpoint', `inside-checkpoint:${CHECKPOINTS}`],
  ])(
    'is killed %s, and starts again',
    async (_, failPoint) => {
      await server.kill();
      await restart(failPoint);
      await launch(LARGE);
      await until('the fail point is met', async () => {
        if (created.size < recorded.size / AHEAD.events + AHEAD.executions) await keepBusy();
        return server.child.signalCode !== null;
      });
      expect(server.child.signalCode).toBe('SIGKILL');
      await restart();
      await launch(LARGE);
    },
    LIMIT_MS,
  );

  it(
    'has every execution at its end, every acknowledged event once, and views that are the fold of the log',
    async () => {
      stop.abort();
      await engine.catch(() => undefined);
      const summary = await runEngine(
        {
          endpoint: server.ready.grpc,
          concurrency: 128,
          rate: 0,
          failureProbability: 0.05,
          seed: 'kill',
          gates: 'auto',
          dynamicDirectory: join(import.meta.dirname, '../../../test/fixtures/06-dynamic/dynamic'),
          untilIdle: true,
        },
        { signal: new AbortController().signal, logger, watch },
      );
      expect(summary.endedBecause).toBe('idle');
      expect([...summary.dropped]).toEqual([]);

      const log = await openTestLog(directory);
      const payloads = filePayloadStore({ directory });
      const read = (content: Content): Promise<Uint8Array> => bytesOf(content, payloads);
      const times = await timesInLog(log, read);
      expect([...times.values()].filter((count) => count !== 1)).toEqual([]);
      expect([...recorded].filter((hash) => !times.has(hash))).toEqual([]);

      const model = await modelOf(log, read);
      expect([...created].filter((name) => !model.has(name))).toEqual([]);
      expect([...model].filter(([, { phase }]) => !ENDED.has(phase)).map(([name]) => name)).toEqual([]);
      expect(await viewDifferences(client, model)).toEqual([]);
      process.stdout.write(`${recorded.size} events acknowledged, ${model.size} executions, ${KILLS} kills\n`);
      await log.close();
    },
    LIMIT_MS,
  );
});
