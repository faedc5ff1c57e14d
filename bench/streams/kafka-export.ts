import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Message } from 'kafkajs';
import { codecs } from '../../services/main/models.js';
import { wholeEventEncoder } from '../../services/event-json/readable.js';
import { threadedMessages } from '../../services/main/export/threaded-messages.js';
import type { EventLog } from '../../services/kernel/ports/event-store.js';
import { kafkaClient } from '../../services/reactors/export-to-kafka/client.js';
import type { PublishedDataEncoder } from '../../services/reactors/export-to-kafka/cloud-events/encoding.js';
import { messageMaker, recordOf, sizeOf } from '../../services/reactors/export-to-kafka/message.js';
import type { MessageSource } from '../../services/reactors/export-to-kafka/message-source.js';
import { exportToKafka } from '../../services/reactors/export-to-kafka/reactor.js';
import { reconcile } from '../../services/reactors/export-to-kafka/reconcile.js';
import { topicName } from '../../services/reactors/export-to-kafka/topics.js';
import { filePayloadStore } from '../../services/store/payloads/file-payload-store.js';
import { sqliteLogReader } from '../../services/store/log/sqlite-log-reader.js';
import type { Bench, BenchOptions, Figure } from '../bench.js';
import { recordedLog } from '../load/recorded-log.js';

const EXECUTIONS = 100;
const PARTITIONS = 3;

/** Largest request of the export and of the bare producer. */
const BATCH_BYTES = 900_000;

/** Messages per second, and processor time for each message in microseconds. */
type Rate = { readonly perSecond: number; readonly processorUs: number };

/**
 * Starts measuring time and processor time; the function that it returns stops, and gives messages per second and
 * processor microseconds per message.
 */
const startClock = (): ((messages: number) => Rate) => {
  const started = performance.now();
  const used = process.cpuUsage();
  return (messages) => {
    const { user, system } = process.cpuUsage(used);
    return { perSecond: (messages * 1_000) / (performance.now() - started), processorUs: (user + system) / messages };
  };
};

/** The brokers and the log of a measurement, with the directory of the log and the encoder of messages. */
type ExportInput = {
  readonly brokers: readonly string[];
  readonly directory: string;
  readonly log: EventLog;
  readonly dataEncoder: PublishedDataEncoder;
};

/** The messages that the export creates from the log, in batches, as they are handed to the producer. */
const batchesOf = async ({ log, dataEncoder }: ExportInput): Promise<readonly (readonly Message[])[]> => {
  const batches: Message[][] = [[]];
  let bytes = 0;
  const messageOf = messageMaker({ logId: log.logId, format: 'json', dataEncoder, maxBytes: () => BATCH_BYTES });
  for await (const { events } of log.readLog({ after: 0n })) {
    for (const event of events) {
      const message = await messageOf(event);
      const size = sizeOf(message);
      if (bytes + size > BATCH_BYTES) batches.push([]);
      bytes = (bytes + size > BATCH_BYTES ? 0 : bytes) + size;
      batches.at(-1)?.push(recordOf(message));
    }
  }
  return batches;
};

/**
 * The baseline: the producer alone sends the same messages, prepared beforehand, one batch after another, without
 * transactions.
 */
const produceBare = async (input: ExportInput): Promise<Rate> => {
  const batches = await batchesOf(input);
  const topic = `bench-${randomUUID()}`;
  const kafka = kafkaClient({ brokers: input.brokers });
  const admin = kafka.admin();
  await admin.connect();
  await admin.createTopics({ topics: [{ topic, numPartitions: PARTITIONS }], waitForLeaders: true });
  await admin.disconnect();
  const producer = kafka.producer({ allowAutoTopicCreation: false, maxInFlightRequests: 1 });
  await producer.connect();
  const stop = startClock();
  for (const messages of batches) await producer.send({ topic, messages: [...messages] });
  const rate = stop(batches.reduce((sum, { length }) => sum + length, 0));
  await producer.disconnect();
  return rate;
};

