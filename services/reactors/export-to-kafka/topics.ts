import { setTimeout as pause } from 'node:timers/promises';
import kafkajs, { type ITopicConfig, type Kafka } from 'kafkajs';
import { errorTypesIn, ExportRefused } from './failure.js';

/** To be raised when the published events of a category change in a way that consumers must know of. */
const TOPIC_VERSION = 1;

/** Names of the topics, and the settings for creating missing ones. */
export type TopicSettings = {
  /** Prefix of the names of all topics. */
  readonly prefix: string;
  /** Number of Kafka partitions of each topic of events. */
  readonly partitions: number;
  /** Replication factor; -1 is the default of the cluster. */
  readonly replicationFactor: number;
};

/** `flightlog.execution.v1` */
export const topicName = (prefix: string, category: string): string => `${prefix}.${category}.v${TOPIC_VERSION}`;

/** `flightlog.export.positions.v1` */
export const positionsTopic = (prefix: string): string => topicName(prefix, 'export.positions');

type WantedTopic = { readonly topic: string; readonly partitions: number; readonly policy: 'compact' | 'delete' };

const wantedTopics = ({ prefix, partitions }: TopicSettings, categories: readonly string[]): readonly WantedTopic[] => [
  ...categories.map((category): WantedTopic => ({ topic: topicName(prefix, category), partitions, policy: 'delete' })),
  { topic: positionsTopic(prefix), partitions: 1, policy: 'compact' },
];

/**
 * Settings of the positions topic. It is read completely at the start of each session, and again and again on standby:
 * small segments, compacted early, keep it short.
 */
const COMPACTED = [
  { name: 'segment.bytes', value: '8388608' },
  { name: 'min.cleanable.dirty.ratio', value: '0.1' },
];

const configOf = ({ topic, partitions, policy }: WantedTopic, replicationFactor: number): ITopicConfig => ({
  topic,
  numPartitions: partitions,
  replicationFactor,
  configEntries: [{ name: 'cleanup.policy', value: policy }, ...(policy === 'compact' ? COMPACTED : [])],
});

type Admin = ReturnType<Kafka['admin']>;
type Found = { readonly partitions: number; readonly policy: string; readonly maxBytes: number };

const foundTopics = async (admin: Admin, names: readonly string[]): Promise<ReadonlyMap<string, Found>> => {
  const { topics } = await admin.fetchTopicMetadata({ topics: [...names] });
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: names.map((name) => ({
      type: kafkajs.ConfigResourceTypes.TOPIC,
      name,
      configNames: ['cleanup.policy', 'max.message.bytes'],
    })),
  });
  const value = (topic: string, setting: string): string =>
    resources
      .find(({ resourceName }) => resourceName === topic)
      ?.configEntries.find(({ configName }) => configName === setting)?.configValue ?? '';
  return new Map(
    topics.map(({ name, partitions }) => [
      name,
      {
        partitions: partitions.length,
        policy: value(name, 'cleanup.policy'),
        maxBytes: Number(value(name, 'max.message.bytes')),
      },
    ]),
  );
};

const assertAsWanted = ({ topic, partitions, policy }: WantedTopic, found: Found): void => {
  const wrong = [
    ...(found.partitions === partitions ? [] : [`${found.partitions} partitions instead of ${partitions}`]),
    ...(found.policy === policy ? [] : [`cleanup.policy ${found.policy} instead of ${policy}`]),
  ];
  if (wrong.length > 0)
    throw new ExportRefused(
      `topic ${topic} exists with other settings: ${wrong.join(', ')}; change the topic, or the setting (kafka.topic_partitions), or publish to others (kafka.topic_prefix)`,
    );
};

/** Errors that a retry cannot fix. */
const HOPELESS = new Set(['INVALID_TOPIC_EXCEPTION', 'INVALID_PARTITIONS', 'INVALID_CONFIG', 'POLICY_VIOLATION']);

type CreationError = { readonly topic?: string; readonly type?: string; readonly message: string };

/** Throws an error that names the topics that could not be created, and the reasons, which the client's error hides. */
const throwNotCreated = (error: unknown): never => {
  const errors = (error as { readonly errors?: readonly CreationError[] }).errors ?? [];
  const [first] = errors;
  if (!first) throw error;
  const each = errors.map(({ topic, message }) => `${topic ?? ''} (${message})`);
  const Kind = errors.some(({ type }) => HOPELESS.has(type ?? '')) ? ExportRefused : Error;
  throw new Kind(`topics cannot be made: ${each.join(', ')}`, { cause: error });
};

