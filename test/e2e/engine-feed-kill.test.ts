import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { bytesOf, type Content } from '../../services/kernel/ports/payload-store.js';
import { filePayloadStore } from '../../services/store/payloads/file-payload-store.js';
import { register } from '../support/processes/control-plane.js';
import { type FedEngine, startFedEngine } from '../support/engines/fed-engine.js';
import { leaseModelOf } from '../support/engines/lease-model.js';
import { withNeeds } from '../support/requests/fixtures.js';
import { helloRequest } from '../support/requests/hello.js';
import { modelOf } from '../support/views/independent-model.js';
import { type Proxy, startProxy } from '../support/proxies/proxy.js';
import { type RoleProcesses, startRoleProcesses } from '../support/processes/roles.js';
import { overGrpc, type Transport } from '../support/clients/transports.js';
import { until } from '../support/until.js';

/** The number of kills and stops under load in each of the two settings; the variable sets another. */
const KILLS = Number(process.env['FLIGHTLOG_TEST_KILLS'] ?? 4);
/** The time limit of a test. */
const LIMIT_MS = 180_000 + KILLS * 30_000;
/** Events per second of an engine: slow enough that each kill finds executions half done. */
const EVENTS_PER_SECOND = 60;
/** Executions that are launched at once. */
const LAUNCHES = 10;
/** Attempts that must be started between two kills. */
const ATTEMPTS_BETWEEN_KILLS = 6;
/** The phases of executions that have ended: SUCCEEDED, FAILED, ABORTED and TIMED_OUT. */
const ENDED = new Set([4, 6, 7, 8]);
const { method } = AdminService;

const ALL_ROLES = 'api,projector,reactor';
/** The roles of the processes of a control plane; the first two processes are those that engines connect to. */
const SETTINGS = [
  { what: 'two processes of all roles', roles: [ALL_ROLES, ALL_ROLES] },
  { what: 'processes of one role each', roles: ['api', 'api', 'projector', 'reactor'] },
];

