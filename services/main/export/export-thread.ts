import { parentPort, workerData } from 'node:worker_threads';
import type { KafkaConnection } from '../../reactors/export-to-kafka/client.js';
import { ExportRefused, isOfConnection } from '../../reactors/export-to-kafka/failure.js';
import type { ExportFormat } from '../../reactors/export-to-kafka/message.js';
import { exportToKafka } from '../../reactors/export-to-kafka/reactor.js';
import type { TopicSettings } from '../../reactors/export-to-kafka/topics.js';
import { workerName } from '../coordination.js';
import { type LogSource, openLog } from '../log/log-source.js';
import { codecs } from '../models.js';
import { threadedMessages } from './threaded-messages.js';
import type { PayloadSource } from '../payloads.js';
import { errorText } from '../../kernel/error-text.js';

/** The worker data of the thread that exports the log to Kafka. */
export type ExportThreadData = PayloadSource & {
  readonly source: LogSource;
  readonly connection: KafkaConnection;
  readonly topics: TopicSettings;
  readonly format: ExportFormat;
  readonly partitions: number;
};

/**
 * A message of the thread: its lag, a failed attempt, a partition taken over by another process, a trace, or the
 * refusal that ends the export.
 */
export type ExportThreadMessage =
  | { readonly lagMs: number }
  | { readonly failure: string; readonly times: number; readonly isOfConnection: boolean }
  | { readonly takenOver: number }
  | { readonly trace: { readonly level: string; readonly message: string } }
  | { readonly refused: string };

const STANDBY_MS = 10_000;
const REPORT_MS = 1_000;

const { directory, location, source, connection, topics, format, partitions } = workerData as ExportThreadData;
const post = (message: ExportThreadMessage): void => parentPort?.postMessage(message);

const log = await openLog(source);
const egress = exportToKafka({
  connection,
  log,
  topics,
  partitions,
  messages: threadedMessages({ directory, location, source, format }),
  categories: [...codecs.keys()],
  worker: workerName(),
  standbyMs: STANDBY_MS,
  onFailure: (error, times) => post({ failure: errorText(error), times, isOfConnection: isOfConnection(error) }),
  onTakenOver: (takenOver) => post({ takenOver }),
  trace: (trace) => post({ trace }),
});
const reports = setInterval(() => post({ lagMs: egress.lagMs() }), REPORT_MS);

parentPort?.once('message', () => {
  void (async () => {
    clearInterval(reports);
    await egress.close();
    await log.close();
    process.exit(0);
  })();
});

try {
  await egress.ended;
} catch (error) {
  if (!(error instanceof ExportRefused)) throw error;
  post({ refused: error.message });
}
