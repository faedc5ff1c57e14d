import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { LEASE_MS } from '../../services/kernel/ports/leases.js';
import { kafkaBrokers, newPrefix } from '../support/servers/kafka-server.js';
import { isSharedFileLocked } from '../support/loads/locked-files.js';
import { expectNothingLost, type Load, type Setting, underLoad } from '../support/loads/killed-load.js';
import { dropDatabase, mongoUrl, newMongoLocation } from '../support/servers/mongo-server.js';
import { reconciled } from '../support/processes/processes-apart.js';
import type { Part } from '../support/processes/roles.js';
import { type Takeover, type TakeoverWatch, watchTakeovers } from '../support/loads/takeovers.js';
import { until } from '../support/until.js';

/** The number of kills under load; the variable sets another. */
const KILLS = Number(process.env['FLIGHTLOG_TEST_KILLS'] ?? 4);
const LIMIT_MS = 300_000 + KILLS * 30_000;
/** Fewer by default on MongoDB's protocol, whose servers may be slow; at least two, also with the variable. */
const MONGO_KILLS = Math.max(2, Number(process.env['FLIGHTLOG_TEST_KILLS'] ?? 0));
/**
 * A partition of a killed or suspended process is taken over within this time: its lease expires, and another process
 * takes it. Measured by the clock of the store of the leases, from the last renewal of the old lease to the beginning
 * of the new one, so that other load on the machine does not count.
 */
const TAKEN_OVER_MS = 10_000;
/**
 * The minimum number of times that a process is suspended with work in hand, and the maximum if no write of it was
 * refused yet: a process that learns first that its leases have expired gives its work up by itself.
 */
const SUSPENSIONS = { least: 2, most: 8 };
/** Suspends a projector before one of its writes, a second or so after its start. */
const WITH_WORK_IN_HAND = { FLIGHTLOG_FAIL_POINT: 'before-views-write:20:suspend' };
/** Partitions of the views, which the two projectors divide among them. */
const PARTITIONS = 8;
/** Messages in the log of a projector. */
const KEEPS = 'this process keeps these partitions of the views';
const REFUSED = 'another process has moved a checkpoint of the views';

/** The processes that are killed, in turn. */
const VICTIMS = ['projector-1', 'api-2', 'reactor-1', 'log', 'projector-2', 'api-1'];

const say = (text: string): void => void process.stdout.write(`${text}\n`);

/** The number of partitions in the projector's last log message about them. */
const partitionsKept = (projector: Part): number => {
  const lines = projector
    .server()
    .log()
    .split('\n')
    .filter((line) => line.includes(KEEPS));
  return (JSON.parse(lines.at(-1) ?? '{"partitions":[]}') as { partitions: readonly string[] }).partitions.length;
};

/** The number of writes of a projector that were refused because another process has the partition. */
const refusals = (projector: Part): number => projector.server().log().split(REFUSED).length - 1;

/** True when a process is suspended: https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html */
const isSuspended = ({ server }: Part): boolean =>
  readFileSync(`/proc/${server().child.pid}/stat`, 'utf8').includes(') T ');

/**
 * Starts a projector again, which suspends itself with work in hand. If another of its threads holds write locks on
 * files that other processes of the data directory need, which nothing can take from it, it is started once more.
 */
const suspendWithWork = async (late: Part, load: Load, directory: string | undefined): Promise<void> => {
  do {
    late.server().child.kill('SIGCONT');
    await late.stop();
    await late.start(WITH_WORK_IN_HAND);
    await until(
      () => load.progress(1),
      () => isSuspended(late),
    );
  } while (directory !== undefined && isSharedFileLocked(directory));
};

/**
 * Suspends a projector for longer than its leases last, until the other has all partitions.
 *
 * @param isShared resolves with true when each of the two has half of them again.
 * @returns true when the work that it had in hand was refused.
 */
const suspendPastLeases = async (
  load: Load,
  directory: string | undefined,
  isShared: () => Promise<boolean>,
): Promise<boolean> => {
  const [late, other] = [load.parts().process('projector-1'), load.parts().process('projector-2')];
  try {
    await suspendWithWork(late, load, directory);
    await until(
      () => load.progress(1),
      () => partitionsKept(other) === PARTITIONS,
    );
    await load.progress();
  } finally {
    late.server().child.kill('SIGCONT');
  }
  await until(isShared, (shared) => shared);
  return refusals(late) > 0;
};

/** The times from the last renewal of each lease to its takeover; leases that were released are left out. */
const takenAfterMs = (takeovers: readonly Takeover[]): readonly number[] =>
  takeovers.filter(({ isReleased }) => !isReleased).map(({ expiredMs, takenMs }) => takenMs - expiredMs + LEASE_MS);

/** Expects every takeover in time, because there was always another projector that could take the partition. */
const expectTakenInTime = (takeovers: readonly Takeover[], least: number): void => {
  const tookMs = takenAfterMs(takeovers);
  say(`partitions taken over after ${tookMs.join(', ')} ms`);
  expect(tookMs.length).toBeGreaterThanOrEqual(least);
  expect(tookMs.filter((ms) => ms >= TAKEN_OVER_MS)).toEqual([]);
};

/** Expects each of the two projectors to keep half of the partitions, according to its last log message about them. */
const expectNothingStuck = async ({ parts }: Load): Promise<void> => {
  const counts = () =>
    Promise.resolve(['projector-1', 'projector-2'].map((name) => partitionsKept(parts().process(name))));
  expect(await until(counts, (each) => each.every((count) => count === PARTITIONS / 2))).toEqual([4, 4]);
};