/** Errors of brokers to which a new or deleted topic is not known yet: brokers learn of it one after another. */
const UNSETTLED: ReadonlySet<unknown> = new Set([
  'UNKNOWN_TOPIC_OR_PARTITION',
  'LEADER_NOT_AVAILABLE',
  'NOT_LEADER_FOR_PARTITION',
  'REPLICA_NOT_AVAILABLE',
]);

const SETTLING = { pauseMs: 50, limitMs: 10_000 } as const;

/** Retries an operation while brokers do not know of a change to its topics yet, until ten seconds have passed. */
const onceSettled = async <Found>(work: () => Promise<Found>): Promise<Found> => {
  const until = Date.now() + SETTLING.limitMs;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (Date.now() > until || !errorTypesIn(error).some((type) => UNSETTLED.has(type))) throw error;
      await pause(SETTLING.pauseMs);
    }
  }
};

const makeMissing = async (admin: Admin, topics: readonly ITopicConfig[]): Promise<void> => {
  const existing = new Set(await admin.listTopics());
  const missing = topics.filter(({ topic }) => !existing.has(topic));
  // Another process may create them at the same time; the result is checked afterwards.
  if (missing.length > 0) await admin.createTopics({ topics: missing, waitForLeaders: true }).catch(throwNotCreated);
};

/** Creates missing topics, waits until every partition can be read, and returns the settings of all topics. */
const readyTopics = (
  admin: Admin,
  wanted: readonly WantedTopic[],
  replicationFactor: number,
): Promise<ReadonlyMap<string, Found>> => {
  const names = wanted.map(({ topic }) => topic);
  const configs = wanted.map((each) => configOf(each, replicationFactor));
  return onceSettled(async () => {
    await makeMissing(admin, configs);
    await Promise.all(names.map((name) => admin.fetchTopicOffsets(name)));
    return foundTopics(admin, names);
  });
};

/** Maximum message size of each topic, in bytes. */
export type TopicLimits = ReadonlyMap<string, number>;

/**
 * Creates missing topics and checks the existing ones.
 *
 * @returns the maximum message size of each topic, in bytes.
 * @throws {ExportRefused} when an existing topic has other settings, or the cluster refuses to create a missing one.
 */
export const ensureTopics = async (
  kafka: Kafka,
  settings: TopicSettings,
  categories: readonly string[],
): Promise<TopicLimits> => {
  const wanted = wantedTopics(settings, categories);
  const admin = kafka.admin();
  await admin.connect();
  try {
    const found = await readyTopics(admin, wanted, settings.replicationFactor);
    for (const each of wanted) {
      const existing = found.get(each.topic);
      if (existing) assertAsWanted(each, existing);
    }
    return new Map([...found].map(([topic, { maxBytes }]) => [topic, maxBytes]));
  } finally {
    await admin.disconnect();
  }
};

/**
 * Creates a topic if missing, with the settings of topics of events.
 *
 * @returns its maximum message size in bytes.
 * @throws {ExportRefused} when the topic is compacted, and so would keep only the last event of each key, or when the
 * cluster refuses to create it.
 */
export const openTopic = async (kafka: Kafka, topic: string, settings: TopicSettings): Promise<number> => {
  const admin = kafka.admin();
  await admin.connect();
  try {
    const wanted: WantedTopic = { topic, partitions: settings.partitions, policy: 'delete' };
    const found = (await readyTopics(admin, [wanted], settings.replicationFactor)).get(topic);
    if (found?.policy.includes('compact') === true)
      throw new ExportRefused(
        `topic ${topic} has cleanup.policy ${found.policy}, and would lose events: choose another`,
      );
    return found?.maxBytes ?? 0;
  } finally {
    await admin.disconnect();
  }
};

const topicNames = async (kafka: Kafka): Promise<readonly string[]> => {
  const admin = kafka.admin();
  await admin.connect();
  try {
    return await admin.listTopics();
  } finally {
    await admin.disconnect();
  }
};

/** The prefixes of all exports to this cluster, by the names of their topics of positions. */
export const exportPrefixes = async (kafka: Kafka): Promise<readonly string[]> => {
  const suffix = positionsTopic('');
  const names = await topicNames(kafka);
  return names.filter((name) => name.endsWith(suffix)).map((name) => name.slice(0, -suffix.length));
};

/**
 * Checks that topics exist.
 *
 * @throws {ExportRefused} naming those that do not.
 */
export const assertTopicsExist = async (kafka: Kafka, topics: readonly string[]): Promise<void> => {
  const existing = new Set(await topicNames(kafka));
  const missing = topics.filter((topic) => !existing.has(topic));
  if (missing.length > 0) throw new ExportRefused(`there is no topic ${missing.join(', ')}`);
};
