import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import type { Check } from '../gateway/readiness.js';
import type { Configuration } from '../config/configuration.js';
import type { ExportThreadData, ExportThreadMessage } from './threads/export-thread.js';
import { connectionOf, topicsOf } from './kafka-connection.js';
import type { LogSource } from './log-source.js';
import type { PayloadSource } from './payloads.js';
import { CannotGoOn } from '../config/operator-errors.js';

/** The log's way to Kafka, on a thread of its own; it is there, and does nothing, where no broker is named. */
export type RunningExport = {
  /** Rejects when it cannot begin: wrong credentials, topics of another log. */
  readonly failed: Promise<never>;
  /** How it gets on; nothing where no broker is named. */
  readonly check: () => Check | undefined;
  readonly close: () => Promise<void>;
};

const NOTABLE_LAG_MS = 5_000;
const WARN_EVERY_MS = 10_000;

const never = new Promise<never>(() => undefined);

/** Says that the export is behind, in time, and not too often; and when it is no more. */
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

/** The first time, and then less and less often. */
const isNotable = (times: number): boolean => Number.isInteger(Math.log2(times));

const hearing = (logger: Logger, brokers: readonly string[]): ((message: ExportThreadMessage) => void) => {
  const report = lagReport(logger);
  return (message) => {
    if ('lagMs' in message) report(message.lagMs);
    else if ('said' in message) logger.debug({ kafka: message.said.level }, message.said.message);
    else if ('takenOver' in message)
      logger.warn({ part: message.takenOver }, 'another process exports to Kafka now; this one stands by');
    else if ('failure' in message && isNotable(message.times))
      logger.error({ why: message.failure, brokers }, 'the export to Kafka does not get on; it is tried again');
  };
};

/** How the thread was when it last said something. */
type ExportState = { readonly lagMs: number; readonly trouble?: string };

const stateAfter = (state: ExportState, message: ExportThreadMessage): ExportState => {
  if ('failure' in message) return { ...state, trouble: message.failure };
  if (!('lagMs' in message)) return state;
  // What is no more behind has come through, whatever was the matter.
  return message.lagMs < NOTABLE_LAG_MS ? { lagMs: message.lagMs } : { ...state, lagMs: message.lagMs };
};

const checkOf = ({ lagMs, trouble }: ExportState): Check => {
  if (lagMs < NOTABLE_LAG_MS && trouble === undefined) return { name: 'export', state: 'well', lagMs };
  return { name: 'export', state: 'degraded', why: trouble ?? 'it is behind the log', lagMs };
};

/** Starts the thread, and does not wait for Kafka: the log is served all the same, and what was missed is caught up. */
export const startExport = async (
  { kafka }: Configuration,
  { directory, location, source }: PayloadSource & { readonly source: LogSource },
  logger: Logger,
): Promise<RunningExport> => {
  if (kafka.brokers.length === 0) return { failed: never, check: () => undefined, close: () => Promise.resolve() };
  const topics = topicsOf(kafka);
  const { format, export_partitions: parts } = kafka;
  const given = { directory, location, source, connection: connectionOf(kafka), topics, format, parts };
  const worker = new Worker(new URL('./threads/export-thread.js', import.meta.url), {
    workerData: given satisfies ExportThreadData,
  });
  worker.on('message', hearing(logger, kafka.brokers));
  let state: ExportState = { lagMs: 0 };
  worker.on('message', (message: ExportThreadMessage) => (state = stateAfter(state, message)));
  const failed = new Promise<never>((_, reject) => {
    worker.on('message', (message: ExportThreadMessage) => {
      if ('refused' in message) reject(new CannotGoOn(`kafka: ${message.refused}`));
    });
    worker.once('error', (cause) =>
      reject(new CannotGoOn(`the export to Kafka has failed: ${cause.message}`, { cause })),
    );
  });
  failed.catch(() => undefined); // whoever watches it later hears of it all the same
  await once(worker, 'online');
  return {
    failed,
    check: () => checkOf(state),
    close: async () => {
      const ended = once(worker, 'exit');
      worker.postMessage('close');
      await ended;
    },
  };
};
