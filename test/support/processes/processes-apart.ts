import { createHash } from 'node:crypto';
import { Kafka, logLevel } from 'kafkajs';

import { flightlog } from './command.js';
import { kafkaBrokers } from '../servers/kafka-server.js';
import { readStoreEnvironment } from '../servers/mongo-server.js';
import { type ServerProcess, startServerProcess } from './server-process.js';
import { eventStoreEnvironment } from './test-log.js';
import { until } from '../until.js';

/**
 * True when a control plane under test has processes of one role each: two that serve the interface, two projectors and
 * a reactor, which exports to Kafka where FLIGHTLOG_TEST_KAFKA names brokers. The logs must be in event stores.
 */
export const areApart = process.env['FLIGHTLOG_TEST_ROLES'] === 'apart';

const ROLES = ['api', 'api', 'projector', 'projector', 'reactor'];

/** The processes of a control plane, used like one: the first that serves the interface represents them. */
export type Processes = ServerProcess & { readonly apis: readonly ServerProcess[] };

/** One partition for each topic, because a broker of tests has thousands of topics. */
const kafkaEnvironment = (prefix: string) => ({
  FLIGHTLOG_KAFKA_BROKERS: kafkaBrokers ?? '',
  FLIGHTLOG_KAFKA_TOPIC_PREFIX: prefix,
  FLIGHTLOG_KAFKA_TOPIC_PARTITIONS: '1',
});

/** The topic prefixes of data directories, by the directory. */
const prefixes = new Map<string, string>();

const prefixOf = (data: string): string => {
  const prefix = prefixes.get(data) ?? `test-${createHash('sha256').update(data).digest('hex').slice(0, 18)}`;
  prefixes.set(data, prefix);
  return prefix;
};

/** The variables with which the processes of a data directory export to Kafka; none without brokers. */
const exporting = (data: string): Readonly<Record<string, string>> =>
  kafkaBrokers === undefined ? {} : kafkaEnvironment(prefixOf(data));

/** Starts the processes of a control plane, all at once, and waits until they are ready. */
export const startApart = async (data: string, env: Readonly<Record<string, string>>): Promise<Processes> => {
  const all = { ...exporting(data), ...env };
  const processes = await Promise.all(
    ROLES.map((role) => startServerProcess({ data, args: ['--role', role], env: all })),
  );
  const [first] = processes;
  if (first === undefined) throw new Error('no process was started');
  const stop = async (): Promise<number | null> => {
    const codes = await Promise.all(processes.map((each) => each.stop()));
    return codes.find((code) => code !== 0) ?? 0;
  };
  return {
    ...first,
    apis: processes.slice(0, 2),
    log: () => processes.map((each) => each.log()).join(''),
    stop,
    kill: async () => {
      await Promise.all(processes.map((each) => each.kill()));
    },
  };
};

/** The output of `flightlog export reconcile`: numbers of events. */
type Reconciled = {
  readonly expected: number;
  readonly missing: number;
  readonly doubled: number;
  readonly reordered: number;
};

/**
 * Waits until Kafka has all events of a log up to a position, as `flightlog export reconcile` reports it.
 *
 * @throws {Error} with its report, when an event is doubled or reordered, when no event is expected, or when events are
 *   still missing after the limit of `until`.
 */
export const reconciled = async (
  data: string,
  head: bigint,
  env: Readonly<Record<string, string>> = {},
): Promise<Reconciled> => {
  const stores = { ...eventStoreEnvironment(data), ...readStoreEnvironment(data), ...exporting(data), ...env };
  const command = ['export', 'reconcile', '--data', data, '--to', head.toString()];
  const ask = async (): Promise<Reconciled> => {
    const { stdout, stderr } = await flightlog(command, { env: stores }).ended;
    if (stdout === '') throw new Error(stderr);
    return JSON.parse(stdout) as Reconciled;
  };
  const found = await until(ask, ({ missing, doubled, reordered }) => missing === 0 || doubled + reordered > 0);
  if (found.expected === 0 || found.doubled + found.reordered > 0)
    throw new Error(`the Kafka topics differ from the log: ${JSON.stringify(found)}`);
  return found;
};

/** Removes the topics of the data directories of a test file. */
export const dropTestTopics = async (): Promise<void> => {
  if (prefixes.size === 0) return;
  const admin = new Kafka({ brokers: [kafkaBrokers ?? ''], logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  const names = [...prefixes.values()];
  const topics = (await admin.listTopics()).filter((topic) => names.some((name) => topic.startsWith(name)));
  if (topics.length > 0) await admin.deleteTopics({ topics });
  await admin.disconnect();
  prefixes.clear();
};
