import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Kafka, logLevel } from 'kafkajs';
import { MongoClient } from 'mongodb';
import { afterAll, describe, expect, it } from 'vitest';

import { type Ended, flightlog, type Running } from '../support/processes/command.js';
import { readiness } from '../support/processes/health.js';
import { createTopic, kafkaBrokers, newPrefix } from '../support/servers/kafka-server.js';
import { dropDatabase, mongoUrl, newMongoLocation } from '../support/servers/mongo-server.js';
import { startProxy } from '../support/proxies/proxy.js';
import { startServerProcess } from '../support/processes/server-process.js';
import { until } from '../support/until.js';

const LIMIT_MS = 120_000;
const folder = mkdtempSync(join(tmpdir(), 'flightlog-startup-'));
afterAll(() => rmSync(folder, { recursive: true }));

let count = 0;
/** The path of a data directory that does not exist yet. */
const newData = (): string => join(folder, `data-${(count += 1)}`);

/** Starts `flightlog serve` with a data directory of its own, on free ports. */
const serve = (args: readonly string[], env: Readonly<Record<string, string>> = {}, level = 'fatal'): Running =>
  flightlog(
    [
      ...['serve', '--insecure', '--data', newData(), '--log-level', level],
      ...['--grpc-port', '0', '--http-port', '0', '--eventstore-port', '0'],
      ...args,
    ],
    { env },
  );

/** Expects that the process has ended with code 1, and that its whole standard error is, or matches, the line. */
const expectRefused = ({ code, stderr }: Ended, line: string | RegExp): void => {
  const expected = typeof line === 'string' ? `flightlog: ${line}\n` : (expect.stringMatching(line) as string);
  expect({ code, stderr }).toEqual({ code: 1, stderr: expected });
};

describe.skipIf(mongoUrl === undefined)('a start with a read store that cannot be used', () => {
  const location = newMongoLocation();
  const client = new MongoClient(location.url);
  afterAll(async () => {
    await client.close();
    await dropDatabase(location);
  });

  /** Writes the label of the database, as the views of another log have it. */
  const setLabel = async (fields: Readonly<Record<string, unknown>>): Promise<void> => {
    const views = { _id: 'views' as never, logId: 'theirs', build: 0, ...fields };
    await client.db(location.database).collection('flightlog').replaceOne({ _id: views._id }, views, { upsert: true });
  };
  const withUrl = (change: (url: URL) => void): string => {
    const url = new URL(location.url);
    change(url);
    return url.href;
  };
  /** Starts a server with this read store, and waits until its process ends. */
  const startedUntilEnd = (url: string): Promise<Ended> =>
    serve(['--event-store', 'embedded:', '--read-store', url]).ended;

  it.for<[string, () => string, RegExp]>([
    [
      'wrong credentials',
      () => withUrl((url) => Object.assign(url, { username: 'nobody', password: 'wrong-secret' })),
      /^flightlog: read_store: the read store mongodb:\/\/[^@]+ refuses: .*\n$/u,
    ],
  ])('ends with an error that names read_store: %s', { timeout: LIMIT_MS }, async ([, url, line]) => {
    expectRefused(await startedUntilEnd(url()), line);
  });

  it(
    'waits when the address asks for TLS and the server has none and closes connections, and logs a hint',
    async () => {
      const url = withUrl(({ searchParams }) => {
        searchParams.set('tls', 'true');
        searchParams.set('serverSelectionTimeoutMS', '500');
      });
      const server = serve(['--event-store', 'embedded:', '--read-store', url], {}, 'warn');
      await until(
        () => Promise.resolve(server.stderr()),
        (log) => log.includes('a MongoDB must listen at the address, with TLS only if the address has tls=true'),
      );
      server.child.kill('SIGTERM');
      expect((await server.ended).code).toBe(0);
    },
    LIMIT_MS,
  );

  it(
    'ends with an error when the views are those of another log, in every role that has views',
    async () => {
      await setLabel({ format: 1 });
      const line =
        /^flightlog: read_store: the read store \S+ has the views of another log \(theirs; this one is \S+\): name another/u;
      expectRefused(await startedUntilEnd(location.url), line);
      const log = await startServerProcess({ data: newData(), args: ['--role', 'log'] });
      const shared = ['--event-store', `esdb://${log.ready.eventstore}?tls=false`, '--read-store', location.url];
      for (const role of ['api', 'projector', 'reactor'])
        expectRefused(await serve([...shared, '--role', role]).ended, line);
      await log.stop();
    },
    2 * LIMIT_MS,
  );

  it(
    'ends with an error when a newer release has written the views',
    async () => {
      await setLabel({ format: 99 });
      expectRefused(
        await startedUntilEnd(location.url),
        /^flightlog: read_store: a newer release has written the views in \S+ \(format 99, this one knows 1\): start that one\n$/u,
      );
    },
    LIMIT_MS,
  );

  it(
    'waits for a server that cannot be reached, and is ready once the server can be reached',
    async () => {
      const own = newMongoLocation();
      const proxy = await startProxy(new URL(own.url).host);
      proxy.shut();
      const url = `mongodb://${proxy.address}/${own.database}?directConnection=true&serverSelectionTimeoutMS=500`;
      const server = serve(['--event-store', 'embedded:', '--read-store', url], {}, 'warn');
      await until(
        () => Promise.resolve(server.stderr()),
        (log) => log.includes('the read store (read_store) cannot be reached; retrying'),
      );
      expect(server.stderr()).toContain('a MongoDB must listen at the address');
      expect(server.stdout()).toBe('');
      proxy.open();
      await server.said('"ready":true');
      server.child.kill('SIGTERM');
      expect((await server.ended).code).toBe(0);
      await proxy.close();
      await dropDatabase(own);
    },
    LIMIT_MS,
  );
});

