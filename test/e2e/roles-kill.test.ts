import { join } from 'node:path';
import { fromBinary } from '@bufbuild/protobuf';
import { BinaryReader } from '@bufbuild/protobuf/wire';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { EngineReportedSchema } from '../../proto/gen/platformidl/eventlog/execution_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { runEngine } from '../../services/engine/engine.js';
import type { EngineSummary } from '../../services/engine/options.js';
import { sha256Hex } from '../../services/kernel/hash.js';
import { bytesOf, type Content } from '../../services/kernel/payload-store.js';
import { filePayloadStore } from '../../services/store/file-payload-store.js';
import { sqliteLogReader } from '../../services/store/sqlite-log-reader.js';
import { register } from '../support/control-plane.js';
import { withNeeds } from '../support/fixtures.js';
import { type GrpcClient, grpcClient } from '../support/grpc-client.js';
import { helloRequest } from '../support/hello.js';
import { modelOf } from '../support/independent-model.js';
import { kafkaBrokers, newPrefix } from '../support/kafka-server.js';
import { dropDatabase, mongoUrl, newMongoLocation } from '../support/mongo-server.js';
import { reconciled } from '../support/processes-apart.js';
import { type Part, type Parts, startParts } from '../support/roles.js';
import { overGrpc, type Transport } from '../support/transports.js';
import { until } from '../support/until.js';
import { viewDifferences } from '../support/view-check.js';

/** How often some process is killed under load; a longer run by this variable. */
const KILLS = Number(process.env['FLIGHTLOG_TEST_KILLS'] ?? 4);
/** Small: what is killed and comes back is what takes the time. */
const RATE = 40;
const LIMIT_MS = 180_000 + KILLS * 30_000;
const ENDED = new Set([4, 6, 7, 8]);
/** Within this a partition is taken over of one that is gone, where the machine has nothing else to do. */
const TAKEN_OVER_MS = 10_000;
const isTimed = process.env['FLIGHTLOG_TEST_KILLS'] !== undefined;
/** So often one is stopped at least, and at most until it is stopped with something in hand. */
const STOPS = { least: 2, most: 10 };
const PARTITIONS = 8;
const KEEPS = 'this process keeps these partitions of the views';
const REFUSED = 'somebody else has moved a checkpoint of the views';

const VICTIMS = ['projector-1', 'api-2', 'reactor-1', 'log', 'projector-2', 'api-1'];

const say = (text: string): void => void process.stdout.write(`${text}\n`);

/** The `event` field of a request: what the log keeps, byte for byte. */
const eventIn = (request: Uint8Array): Uint8Array => {
  const reader = new BinaryReader(request);
  while (reader.pos < reader.len) {
    const [field, wireType] = reader.tag();
    if (field === 2) return reader.bytes();
    reader.skip(wireType);
  }
  throw new Error('a request without an event');
};

/** How the processes are set up. */
type Setting = {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Waits until what leaves the control plane has left it, and holds it against the log. */
  readonly settled?: (parts: Parts, head: bigint) => Promise<void>;
};

/** How many partitions a projector has said it keeps, last. */
const kept = (projector: Part): number => {
  const lines = projector
    .server()
    .log()
    .split('\n')
    .filter((line) => line.includes(KEEPS));
  return (JSON.parse(lines.at(-1) ?? '{"partitions":[]}') as { partitions: readonly string[] }).partitions.length;
};

const refusals = (projector: Part): number => projector.server().log().split(REFUSED).length - 1;