/** Defines the tests of one setting of the processes; without leases, no projector is suspended or stopped. */
const testsOf = (
  what: string,
  setting: Setting,
  { kills, leases = true }: { kills: number; leases?: boolean },
): void => {
  describe(`processes of one role each, ${what}`, () => {
    const load = underLoad(setting);
    let watch: TakeoverWatch | undefined;
    /** The data directory, when the views are in it. */
    const directory = () => (setting.location ? undefined : join(load.parts().directory, 'data'));
    const takenOver = async () => (await watch?.all()) ?? [];
    beforeAll(async () => {
      await load.start();
      if (leases) watch = watchTakeovers(join(load.parts().directory, 'data'), setting.location);
    }, LIMIT_MS);
    afterAll(async () => {
      await watch?.close();
      await load.close();
    }, LIMIT_MS);

    it(
      `are killed ${kills} times, one after another, and acknowledge more events after each kill`,
      async () => {
        for (let kill = 0; kill < kills; kill += 1) {
          const victim = VICTIMS[kill % VICTIMS.length]!;
          const { parts } = load;
          say(`kill ${kill + 1} of ${kills}: ${victim}, ${load.recorded.size} events acknowledged`);
          await load.launchSome();
          await load.progress();
          if (victim === 'log') await parts().log.restart();
          else {
            await parts().process(victim).kill();
            await load.launchSome();
            await parts().process(victim).start();
          }
        }
        await load.progress();
      },
      LIMIT_MS,
    );

    it.runIf(leases)(
      'have a projector suspended past its leases: another one takes over, and a pending write of the suspended one is refused',
      async () => {
        const isShared = async () => (await watch?.shares())?.join() === '4,4';
        let suspensions = 0;
        let refused = 0;
        while (suspensions < SUSPENSIONS.least || (suspensions < SUSPENSIONS.most && refused === 0)) {
          if (await suspendPastLeases(load, directory(), isShared)) refused += 1;
          suspensions += 1;
        }
        say(`the work of a suspended projector was refused ${refused} times in ${suspensions} suspensions`);
        expect(refused).toBeGreaterThan(0);
        expectTakenInTime(await takenOver(), suspensions);
        await expectNothingStuck(load);
      },
      LIMIT_MS,
    );

    it.runIf(leases)(
      'have a projector stopped: it releases its partitions, so no process waits for its leases to expire',
      async () => {
        const [stopping, other] = [load.parts().process('projector-1'), load.parts().process('projector-2')];
        // The suspended projector may not have its partitions any more, although its last log message says so.
        await until(
          async () => watch?.shares(),
          (shares) => shares?.join() === '4,4',
        );
        const before = (await takenOver()).length;
        expect(await stopping.stop()).toBe(0);
        await until(
          () => load.progress(1),
          () => partitionsKept(other) === PARTITIONS,
        );
        const takeovers = (await takenOver()).slice(before);
        expect(takeovers.map(({ isReleased }) => isReleased)).toEqual(Array<boolean>(PARTITIONS / 2).fill(true));
        expect(takeovers.filter(({ takenMs, expiredMs }) => takenMs >= expiredMs)).toEqual([]);
        await stopping.start();
        await expectNothingStuck(load);
      },
      LIMIT_MS,
    );

    it(
      'have lost and doubled nothing, and show what the log says',
      async () => {
        const { endedBecause, dropped } = await load.finish();
        expect(endedBecause).toBe('idle');
        expect([...dropped]).toEqual([]);
        say(await expectNothingLost(load));
      },
      LIMIT_MS,
    );
  });
};

testsOf('under load', {}, { kills: KILLS });
const WITHOUT_LEASES = { FLIGHTLOG_LEASES: 'off' };
testsOf('without leases', { env: WITHOUT_LEASES }, { kills: Math.ceil(KILLS / 3), leases: false });

describe.skipIf(mongoUrl === undefined)('with a MongoDB', () => {
  // Views belong to one log, and each setting has its own log.
  const locations = [newMongoLocation(), newMongoLocation()] as const;
  const location = locations[0];
  const [args, alone] = [
    ['--read-store', locations[0].url],
    ['--read-store', locations[1].url],
  ] as const;
  const prefix = newPrefix();
  const kafka = { FLIGHTLOG_KAFKA_BROKERS: kafkaBrokers ?? '', FLIGHTLOG_KAFKA_TOPIC_PREFIX: prefix };
  const exporting: Setting =
    kafkaBrokers === undefined
      ? { args, location }
      : {
          args,
          location,
          env: kafka,
          settled: async ({ directory, log }, head) => {
            const env = { ...kafka, FLIGHTLOG_EVENT_STORE: `esdb://${log.address}?tls=false` };
            const { expected } = await reconciled(join(directory, 'data'), head, env);
            say(`Kafka has ${expected} events, each once`);
          },
        };
  afterAll(async () => {
    for (const location of locations) await dropDatabase(location);
  });

  testsOf(`under load, ${kafkaBrokers === undefined ? 'without Kafka' : 'and Kafka'}`, exporting, {
    kills: MONGO_KILLS,
  });
  testsOf(
    'without leases',
    { args: alone, location: locations[1], env: WITHOUT_LEASES },
    { kills: Math.ceil(MONGO_KILLS / 4), leases: false },
  );
});