/** The rate of the export, with the numbers of events that are missing from the topics or in them more than once. */
type Exported = Rate & { readonly missing: number; readonly doubled: number };

/**
 * Compares the topics with the log.
 *
 * @throws {Error} unless the topics have each event exactly once and in order.
 */
const compare = async ({ brokers, log }: ExportInput, prefix: string, head: bigint) => {
  const { expected, missing, doubled, reordered } = await reconcile({
    kafka: kafkaClient({ brokers }),
    log,
    topics: [...codecs.keys()].map((category) => topicName(prefix, category)),
    categories: [...codecs.keys()],
    selection: { from: 0n, to: head, filters: [] },
    groupPrefix: `${prefix}.reconcile`,
    onProgress: () => undefined,
  });
  if (missing + doubled + reordered > 0)
    throw new Error(`of ${expected} events ${missing} are missing, ${doubled} doubled, ${reordered} reordered`);
  return { missing, doubled };
};

/** Exports the whole log as a server does; the time starts at the first messages. */
const exportAll = async (input: ExportInput): Promise<Exported> => {
  const { brokers, directory, log } = input;
  const head = await log.head();
  const prefix = `bench-${randomUUID()}`;
  let stop: ReturnType<typeof startClock> | undefined;
  let [count, last] = [0, 0n];
  const fromThread = threadedMessages({
    directory,
    location: { kind: 'file' },
    source: { kind: 'embedded', directory },
    format: 'json',
  });
  const countedMessages: MessageSource = {
    follow: (wanted, onMessages) =>
      fromThread.follow(wanted, async (messages, position) => {
        stop ??= startClock();
        await onMessages(messages, position);
        count += messages.length;
        last = position;
      }),
  };
  const egress = exportToKafka({
    connection: { brokers },
    log,
    topics: { prefix, partitions: PARTITIONS, replicationFactor: -1 },
    messages: countedMessages,
    categories: [...codecs.keys()],
    partitions: 1,
    worker: 'bench',
    standbyMs: 10_000,
    onFailure: (error) => process.stdout.write(`tried again: ${String(error)}\n`),
    onTakenOver: () => undefined,
    trace: () => undefined,
  });
  while (last < head || egress.lagMs() > 0) await Promise.race([pause(5), egress.ended]);
  const rate = stop?.(count) ?? { perSecond: 0, processorUs: 0 };
  await egress.close();
  return { ...rate, ...(await compare(input, prefix, head)) };
};

const measure = async ({ disk, count }: BenchOptions): Promise<readonly Figure[]> => {
  const brokers = process.env['FLIGHTLOG_TEST_KAFKA']?.split(',');
  if (!brokers) {
    process.stdout.write('kafka-export: skipped, FLIGHTLOG_TEST_KAFKA names no brokers\n');
    return [];
  }
  const directory = await recordedLog(disk, 'kafka-export', EXECUTIONS, count * 3);
  const log = await sqliteLogReader({ directory });
  const payloads = filePayloadStore({ directory });
  const input: ExportInput = { brokers, directory, log, dataEncoder: wholeEventEncoder(payloads) };
  try {
    const round = async () => ({ bare: await produceBare(input), exported: await exportAll(input) });
    await round(); // the first round compiles the code of both, in this process and in the broker
    const { bare, exported } = await round();
    const { perSecond, ...others } = exported;
    const baseline = { what: 'bare producer', perSecond: bare.perSecond };
    const notes = { ...others, processorUsOfBare: bare.processorUs };
    return [{ name: 'export of the log to Kafka', baseline, perSecond, notes }];
  } finally {
    await log.close();
    await payloads.close();
  }
};

/** Exports the log to Kafka in transactions, compared with a bare producer of the same messages in the same process. */
export const kafkaExport: Bench = { name: 'kafka-export', target: 0.7, run: measure };
