import { parentPort, workerData } from 'node:worker_threads';
import { asError } from '../../kernel/error-text.js';
import type { ExportFormat } from '../../reactors/export-to-kafka/message.js';
import { messagesHere, type MessageSelection } from '../../reactors/export-to-kafka/message-source.js';
import { type PackedMessages, packedMessages } from '../../reactors/export-to-kafka/packed-messages.js';
import { type LogSource, openLog } from '../log/log-source.js';
import { openPayloads, type PayloadSource } from '../payloads.js';
import { wholeEventEncoder } from '../../event-json/readable.js';

/** The worker data of the thread that makes Kafka messages from the log. */
export type MessageThreadData = PayloadSource & {
  readonly source: LogSource;
  readonly format: ExportFormat;
  readonly wanted: MessageSelection;
};

/**
 * Posted by the thread: a page of Kafka messages, with the position up to which the log has been read, or the failure
 * that ended its subscription. A failure to open the log or the payload store is an error of the worker instead.
 */
export type MessageThreadMessage =
  | { readonly page: PackedMessages; readonly position: bigint }
  | { readonly failure: Error };

/** A command to the thread: the oldest page that was posted has been taken; or close, which ends the thread. */
export type MessageThreadCommand = 'taken' | 'close';

/** The thread pauses while the pages that are not yet taken hold more bytes than this. */
const BYTES_AHEAD = 2_000_000;
/** A page counts as at least this many bytes, so that the number of small and empty pages is limited, too. */
const PAGE_BYTES = 50_000;

const { directory, location, source, format, wanted } = workerData as MessageThreadData;
const post = (message: MessageThreadMessage, handedOver: readonly ArrayBuffer[] = []): void =>
  parentPort?.postMessage(message, [...handedOver]);

const waiting: number[] = [];
let resumeReading: () => void = () => undefined;
let isClosing = false;
let close = (): Promise<void> => Promise.resolve();

parentPort?.on('message', (command: MessageThreadCommand) => {
  if (command === 'taken') waiting.shift();
  else isClosing = true;
  resumeReading();
  if (command === 'close') void close().then(() => process.exit(0));
});

const isFull = (): boolean => waiting.reduce((sum, each) => sum + each, 0) > BYTES_AHEAD;

const log = await openLog(source);
const payloads = await openPayloads({ directory, location });
const subscription = messagesHere({ log, format, dataEncoder: wholeEventEncoder(payloads) }).follow(
  wanted,
  async (messages, position) => {
    const page = packedMessages(messages);
    waiting.push(Math.max(PAGE_BYTES, page.values.length));
    post({ page, position }, [page.values.buffer]);
    while (isFull() && !isClosing) await new Promise<void>((resolve) => (resumeReading = resolve));
  },
);
close = async () => {
  await subscription.close();
  await log.close();
  await payloads.close();
};
subscription.ended.catch((failure: unknown) => post({ failure: asError(failure) }));
