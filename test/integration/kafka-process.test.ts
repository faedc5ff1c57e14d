import { rmSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { flightlog, freePort } from '../support/processes/command.js';
import { openEmptyLog, report } from '../support/streams/filled-log.js';
import {
  consume,
  createTopic,
  eventsIn,
  kafkaBrokers,
  kafkaSaslBrokers,
  newPrefix,
  send,
} from '../support/servers/kafka-server.js';
import { startServerProcess } from '../support/processes/server-process.js';
import { until } from '../support/until.js';

const KILLS = 6;
/** Events in the log of the killed server: 40 batches of ten in each of 50 streams. */
const EVENTS = 20_000;
/** A kill comes when more events are published than this number times the kills before. */
const PROGRESS = 1_000;

/** Creates a log with this many batches of ten events in each of 50 streams, and closes it. */
const logOf = async (batches: number): Promise<string> => {
  const { directory, store } = await openEmptyLog();
  await report(store, 50, batches);
  await store.close();
  return directory;
};

/** Runs `flightlog export` with these arguments; `output` is the JSON that it prints. */
const exportCommand = async (data: string, prefix: string, args: readonly string[]) => {
  const env = { FLIGHTLOG_KAFKA_TOPIC_PREFIX: prefix };
  const { code, stdout, stderr } = await flightlog(['export', ...args, '--data', data, '--kafka', kafkaBrokers ?? ''], {
    env,
  }).ended;
  return { code, stderr, output: JSON.parse(stdout || '{}') as Readonly<Record<string, unknown>> };
};

describe.skipIf(kafkaBrokers === undefined)('a server with Kafka', () => {
  it('has published each event once after it was killed six times', async () => {
    const data = await logOf(40);
    const prefix = newPrefix();
    const starting = { data, args: ['--kafka', kafkaBrokers!], env: { FLIGHTLOG_KAFKA_TOPIC_PREFIX: prefix } };
    for (let kills = 0; kills < KILLS; kills += 1) {
      const server = await startServerProcess(starting);
      await until(
        async () => eventsIn(await consume(prefix)).length,
        (count) => count > kills * PROGRESS,
      );
      await server.kill();
    }
    const server = await startServerProcess(starting);
    const published = await until(
      async () => eventsIn(await consume(prefix)),
      ({ length }) => length >= EVENTS,
    );
    expect(published).toHaveLength(EVENTS);
    expect(new Set(published.map(({ id }) => id)).size).toBe(EVENTS);
    expect(await server.stop()).toBe(0);
    const { code, output } = await exportCommand(data, prefix, ['reconcile']);
    expect(output).toMatchObject({ expected: EVENTS, found: EVENTS, missing: 0, doubled: 0, reordered: 0 });
    expect(code).toBe(0);
  }, 180_000);

  it.each([
    ['plain', 'it does not accept the credentials'],
    ['scram-sha-512', 'it does not support the mechanism of authentication: set kafka.sasl_mechanism'],
  ])(
    'ends with one line of error when its brokers refuse to sign it in with the mechanism %s',
    async (mechanism, reason) => {
      const data = await logOf(1);
      const env = {
        FLIGHTLOG_KAFKA_SASL_MECHANISM: mechanism,
        FLIGHTLOG_KAFKA_SASL_USERNAME: 'flightlog',
        FLIGHTLOG_KAFKA_SASL_PASSWORD: 'wrong',
      };
      const args = [
        'serve',
        '--insecure',
        '--data',
        data,
        '--grpc-port',
        '0',
        '--http-port',
        '0',
        '--log-level',
        'fatal',
      ];
      const { code, stderr } = await flightlog([...args, '--kafka', kafkaSaslBrokers!], { env }).ended;
      expect(stderr).toMatch(/^flightlog: .*Kafka at \S+ cannot be used: .*\n$/u);
      expect(stderr).toContain(`cannot be used: ${reason}\n`);
      expect(code).toBe(1);
    },
  );
});

describe.skipIf(kafkaBrokers === undefined)('the command flightlog export', () => {
  it('replays a part of a log to a topic of no export, and finds missing and doubled events there', async () => {
    const data = await logOf(1);
    const prefix = newPrefix();
    const topic = `${prefix}-again`;
    const filter = ['--filter', 'entity=flytesnacks/development/e1'];
    const replayed = await exportCommand(data, prefix, ['replay', '--topic', topic, ...filter]);
    expect(replayed).toMatchObject({ code: 0, output: { topic, events: 10 } });
    const right = await exportCommand(data, prefix, ['reconcile', '--topic', topic, ...filter]);
    expect(right).toMatchObject({ code: 0, output: { expected: 10, found: 10, missing: 0, doubled: 0, reordered: 0 } });
    await exportCommand(data, prefix, ['replay', '--topic', topic, ...filter]);
    const replayedTwice = await exportCommand(data, prefix, ['reconcile', '--topic', topic]);
    expect(replayedTwice).toMatchObject({
      code: 1,
      output: { expected: 500, found: 20, missing: 490, doubled: 10, reordered: 0 },
    });
    const own = await exportCommand(data, prefix, ['replay', '--topic', `${prefix}.execution.v1`]);
    expect(own.code).toBe(1);
    expect(own.stderr).toContain('is one that a log is published to');
    // A topic of another prefix that a log is exported to, as its positions topic shows.
    const other = newPrefix();
    await createTopic({ topic: `${other}.export.positions.v1` });
    for (const name of ['execution', 'export.positions']) {
      const { code, stderr } = await exportCommand(data, prefix, ['replay', '--topic', `${other}.${name}.v1`]);
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('is one that a log') as string });
    }
  });

  it('refuses wrong options and topics, with a message that says what is wrong', async () => {
    const data = await logOf(1);
    const prefix = newPrefix();
    const compacted = `${prefix}-compacted`;
    await createTopic({ topic: compacted, configEntries: [{ name: 'cleanup.policy', value: 'compact' }] });
    const to = ['--topic', `${prefix}-again`];
    const wrong: readonly (readonly [args: readonly string[], text: string])[] = [
      [['replay'], "required option '--topic <name>' not specified"],
      [['replay', '--topic', 'a topic'], 'topics cannot be made: a topic ('],
      [['replay', '--topic', compacted], `topic ${compacted} has cleanup.policy compact, and would lose events`],
      [['replay', ...to, '--from', '9', '--to', '8'], '--from 9 is above --to, 8'],
      [['replay', ...to, '--from', '501'], '--from 501 is above the end of the log, 500'],
      [['replay', ...to, '--from', '-1'], "argument '-1' is invalid. It must be a position"],
      [['replay', ...to, '--filter', 'colour=red'], 'with one of category, type, stream, entity'],
      [['replay', ...to, '--filter', 'category=colour'], '--filter category=colour: there is no such category'],
      [['reconcile', '--filter', 'type=Colour'], '--filter type=Colour: there is no such type'],
      [['reconcile', ...to], `there is no topic ${prefix}-again`],
      [['reconcile'], `there is no topic ${prefix}.execution.v1, `],
    ];
    for (const [args, text] of wrong) {
      const { code, stderr } = await exportCommand(data, prefix, args);
      expect({ args, code, stderr }).toEqual({ args, code: 1, stderr: expect.stringContaining(text) as string });
    }
  }, 120_000);

  it('compares no topics that have the events of another log', async () => {
    const prefix = newPrefix();
    const env = { FLIGHTLOG_KAFKA_TOPIC_PREFIX: prefix };
    const server = await startServerProcess({ data: await logOf(1), args: ['--kafka', kafkaBrokers!], env });
    await until(
      async () => eventsIn(await consume(prefix)).length,
      (count) => count > 0,
    );
    await server.stop();
    const { code, stderr } = await exportCommand(await logOf(1), prefix, ['reconcile']);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('of another log') as string });
  });

  it('says which message of a topic is no CloudEvent', async () => {
    const data = await logOf(1);
    const topic = `${newPrefix()}-other`;
    await createTopic({ topic });
    await send(topic, ['plain text']);
    const { code, stderr } = await exportCommand(data, newPrefix(), ['reconcile', '--topic', topic]);
    expect(code).toBe(1);
    expect(stderr).toContain(`topic ${topic}, offset 0: the message is no CloudEvent`);
  });

  it('says which broker cannot be reached', async () => {
    const broker = `127.0.0.1:${await freePort()}`;
    const args = ['export', 'reconcile', '--data', await logOf(1), '--kafka', broker];
    const { code, stderr } = await flightlog(args).ended;
    expect(stderr).toMatch(new RegExp(`^flightlog: Kafka at ${broker}: .*ECONNREFUSED.*\n$`, 'u'));
    expect(code).toBe(1);
  });
});

describe('a server whose Kafka cannot be reached', () => {
  it('is ready, and says in its log that the export has failed and is retried', async () => {
    const data = await logOf(1);
    const server = await startServerProcess({ data, args: ['--kafka', `127.0.0.1:${await freePort()}`] });
    await until(
      () => Promise.resolve(server.log()),
      (log) => log.includes('the export to Kafka has failed and is retried'),
    );
    expect((await fetch(`http://${server.ready.http.replace(/^http:\/\//u, '')}/readyz`)).status).toBe(200);
    expect(await server.stop()).toBe(0);
    rmSync(data, { recursive: true });
  });
});
