import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import type { Check } from '../../gateway/readiness.js';
import type { Configuration } from '../../config/configuration.js';
import type { ExportThreadData, ExportThreadMessage } from './export-thread.js';
import { connectionOf, topicsOf } from './kafka-connection.js';
import type { LogSource } from '../log/log-source.js';
import type { PayloadSource } from '../payloads.js';
import { isNotableAttempt } from '../notable-attempt.js';
import { OperatorError } from '../../config/operator-errors.js';

/** The export of the log to Kafka, on a thread of its own. Where no broker is configured, it does nothing. */
export type RunningExport = {
  /** Rejects when the export cannot begin (wrong credentials, topics of another log), or when its thread fails. */
  readonly failed: Promise<never>;
  /** Health of the export; `undefined` where no broker is configured. */
  readonly check: () => Check | undefined;
  readonly close: () => Promise<void>;
};

const NOTABLE_LAG_MS = 5_000;
const WARN_EVERY_MS = 10_000;

const never = new Promise<never>(() => undefined);

/**
 * Logs that the export is behind by {@link NOTABLE_LAG_MS} or more, at most once in {@link WARN_EVERY_MS}, and once
 * when it has caught up after that.
 */
const lagReport = (logger: Logger): ((lagMs: number) => void) => {
  let quietUntil = 0;
  let wasBehind = false;
  return (lagMs) => {
    if (lagMs < NOTABLE_LAG_MS) {
      if (wasBehind) logger.warn({ lagMs }, 'the export to Kafka has caught up with the log');
      wasBehind = false;
      return;
    }
    if (Date.now() < quietUntil) return;
    quietUntil = Date.now() + WARN_EVERY_MS;
    wasBehind = true;
    logger.warn({ lagMs }, 'the export to Kafka is behind the log');
  };
};

const CONNECTION_HINT = 'Kafka must listen there, with TLS only if kafka.tls is set';

const messageLog = (logger: Logger, brokers: readonly string[]): ((message: ExportThreadMessage) => void) => {
  const report = lagReport(logger);
  return (message) => {
    if ('lagMs' in message) report(message.lagMs);
    else if ('trace' in message) logger.debug({ kafka: message.trace.level }, message.trace.message);
    else if ('takenOver' in message)
      logger.warn({ partition: message.takenOver }, 'another process exports to Kafka now; this one stands by');
    else if ('failure' in message && isNotableAttempt(message.times))
      logger.error(
        { why: message.failure, brokers, ...(message.isOfConnection && { hint: CONNECTION_HINT }) },
        'the export to Kafka has failed and is retried',
      );
  };
};

/** The state of the thread, as of its last message. */
type ExportState = { readonly lagMs: number; readonly problem?: string };

const stateAfter = (state: ExportState, message: ExportThreadMessage, brokers: readonly string[]): ExportState => {
  if ('failure' in message) {
    const { failure, isOfConnection } = message;
    // Reasons of connections name no address, such as "Closed connection".
    return { ...state, problem: isOfConnection ? `Kafka at ${brokers.join(', ')}: ${failure}` : failure };
  }
  if (!('lagMs' in message)) return state;
  // An export that is not behind by a notable time counts as recovered from its failure.
  return message.lagMs < NOTABLE_LAG_MS ? { lagMs: message.lagMs } : { ...state, lagMs: message.lagMs };
};

const checkOf = ({ lagMs, problem }: ExportState): Check => {
  if (lagMs < NOTABLE_LAG_MS && problem === undefined) return { name: 'export', state: 'well', lagMs };
  return { name: 'export', state: 'degraded', why: problem ?? 'events of the log wait to be published', lagMs };
};

/**
 * Starts the export thread, and does not wait for Kafka: the export catches up once Kafka can be reached.
 *
 * @throws {OperatorError} when the file of certificate authorities cannot be read, or has no certificate.
 */
export const startExport = async (
  { kafka }: Configuration,
  { directory, location, source }: PayloadSource & { readonly source: LogSource },
  logger: Logger,
): Promise<RunningExport> => {
  if (kafka.brokers.length === 0) return { failed: never, check: () => undefined, close: () => Promise.resolve() };
  const topics = topicsOf(kafka);
  const { format, export_partitions: partitions } = kafka;
  const given = { directory, location, source, connection: connectionOf(kafka), topics, format, partitions };
  const worker = new Worker(new URL('./export-thread.js', import.meta.url), {
    workerData: given satisfies ExportThreadData,
  });
  worker.on('message', messageLog(logger, kafka.brokers));
  let state: ExportState = { lagMs: 0 };
  worker.on('message', (message: ExportThreadMessage) => (state = stateAfter(state, message, kafka.brokers)));
  const failed = new Promise<never>((_, reject) => {
    worker.on('message', (message: ExportThreadMessage) => {
      if ('refused' in message) reject(new OperatorError(`kafka: ${message.refused}`));
    });
    worker.once('error', (cause) =>
      reject(new OperatorError(`the export to Kafka has failed: ${cause.message}`, { cause })),
    );
  });
  failed.catch(() => undefined); // not unhandled: callers may await `failed` later
  const exited = once(worker, 'exit'); // here, because a thread that fails while the process stops exits before `close`
  exited.catch(() => undefined); // not unhandled: `failed` reports it
  await once(worker, 'online');
  return {
    failed,
    check: () => checkOf(state),
    close: async () => {
      worker.postMessage('close');
      await exited;
    },
  };
};
