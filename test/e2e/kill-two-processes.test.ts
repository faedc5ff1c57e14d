import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { runEngine } from '../../engine/engine.js';
import type { EngineOptions, EngineSummary } from '../../engine/options.js';
import { bytesOf } from '../../services/kernel/ports/payload-store.js';
import { filePayloadStore } from '../../services/store/payloads/file-payload-store.js';
import { sqliteLogReader } from '../../services/store/log/sqlite-log-reader.js';
import { register } from '../support/processes/control-plane.js';
import { fixtureFolder, withNeeds } from '../support/requests/fixtures.js';
import { helloRequest } from '../support/requests/hello.js';
import { modelOf } from '../support/views/independent-model.js';
import { isOnMongodb } from '../support/servers/mongo-server.js';
import { type Proxy, startProxy } from '../support/proxies/proxy.js';
import { timesInLog, watchRecorded } from '../support/streams/recorded-events.js';
import { type Member, startTwoProcesses, type TwoProcesses } from '../support/processes/two-processes.js';
import { until } from '../support/until.js';
import { differencesAt } from '../support/views/view-check.js';

/** The number of kills and cuts under load; the variable sets another. */
const KILLS = Number(process.env['FLIGHTLOG_TEST_KILLS'] ?? (isOnMongodb ? 4 : 10));
/** Events that must be acknowledged between two kills, so that each kill finds the processes at work. */
const PROGRESS = 100;
const LIMIT_MS = 120_000 + Math.max(KILLS, 10) * 20_000;
/** Executions that are launched before each kill or cut. */
const LAUNCHES = 24;
/** The phases of executions that have ended: SUCCEEDED, FAILED, ABORTED and TIMED_OUT. */
const ENDED = new Set([4, 6, 7, 8]);
const FOLDERS = ['01-hello', '02-diamond', '03-branches', '04-nested', '11-failures'];
const { method } = AdminService;

describe('two control planes and their log, any of which is killed under load', () => {
  const { watch, hashes: recorded } = watchRecorded();
  const created = new Set<string>();
  const stop = new AbortController();
  const logger = { debug: () => undefined, info: () => undefined, warn: () => undefined };
  /** The proxies between the processes and the log. */
  const logProxies: Proxy[] = [];
  let two: TwoProcesses;
  let balancer: Proxy;
  let engine: Promise<EngineSummary>;
  let launches = 0;
  let connections = 0;

  /** With this concurrency the engine has two connections, so that reports of one execution go to both processes. */
  const options = (untilIdle: boolean): EngineOptions => ({
    endpoint: balancer.address,
    concurrency: 128,
    rate: 0,
    failureProbability: 0.05,
    seed: 'kill',
    gates: 'auto',
    untilIdle,
  });

  /** The process whose turn it is. */
  const memberOf = (turn: number): Member => two.members[turn % 2 === 0 ? 0 : 1];

  /** Launches through one of the processes; adds the execution to `created` when an answer says that it exists. */
  const launch = async (): Promise<void> => {
    const turn = (launches += 1);
    const name = `killed-${turn}`;
    const { code } = await memberOf(turn).api().attempt(method.createExecution, helloRequest(name));
    if (code === 'OK' || code === 'ALREADY_EXISTS') created.add(`flytesnacks/development/${name}`);
  };

  /** Kills a process, and returns the function that starts it again. */
  const killed = async (member: Member): Promise<() => Promise<void>> => {
    await member.kill();
    return member.start;
  };

  /** The faults, in turn; each returns a function that repairs it. */
  const faults: readonly (() => Promise<() => Promise<void>>)[] = [
    () => killed(two.members[0]),
    () => killed(two.members[1]),
    async () => {
      await two.log.kill();
      return two.log.start;
    },
    () => {
      for (const proxy of logProxies) proxy.cut();
      return Promise.resolve(() => Promise.resolve());
    },
    () => {
      const [first] = logProxies;
      first!.shut();
      return Promise.resolve(() => {
        first!.open();
        return Promise.resolve();
      });
    },
  ];

  beforeAll(async () => {
    two = await startTwoProcesses({
      way: async (address) => {
        const proxy = await startProxy(address);
        logProxies.push(proxy);
        return proxy.address;
      },
    });
    balancer = await startProxy(() => memberOf((connections += 1)).server().ready.grpc);
    const api = two.members[0].api();
    for (const folder of FOLDERS) await register(api, withNeeds(folder));
    for (const { kind, bytes, id } of FOLDERS.flatMap((folder) => fixtureFolder(folder).entries)) {
      if (kind !== 'execution') continue;
      expect((await api.send('CreateExecution', bytes)).code).toBe('OK');
      if (id.name !== undefined) created.add(`${id.project}/${id.domain}/${id.name}`);
    }
    engine = runEngine(options(false), { signal: stop.signal, logger, watch });
  }, LIMIT_MS);

  afterAll(async () => {
    stop.abort();
    await engine.catch(() => undefined);
    await two.close();
    for (const proxy of [balancer, ...logProxies]) await proxy.close();
  }, LIMIT_MS);

  it(
    `acknowledge events before each of ${KILLS} kills and cuts`,
    async () => {
      for (let kill = 0; kill < KILLS; kill += 1) {
        const before = recorded.size;
        const launching = Promise.all(Array.from({ length: LAUNCHES }, launch));
        await until(
          () => Promise.resolve(recorded.size),
          (now) => now >= before + PROGRESS,
        );
        const repair = await faults[kill % faults.length]!();
        await launching;
        await repair();
      }
    },
    LIMIT_MS,
  );

  it(
    'have every execution at its end, every acknowledged event once, and views that are the fold of the log',
    async () => {
      stop.abort();
      await engine.catch(() => undefined);
      const summary = await runEngine(options(true), { signal: new AbortController().signal, logger, watch });
      expect(summary.endedBecause).toBe('idle');
      expect([...summary.dropped]).toEqual([]);

      const log = await sqliteLogReader({ directory: two.directory });
      const payloads = filePayloadStore({ directory: two.directory });
      const read = (content: Parameters<typeof bytesOf>[0]) => bytesOf(content, payloads);
      const times = await timesInLog(log, read);
      expect([...times.values()].filter((count) => count !== 1)).toEqual([]);
      expect([...recorded].filter((hash) => !times.has(hash))).toEqual([]);

      const model = await modelOf(log, read);
      expect([...created].filter((name) => !model.has(name))).toEqual([]);
      expect([...model].filter(([, { phase }]) => !ENDED.has(phase)).map(([name]) => name)).toEqual([]);
      const head = await log.head();
      await log.close();
      for (const member of two.members) {
        expect(await differencesAt(member.server().ready, head, model)).toEqual([]);
      }
      process.stdout.write(`${recorded.size} events acknowledged, ${model.size} executions, ${KILLS} kills and cuts\n`);
    },
    LIMIT_MS,
  );
});