describe.skipIf(kafkaBrokers === undefined)('a start with topics that cannot be published to', () => {
  const kafka = new Kafka({ brokers: (kafkaBrokers ?? '').split(','), logLevel: logLevel.NOTHING });

  /** Creates a topic of one partition, and publishes the record, as JSON unless it is a text. */
  const createTopicWith = async (topic: string, policy: string, record?: unknown): Promise<void> => {
    await createTopic({ topic, numPartitions: 1, configEntries: [{ name: 'cleanup.policy', value: policy }] });
    if (record === undefined) return;
    const producer = kafka.producer();
    await producer.connect();
    const value = typeof record === 'string' ? record : JSON.stringify(record);
    await producer.send({ topic, messages: [{ key: '0', value }] });
    await producer.disconnect();
  };
  /** Starts a server that exports to the topics with this prefix, and waits until its process ends. */
  const startedUntilEnd = (prefix: string): Promise<Ended> =>
    serve(['--event-store', 'embedded:', '--kafka', kafkaBrokers ?? ''], {
      FLIGHTLOG_KAFKA_TOPIC_PREFIX: prefix,
      FLIGHTLOG_KAFKA_TOPIC_PARTITIONS: '1',
    }).ended;
  /** A record of the topic of positions, as a worker that exports another log writes it; `parts` counts partitions. */
  const position = { logId: randomUUID(), position: '7', parts: 1, worker: 'theirs' };
  const REFUSED = 'flightlog: stopped by a failure: kafka: ';

  it.for<[string, string, string, unknown, (prefix: string) => string]>([
    [
      'that keep only the last event of each key',
      'execution.v1',
      'compact',
      undefined,
      (prefix) =>
        `topic ${prefix}.execution.v1 exists with other settings: cleanup.policy compact instead of delete; change the topic`,
    ],
    [
      'of another log',
      'export.positions.v1',
      'compact',
      position,
      (prefix) => `the topics ${prefix}.* have the events of another log, ${position.logId}, and this one is `,
    ],
    [
      'of a newer release',
      'export.positions.v1',
      'compact',
      { ...position, format: 99 },
      (prefix) =>
        `a newer release has written topic ${prefix}.export.positions.v1 (format 99; this release knows 1): start that one`,
    ],
    [
      'whose topic of positions has a record that is no position',
      'export.positions.v1',
      'compact',
      'no position',
      (prefix) =>
        `topic ${prefix}.export.positions.v1 has something else than positions of an export: publish to other`,
    ],
  ])(
    'ends with an error that names kafka, for topics %s',
    { timeout: LIMIT_MS },
    async ([, name, policy, record, line]) => {
      const prefix = newPrefix();
      await createTopicWith(`${prefix}.${name}`, policy, record);
      const { code, stderr } = await startedUntilEnd(prefix);
      expect({ code, stderr }).toEqual({
        code: 1,
        stderr: expect.stringContaining(`${REFUSED}${line(prefix)}`) as string,
      });
      expect(stderr.trim().split('\n')).toHaveLength(1);
    },
  );

  it(
    'waits for brokers that cannot be reached; its check `export` is degraded meanwhile, and well afterwards',
    async () => {
      const proxy = await startProxy((kafkaBrokers ?? '').split(',')[0] ?? '');
      proxy.shut();
      const server = await startServerProcess({
        data: newData(),
        args: ['--event-store', 'embedded:', '--kafka', proxy.address],
        env: { FLIGHTLOG_KAFKA_TOPIC_PREFIX: newPrefix(), FLIGHTLOG_KAFKA_TOPIC_PARTITIONS: '1' },
      });
      const checked = await until(
        () => readiness(server.ready.http),
        ({ checks }) => checks['export']?.state === 'degraded',
      );
      expect(checked.ready).toBe(true);
      expect(checked.checks['export']?.why).toContain(`Kafka at ${proxy.address}: `);
      proxy.open();
      await until(
        () => readiness(server.ready.http),
        ({ checks }) => checks['export']?.state === 'well',
      );
      expect(await server.stop()).toBe(0);
      await proxy.close();
    },
    LIMIT_MS,
  );
});