/** A control plane of five processes and their log, an engine that runs what is launched, and what they were told. */
const underLoad = ({ args = [], env = {}, settled }: Setting) => {
  const recorded = new Set<string>();
  const created = new Set<string>();
  const stopping = new AbortController();
  let parts: Parts;
  let apis: readonly Transport[] = [];
  let engine: Promise<EngineSummary> = Promise.reject(new Error('no engine was started'));
  engine.catch(() => undefined);
  let launches = 0;

  const watch = {
    sending: () => undefined,
    answered: (request: Uint8Array, answer: 'recorded' | 'refused') => {
      if (answer === 'recorded') recorded.add(sha256Hex(eventIn(request)));
    },
  };
  const logger = { debug: () => undefined, info: () => undefined, warn: () => undefined };
  const run = (untilIdle: boolean, signal: AbortSignal): Promise<EngineSummary> =>
    runEngine(
      {
        endpoint: parts.part('api-1').server().ready.grpc,
        concurrency: 16,
        rate: RATE,
        failureProbability: 0.05,
        seed: 'roles',
        gates: 'auto',
        untilIdle,
      },
      { signal, logger, watch },
    );

  /** Launches through both by turns; what the caller was told is remembered. */
  const launch = async (): Promise<void> => {
    const turn = launches++;
    const name = `killed-${turn}`;
    const { code } = await apis[turn % 2]!.refused(AdminService.method.createExecution, helloRequest(name));
    if (code === 'OK' || code === 'ALREADY_EXISTS') created.add(`flytesnacks/development/${name}`);
  };

  return {
    parts: () => parts,
    settled,
    recorded,
    created,
    launchSome: () => Promise.all(Array.from({ length: 6 }, launch)),
    /** Waits until the engine is told of so many more events. */
    progress: async (events = 10): Promise<void> => {
      const wanted = recorded.size + events;
      await until(
        async () => {
          if (launches < created.size + 200) await launch();
          return recorded.size;
        },
        (size) => size >= wanted,
      );
    },
    start: async (): Promise<void> => {
      const verbose = [...args, '--log-level', 'debug'];
      parts = await startParts(['api', 'api', 'projector', 'projector', 'reactor'], { env, args: verbose });
      apis = ['api-1', 'api-2'].map((name) => overGrpc(parts.part(name).server().ready));
      await register(apis[0]!, withNeeds('01-hello'));
      engine = run(false, stopping.signal);
    },
    finish: async (): Promise<EngineSummary> => {
      stopping.abort();
      await engine.catch(() => undefined);
      return run(true, new AbortController().signal);
    },
    close: async (): Promise<void> => {
      stopping.abort();
      await engine.catch(() => undefined);
      for (const api of apis) api.close();
      await parts.close();
    },
  };
};

type Load = ReturnType<typeof underLoad>;

/** Everything acknowledged is in the log once, and the views of each API process are what the log says. */
const expectNothingLost = async ({ parts, recorded, created, settled }: Load): Promise<void> => {
  const { directory, logDirectory, part } = parts();
  const log = await sqliteLogReader({ directory: logDirectory });
  const payloads = filePayloadStore({ directory: `${directory}/data` });
  const read = (content: Content): Promise<Uint8Array> => bytesOf(content, payloads);
  const times = new Map<string, number>();
  for await (const { events } of log.readLog({ after: 0n, filter: { types: ['EngineReported'] } })) {
    for (const { data } of events) {
      const hash = sha256Hex(await read(fromBinary(EngineReportedSchema, data).message!));
      times.set(hash, (times.get(hash) ?? 0) + 1);
    }
  }
  expect([...times.values()].filter((count) => count !== 1)).toEqual([]);
  expect([...recorded].filter((hash) => !times.has(hash))).toEqual([]);

  const model = await modelOf(log, read);
  expect([...created].filter((name) => !model.has(name))).toEqual([]);
  expect([...model].filter(([, { phase }]) => !ENDED.has(phase)).map(([name]) => name)).toEqual([]);
  const head = await log.head();
  await log.close();
  await settled?.(parts(), head);
  for (const name of ['api-1', 'api-2']) {
    const client: GrpcClient = grpcClient(part(name).server().ready.grpc);
    const seen = (): Promise<readonly string[]> => viewDifferences(client, model);
    expect(await until(seen, (differences) => differences.length === 0)).toEqual([]);
    client.close();
  }
  say(`${recorded.size} events acknowledged, ${model.size} executions`);
};

