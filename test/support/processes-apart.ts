import { createHash } from 'node:crypto';
import { Kafka, logLevel } from 'kafkajs';

import { flightlog } from './command.js';
import { kafkaBrokers } from './kafka-server.js';
import { readStoreEnvironment } from './mongo-server.js';
import { type ServerProcess, startServerProcess } from './server-process.js';
import { eventStoreEnvironment } from './test-log.js';
import { until } from './until.js';

/**
 * Whether a control plane under test is processes of a role each: two that serve the interface, two projectors and a
 * reactor, which publishes to Kafka where FLIGHTLOG_TEST_KAFKA names one. They need FLIGHTLOG_TEST_LOG=eventstore.
 */
export const areApart = process.env['FLIGHTLOG_TEST_ROLES'] === 'apart';

const ROLES = ['api', 'api', 'projector', 'projector', 'reactor'];

/** Processes of a control plane, as one: the first that serves the interface stands for them. */
export type Processes = ServerProcess & { readonly apis: readonly ServerProcess[] };

/** One partition each, since a broker of a test has thousands of topics. */
const kafkaEnvironment = (prefix: string) => ({
  FLIGHTLOG_KAFKA_BROKERS: kafkaBrokers ?? '',
  FLIGHTLOG_KAFKA_TOPIC_PREFIX: prefix,
  FLIGHTLOG_KAFKA_TOPIC_PARTITIONS: '1',
});

/** What the names of the topics of data directories begin with, by the directory. */
const prefixes = new Map<string, string>();

const prefixOf = (data: string): string => {
  const prefix = prefixes.get(data) ?? `test-${createHash('sha256').update(data).digest('hex').slice(0, 18)}`;
  prefixes.set(data, prefix);
  return prefix;
};

const exporting = (data: string): Readonly<Record<string, string>> =>
  kafkaBrokers === undefined ? {} : kafkaEnvironment(prefixOf(data));

/** Starts a control plane of processes, all at once, and waits until they are ready. */
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

/** What `flightlog export reconcile` says of the topics of a log. */
type Reconciled = {
  readonly expected: number;
  readonly missing: number;
  readonly doubled: number;
  readonly reordered: number;
};

/**
 * Waits until Kafka has all that is in a log up to a position, as `flightlog export reconcile` finds it.
 *
 * @throws {Error} with what it finds, when something is missing after half a minute, doubled or reordered.
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
    throw new Error(`Kafka is not what the log is: ${JSON.stringify(found)}`);
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
