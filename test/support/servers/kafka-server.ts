import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import type { Admin, ITopicConfig } from 'kafkajs';
import { kafkaClient } from '../../../services/reactors/export-to-kafka/client.js';
import { CHECKOUT, start } from '../processes/command.js';
import { until } from '../until.js';

/** The brokers that tests may use; without them, the tests that need them are skipped. */
export const kafkaBrokers = process.env['FLIGHTLOG_TEST_KAFKA'];

/** The same brokers on a listener with SASL: user `flightlog`, password `secret`. */
export const kafkaSaslBrokers = process.env['FLIGHTLOG_TEST_KAFKA_SASL'];

const python = process.env['FLIGHTLOG_TEST_KAFKA_PYTHON'] ?? 'python3';

/** Makes a unique prefix for the names of a test's topics. */
export const newPrefix = (): string => `test-${randomUUID()}`;

const hasLeaders = (admin: Admin, topic: string): Promise<boolean> =>
  admin.fetchTopicMetadata({ topics: [topic] }).then(
    ({ topics }) => topics.every(({ partitions }) => partitions.every(({ leader }) => leader >= 0)),
    () => false,
  );

/**
 * Creates a topic and waits until each partition has a leader. The wait of the client itself fails when the broker that
 * it asks does not know the new topic yet.
 */
export const createTopic = async (topic: ITopicConfig, brokers = kafkaBrokers ?? ''): Promise<void> => {
  const admin = kafkaClient({ brokers: brokers.split(',') }).admin();
  await admin.connect();
  try {
    await admin.createTopics({ topics: [topic], waitForLeaders: false });
    await until(
      () => hasLeaders(admin, topic.topic),
      (ready) => ready,
    );
  } finally {
    await admin.disconnect();
  }
};

/** Sends messages to a topic, as another program would. */
export const send = async (topic: string, values: readonly string[], brokers = kafkaBrokers ?? ''): Promise<void> => {
  const producer = kafkaClient({ brokers: brokers.split(',') }).producer();
  await producer.connect();
  try {
    await producer.send({ topic, messages: values.map((value) => ({ value })) });
  } finally {
    await producer.disconnect();
  }
};

/** A message as a Kafka client that is not flightlog's reads it. */
export type Consumed = {
  readonly topic: string;
  readonly partition: number;
  readonly key: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly value: Buffer;
};

/** Reads all committed messages in the topics of a prefix, with the Python client confluent-kafka. */
export const consume = async (prefix: string, brokers = kafkaBrokers ?? ''): Promise<readonly Consumed[]> => {
  const program = join(CHECKOUT, 'test/integration/kafka-consume.py');
  const { code, stdout, stderr } = await start(python, [program, brokers, prefix]).ended;
  if (code !== 0) throw new Error(`the consumer ended with ${code}: ${stderr}`);
  const lines = stdout.trim().split('\n').filter(Boolean);
  return lines.map((line) => {
    const message = JSON.parse(line) as Omit<Consumed, 'value'> & { readonly value: string | null };
    return { ...message, value: Buffer.from(message.value ?? '', 'base64') };
  });
};

/** A CloudEvent in its JSON format. */
export type CloudEvent = {
  readonly specversion: string;
  readonly id: string;
  readonly source: string;
  readonly type: string;
  readonly subject: string;
  readonly time: string;
  readonly sequence: string;
  readonly stream: string;
  readonly position: string;
  readonly dataschema?: string;
  readonly dataref?: string;
  readonly data?: Readonly<Record<string, unknown>>;
};

/** The events in the messages, in the same order; messages of the positions topic are left out. */
export const eventsIn = (messages: readonly Consumed[]): readonly CloudEvent[] =>
  messages
    .filter(({ topic }) => !topic.endsWith('.export.positions.v1'))
    .map(({ value }) => JSON.parse(value.toString()) as CloudEvent);
