import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventstoreEventStore } from '../../services/store/eventstore/eventstore-event-store.js';
import { CLUSTER_FAULTS, type FaultName } from '../support/loads/cluster-faults.js';
import { type Cluster, startEventstoreCluster } from '../support/eventstore-cluster/cluster.js';
import { readiness } from '../support/processes/health.js';
import { expectNothingLost, type Load, loadOn } from '../support/loads/killed-load.js';
import { type Part, type Roles, startRoles } from '../support/processes/roles.js';
import { until } from '../support/until.js';

/**
 * False: a few faults, with one connection string. True (`all`): every fault with every kind of connection string, and
 * elections as long as real ones.
 */
const ALL = process.env['FLIGHTLOG_TEST_CLUSTER'] === 'all';
const ELECTION_MS = ALL ? 8_000 : 3_000;
const LIMIT_MS = 240_000;

/** A call that takes this long counts as hanging. It should be answered within 10 s; the rest is for busy machines. */
const HANGS_MS = 25_000;
/** The pause of a caller between two calls. */
const PROBE_EVERY_MS = 250;

/** Connection strings, by the words of a title. */
const CONNECTION_STRINGS: Readonly<Record<string, (cluster: Cluster) => string>> = {
  'three hosts': (cluster) => cluster.url(),
  ...(ALL && {
    'one host': (cluster) => cluster.url({ hosts: 1 }),
    'three hosts, followers': (cluster) => cluster.url({ preference: 'follower' }),
    'three hosts, any': (cluster) => cluster.url({ preference: 'random' }),
  }),
};

const FEW: readonly FaultName[] = [
  'leader killed',
  'leader suspended until it is deposed',
  'follower lags 5 s, leader killed',
  'all nodes killed for 1 s',
];
const FAULTS = ALL ? (Object.keys(CLUSTER_FAULTS) as FaultName[]) : FEW;

/** One answer to a caller. */
type Probe = { readonly code: string; readonly ms: number };

/** A line of the table that is printed at the end: how calls were answered during a fault. */
type Row = {
  /** The connection string and the fault. */
  readonly setting: string;
  readonly calls: number;
  /** The numbers of failed calls by status, such as `3 UNAVAILABLE`. */
  readonly failed: string;
  readonly slowestMs: number;
  /** The time after the fault until every process was ready and both API processes accepted a launch. */
  readonly wholeMs: number;
};

const rows: Row[] = [];

/** Calls both API processes again and again, one call of each at a time. */
const probing = (load: Load<Roles>) => {
  let probes: Probe[] = [];
  let isOver = false;
  const callOne = async (api: number): Promise<void> => {
    while (!isOver) {
      const began = performance.now();
      const { code } = await load.launch(api);
      probes.push({ code, ms: performance.now() - began });
      await pause(PROBE_EVERY_MS);
    }
  };
  const done = Promise.all([callOne(0), callOne(1)]);
  return {
    /** Returns the answers since the last call of `take`. */
    take: (): readonly Probe[] => {
      const taken = probes;
      probes = [];
      return taken;
    },
    stop: async (): Promise<void> => {
      isOver = true;
      await done;
    },
  };
};

/** Waits until both API processes accept a launch and every process is ready; the printed table has the duration. */
const untilWhole = async (load: Load<Roles>): Promise<void> => {
  const isReady = ({ server }: Part) => readiness(server().ready.http).then(({ ready }) => ready);
  for (const api of [0, 1])
    await until(
      () => load.launch(api),
      ({ code }) => code === 'OK',
    );
  await until(
    () => Promise.all(load.parts().parts.map(isReady)),
    (ready) => ready.every(Boolean),
  );
};

const failuresOf = (probes: readonly Probe[]): string => {
  const failed = probes.filter(({ code }) => code !== 'OK');
  const codes = [...new Set(failed.map(({ code }) => code))];
  return codes.map((code) => `${failed.filter((probe) => probe.code === code).length} ${code}`).join(', ') || '-';
};

const hasEnded = ({ server }: Part): boolean => server().child.exitCode !== null || server().child.signalCode !== null;

const slowestMsOf = (probes: readonly Probe[]): number => Math.round(Math.max(0, ...probes.map(({ ms }) => ms)));

/** The log message of a projector that starts its views over. */
const CLEARED = 'they are folded from the log again';

describe.each(Object.entries(CONNECTION_STRINGS))(
  'processes on an event store cluster, with a connection string of %s',
  (name, urlOf) => {
    let cluster: Cluster;
    const roles = ['api', 'api', 'projector', 'reactor'];
    const load = loadOn((options) => {
      const openLog = () => eventstoreEventStore({ url: cluster.url({ preference: 'leader' }) });
      return startRoles(roles, { url: urlOf(cluster), openLog }, options);
    });
    let probes: ReturnType<typeof probing> | undefined;

    beforeAll(async () => {
      cluster = await startEventstoreCluster({ timing: { electionMs: ELECTION_MS } });
      await load.start();
      probes = probing(load);
    }, LIMIT_MS);
    afterAll(async () => {
      await probes?.stop(); // they call through the clients of the load
      await load.close();
      await cluster.close();
    }, LIMIT_MS);

    it.each(FAULTS)(
      `keep running, and no call takes ${HANGS_MS / 1_000} s: %s`,
      async (fault) => {
        await load.progress();
        const before = probes!.take();
        await CLUSTER_FAULTS[fault](cluster);
        const began = performance.now();
        await untilWhole(load);
        const wholeMs = Math.round(performance.now() - began);
        await load.progress();
        const taken = probes!.take();
        const slowestMs = slowestMsOf(taken);
        rows.push({ setting: `${name}: ${fault}`, calls: taken.length, failed: failuresOf(taken), slowestMs, wholeMs });
        expect(
          load
            .parts()
            .parts.filter(hasEnded)
            .map((part) => part.name),
        ).toEqual([]);
        // The answers before include those to calls that were made during the fault before.
        expect(Math.max(slowestMsOf(before), slowestMs)).toBeLessThan(HANGS_MS);
      },
      LIMIT_MS,
    );

    it(
      'have lost and doubled nothing, and cleared no view; calls during the last fault were answered in time',
      async () => {
        await probes!.stop();
        expect(slowestMsOf(probes!.take())).toBeLessThan(HANGS_MS);
        const { endedBecause, dropped } = await load.finish();
        expect(endedBecause).toBe('idle');
        expect([...dropped]).toEqual([]);
        const logs = load.parts().parts.map(({ server }) => server().log());
        expect(logs.filter((log) => log.includes(CLEARED))).toEqual([]);
        process.stdout.write(`${name}: ${await expectNothingLost(load)}\n`);
      },
      LIMIT_MS,
    );
  },
);

afterAll(() => {
  const lines = rows.map(
    ({ setting, calls, failed, slowestMs, wholeMs }) =>
      `| ${setting} | ${calls} | ${failed} | ${slowestMs} | ${wholeMs} |`,
  );
  const head = ['| setting | calls | failed | slowest, ms | whole after, ms |', '| --- | --- | --- | --- | --- |'];
  process.stdout.write(`${[...head, ...lines].join('\n')}\n`);
});