describe.each(SETTINGS)('two engines of the feed on $what', ({ roles }) => {
  const journals = mkdtempSync(join(tmpdir(), 'flightlog-engines-'));
  /** The names of the two processes with the role `api`, as {@link startRoleProcesses} numbers them. */
  const apis = [0, 1].map((at) => `${roles[at]!}-${at + 1}`);
  const engines: FedEngine[] = [];
  const created = new Set<string>();
  let processes: RoleProcesses;
  let balancer: Proxy;
  let transports: readonly Transport[] = [];
  let launches = 0;
  let connections = 0;
  let faultsDone = 0;

  /** Starts an engine that connects through the balancer. */
  const newEngine = (): FedEngine => {
    const name = `engine-${engines.length + 1}`;
    const engine = startFedEngine({
      ...{ endpoint: balancer.address, name, rate: EVENTS_PER_SECOND },
      journal: join(journals, name),
    });
    engines.push(engine);
    return engine;
  };

  /** Launches through the two processes in turn; one that is down refuses. */
  const launch = async (): Promise<void> => {
    const turn = (launches += 1);
    const name = `fed-${turn}`;
    const { code } = await transports[turn % 2]!.attempt(method.createExecution, helloRequest(name));
    if (code === 'OK' || code === 'ALREADY_EXISTS') created.add(`flytesnacks/development/${name}`);
  };
  const launchSome = (): Promise<unknown> => Promise.all(Array.from({ length: LAUNCHES }, launch));

  const startedInAll = (): readonly string[] => engines.flatMap((engine) => engine.started());

  /** Launches until the engines have started this number of attempts more. */
  const progress = async (attempts = ATTEMPTS_BETWEEN_KILLS): Promise<void> => {
    const wanted = startedInAll().length + attempts;
    const known = created.size;
    await until(
      async () => {
        if (created.size < known + 2 * attempts) await launchSome();
        return startedInAll().length;
      },
      (count) => count >= wanted,
    );
  };

  const withLog = async <Answer>(
    read: (log: Awaited<ReturnType<RoleProcesses['openLog']>>) => Promise<Answer>,
  ): Promise<Answer> => {
    const log = await processes.openLog();
    try {
      return await read(log);
    } finally {
      await log.close();
    }
  };

  /** The number of sessions of an engine that have ended. */
  const endsOf = ({ name }: FedEngine): Promise<number> =>
    withLog(async (log) => {
      let ends = 0;
      for await (const { events } of log.readLog({ after: 0n, filter: { types: ['EngineSessionEnded'] } }))
        ends += events.filter(({ stream }) => stream.includes(`:${name}:`)).length;
      return ends;
    });

  /** The executions as they are in the log now, by name. */
  const modelNow = () =>
    withLog((log) => {
      const payloads = filePayloadStore({ directory: join(processes.directory, 'data') });
      return modelOf(log, (content: Content) => bytesOf(content, payloads));
    });

  /** The engines that have not been killed. */
  let running: [FedEngine, FedEngine];

  const killEngine = async (): Promise<void> => {
    await running[0].kill();
    running = [running[1], newEngine()];
    await progress();
  };

  /** Suspends an engine until its session has been ended, and resumes it. */
  const suspendEngine = async (): Promise<void> => {
    const [late] = running;
    const ended = await endsOf(late);
    late.child.kill('SIGSTOP');
    try {
      await until(
        () => endsOf(late),
        (ends) => ends > ended,
      );
      await progress();
    } finally {
      late.child.kill('SIGCONT');
    }
    await launchSome();
    await progress();
  };

  const killApi = async (name: string): Promise<void> => {
    await processes.process(name).kill();
    await launchSome();
    await progress();
    await processes.process(name).start();
  };

  const faultsInTurn = [killEngine, suspendEngine, () => killApi(apis[0]!), () => killApi(apis[1]!)];

  beforeAll(async () => {
    processes = await startRoleProcesses(roles, { env: { FLIGHTLOG_ENGINE_FEED_LEASE_DURATION: '3s' } });
    const addressOf = (name: string): string => processes.process(name).server().ready.grpc;
    const isUp = (name: string): boolean => {
      const { exitCode, signalCode } = processes.process(name).server().child;
      return exitCode === null && signalCode === null;
    };
    balancer = await startProxy(() => {
      const up = apis.filter(isUp);
      return addressOf(up[(connections += 1) % up.length] ?? apis[0]!);
    });
    transports = apis.map((name) => overGrpc(processes.process(name).server().ready));
    await register(transports[0]!, withNeeds('01-hello'));
    running = [newEngine(), newEngine()];
  }, LIMIT_MS);

  afterAll(async () => {
    for (const { child } of engines) child.kill('SIGKILL');
    for (const transport of transports) transport.close();
    await balancer.close();
    await processes.close();
    rmSync(journals, { recursive: true });
  }, LIMIT_MS);

  it(
    `start more attempts after each of ${KILLS} times that an engine or a process is killed or suspended`,
    async () => {
      for (let round = 0; round < KILLS; round += 1) {
        await launchSome();
        await progress();
        await faultsInTurn[round % faultsInTurn.length]!();
        faultsDone += 1;
      }
    },
    LIMIT_MS,
  );

  it(
    'run every execution to its end, start no attempt twice, and have no report recorded for a lease that was lost',
    async () => {
      const open = async (): Promise<readonly string[]> =>
        [...(await modelNow())].filter(([, { phase }]) => !ENDED.has(phase)).map(([name]) => name);
      expect(await until(open, ({ length }) => length === 0)).toEqual([]);
      for (const engine of running) await engine.stop();

      const model = await modelNow();
      expect([...created].filter((name) => !model.has(name))).toEqual([]);
      const counted = new Map<string, number>();
      for (const attempt of startedInAll()) counted.set(attempt, (counted.get(attempt) ?? 0) + 1);
      expect([...counted].filter(([, times]) => times !== 1)).toEqual([]);

      const { starts, foreign, takeovers } = await withLog(leaseModelOf);
      expect([...starts].filter(([, times]) => times !== 1)).toEqual([]);
      // A report of an engine that has lost its lease would be here, had it been recorded. Such an engine need not
      // report anything, so the number of refused reports is only printed.
      expect(foreign).toEqual([]);
      expect(engines.flatMap((engine) => engine.dropped())).toEqual([]);
      const refused = engines.reduce((sum, engine) => sum + engine.refused(), 0);
      process.stdout.write(
        `${model.size} executions, ${starts.size} attempts, ${takeovers} takeovers, ${refused} refused reports, ${faultsDone} kills and stops\n`,
      );
    },
    LIMIT_MS,
  );
});