/** Stops a projector for longer than its claims hold; answers how long the other took to have all partitions. */
const stopped = async (load: Load): Promise<number> => {
  const [late, other] = [load.parts().part('projector-1'), load.parts().part('projector-2')];
  await until(
    () => load.progress(1),
    () => kept(late) + kept(other) === PARTITIONS && kept(late) > 0,
  );
  late.server().child.kill('SIGSTOP');
  const since = performance.now();
  await until(
    () => load.progress(1),
    () => kept(other) === PARTITIONS,
  );
  const tookMs = performance.now() - since;
  await load.progress();
  late.server().child.kill('SIGCONT');
  return tookMs;
};

/** Nobody keeps more of the work than there is, and none of it is left to nobody. */
const expectNothingStuck = async ({ parts }: Load): Promise<void> => {
  const counts = () => Promise.resolve(['projector-1', 'projector-2'].map((name) => kept(parts().part(name))));
  expect(await until(counts, (each) => each.every((count) => count === PARTITIONS / 2))).toEqual([4, 4]);
};

const story = (what: string, setting: Setting, { kills, claims = true }: { kills: number; claims?: boolean }): void => {
  describe(`processes of all roles ${what}`, () => {
    const load = underLoad(setting);
    beforeAll(() => load.start(), LIMIT_MS);
    afterAll(() => load.close(), LIMIT_MS);

    it(
      `are killed ${kills} times, one after another, and go on`,
      async () => {
        for (let kill = 0; kill < kills; kill += 1) {
          const victim = VICTIMS[kill % VICTIMS.length]!;
          const { parts } = load;
          say(`kill ${kill + 1} of ${kills}: ${victim}, ${load.recorded.size} events acknowledged`);
          await load.launchSome();
          await load.progress();
          if (victim === 'log') await parts().log.restart();
          else {
            await parts().part(victim).kill();
            await load.launchSome();
            await parts().part(victim).start();
          }
        }
        await load.progress();
      },
      LIMIT_MS,
    );

    it.runIf(claims)(
      'have one stand still past its claims: the other takes over, and what the late one had in hand is refused',
      async () => {
        const late = load.parts().part('projector-1');
        const refusedBefore = refusals(late);
        const tookMs: number[] = [];
        while (tookMs.length < STOPS.least || (tookMs.length < STOPS.most && refusals(late) === refusedBefore)) {
          tookMs.push(Math.round(await stopped(load)));
          await load.progress();
        }
        say(`taken over after ${tookMs.join(', ')} ms`);
        expect(refusals(late)).toBeGreaterThan(refusedBefore);
        // Other work on the machine only adds to it.
        if (isTimed) expect(Math.min(...tookMs)).toBeLessThan(TAKEN_OVER_MS);
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
        await expectNothingLost(load);
      },
      LIMIT_MS,
    );
  });
};

story('under load', {}, { kills: KILLS });
const everyone = { FLIGHTLOG_CLAIMS: 'off' };
story('that all work on everything', { env: everyone }, { kills: Math.ceil(KILLS / 3), claims: false });

describe.skipIf(mongoUrl === undefined)('with a MongoDB', () => {
  // Views belong to one log, and each story has one of its own.
  const locations = [newMongoLocation(), newMongoLocation()] as const;
  const [args, alone] = [
    ['--read-store', locations[0].url],
    ['--read-store', locations[1].url],
  ] as const;
  const prefix = newPrefix();
  const kafka = { FLIGHTLOG_KAFKA_BROKERS: kafkaBrokers ?? '', FLIGHTLOG_KAFKA_TOPIC_PREFIX: prefix };
  const exporting: Setting =
    kafkaBrokers === undefined
      ? { args }
      : {
          args,
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

  story(`under load, ${kafkaBrokers === undefined ? 'without Kafka' : 'and Kafka'}`, exporting, { kills: KILLS });
  story('that all work on everything', { args: alone, env: everyone }, { kills: Math.ceil(KILLS / 4), claims: false });
});
