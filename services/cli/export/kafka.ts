import { Fault } from '../../kernel/fault.js';
import { kafkaClient } from '../../reactors/export-to-kafka/client.js';
import { ExportRefused, exportFailureOf } from '../../reactors/export-to-kafka/failure.js';
import { publishedUpTo, readPositions } from '../../reactors/export-to-kafka/positions.js';
import { reconcile } from '../../reactors/export-to-kafka/reconcile.js';
import { replay } from '../../reactors/export-to-kafka/replay.js';
import { assertTopicsExist, positionsTopic, topicName } from '../../reactors/export-to-kafka/topics.js';
import type { Configuration } from '../../config/configuration.js';
import { eventTypes } from '../../event-json/event-types.js';
import { connectionOf, topicsOf } from '../../main/export/kafka-connection.js';
import { openOwnLog } from '../../main/log/log-source.js';
import { codecs } from '../../main/models.js';
import { openOwnPayloads } from '../../main/payloads.js';
import { progressBar, throughLog } from '../progress-bar.js';
import { printSummary } from '../summary.js';
import { wholeEventEncoder } from '../../event-json/readable.js';
import { OperatorError } from '../../config/operator-errors.js';
import type { EventCondition, EventSelection } from '../../reactors/export-to-kafka/selection.js';
import { errorText } from '../../kernel/error-text.js';

/** The flags of `export replay` and `export reconcile` that are not settings. Both positions are included. */
export type ExportFlags = {
  readonly from?: bigint;
  readonly to?: bigint;
  readonly filter: readonly EventCondition[];
  readonly topic?: string;
};

const categories = [...codecs.keys()];

const types = eventTypes(codecs).map(({ message }) => message.name);

/** The values that a filter may have, for the fields whose values are known. */
const KNOWN: Readonly<Partial<Record<EventCondition['field'], readonly string[]>>> = {
  category: categories,
  type: types,
};

/** Rejects unknown values: a mistyped one would match nothing, which would look like a valid result. */
const assertFilters = (filters: readonly EventCondition[]): void => {
  for (const { field, value } of filters) {
    const known = KNOWN[field];
    if (known && !known.includes(value))
      throw new OperatorError(`--filter ${field}=${value}: there is no such ${field}; there are ${known.join(', ')}`);
  }
};

const assertRange = (from: bigint, to: bigint, end: string): void => {
  if (from > to) throw new OperatorError(`--from ${from} is above ${end}, ${to}`);
};

const opened = async (configuration: Configuration) => {
  const { kafka: settings } = configuration;
  if (settings.brokers.length === 0) throw new OperatorError('no broker is named: --kafka HOST:PORT,…');
  const log = await openOwnLog(configuration);
  const payloads = await openOwnPayloads(configuration);
  const kafka = kafkaClient(connectionOf(settings));
  return { log, payloads, kafka, settings, topics: topicsOf(settings) };
};

type Opened = Awaited<ReturnType<typeof opened>>;

const operatorErrorOf = (error: unknown, { brokers }: Configuration['kafka']): OperatorError => {
  const failure = exportFailureOf(error, brokers);
  const text = errorText(failure);
  const isWhole = failure instanceof ExportRefused || failure instanceof Fault;
  const message = isWhole ? text : `Kafka at ${brokers.join(',')}: ${text}`;
  return new OperatorError(message, { cause: error });
};

const withKafka = async (configuration: Configuration, work: (parts: Opened) => Promise<void>): Promise<void> => {
  const parts = await opened(configuration);
  try {
    await work(parts);
  } catch (error) {
    throw error instanceof OperatorError ? error : operatorErrorOf(error, parts.settings);
  } finally {
    await parts.log.close();
    await parts.payloads.close();
  }
};

/**
 * Publishes a range of the log again, to the given topic, and prints the number of events as a JSON object.
 *
 * @throws {OperatorError} when Kafka or the topic cannot be used, or a filter or the range is wrong.
 */
export const exportReplay = (
  configuration: Configuration,
  flags: ExportFlags & { readonly topic: string },
): Promise<void> =>
  withKafka(configuration, async ({ log, payloads, kafka, settings, topics }) => {
    const { from = 0n, to = await log.head(), filter: filters, topic } = flags;
    assertFilters(filters);
    assertRange(from, to, flags.to === undefined ? 'the end of the log' : '--to');
    const bar = progressBar();
    const { format } = settings;
    const dataEncoder = wholeEventEncoder(payloads);
    const selection = { from, to, filters };
    const onProgress = (position: bigint): void => bar.show(throughLog({ phase: 'replay', position, head: to }));
    const events = await replay({
      kafka,
      log,
      dataEncoder,
      format,
      categories,
      topics,
      topic,
      selection,
      onProgress,
    }).finally(() => bar.stop());
    printSummary({ topic, events });
  });

/** @throws {ExportRefused} when the positions are of another log, or a partition has none. */
const publishedEnd = async ({ kafka, log: { logId }, topics: { prefix } }: Opened): Promise<bigint> =>
  publishedUpTo(await readPositions(kafka, prefix), { logId, prefix });

/**
 * Compares topics with the log, and prints the counts as a JSON object. Sets exit code 1 when events are missing,
 * doubled or reordered.
 *
 * @throws {OperatorError} when Kafka cannot be used, a topic is missing, or a filter or the range is wrong.
 */
export const exportReconcile = (configuration: Configuration, flags: ExportFlags): Promise<void> =>
  withKafka(configuration, async (parts) => {
    const { log, kafka, topics } = parts;
    const { topic, filter: filters, from = 0n } = flags;
    assertFilters(filters);
    const names = topic === undefined ? categories.map((category) => topicName(topics.prefix, category)) : [topic];
    await assertTopicsExist(kafka, topic === undefined ? [...names, positionsTopic(topics.prefix)] : names);
    const to = flags.to ?? (topic === undefined ? await publishedEnd(parts) : await log.head());
    const end = topic === undefined ? 'the end of what was published' : 'the end of the log';
    assertRange(from, to, flags.to === undefined ? end : '--to');
    const selection: EventSelection = { from, to, filters };
    const bar = progressBar();
    const onProgress = (read: bigint, total: bigint): void =>
      bar.show({ phase: 'read', done: Number(read), total: Number(total), detail: `${read} of ${total} messages` });
    const groupPrefix = `${topics.prefix}.export`;
    const result = await reconcile({
      kafka,
      log,
      topics: names,
      categories,
      selection,
      groupPrefix,
      onProgress,
    }).finally(() => bar.stop());
    printSummary({ position: Number(to), ...result });
    if (result.missing + result.doubled + result.reordered > 0) process.exitCode = 1;
  });
