import type { RecordedEvent } from '../../kernel/event.js';
import type { EventLog, Subscription } from '../../kernel/ports/event-store.js';
import { categoryOf, type StreamName } from '../../kernel/stream.js';
import type { PublishedDataEncoder } from './cloud-events/encoding.js';
import { type ExportFormat, messageMaker, makeMessages, type Outgoing } from './message.js';

const OFFSET_BASIS = 0x811c9dc5;
const PRIME = 0x01000193;

/**
 * The partition of the log that a stream belongs to, from 0; not the partition of its topic, which the Kafka client
 * chooses by the key. It is the FNV-1a hash of the UTF-16 units of the stream's name, so it never changes for a given
 * number of partitions.
 */
const partitionOf = (stream: StreamName, partitions: number): number => {
  let hash = OFFSET_BASIS;
  for (let at = 0; at < stream.length; at += 1) hash = Math.imul(hash ^ stream.charCodeAt(at), PRIME);
  return (hash >>> 0) % partitions;
};

/** Selects messages of the log. Can be sent to any thread. */
export type MessageSelection = {
  /** Messages of events after this position. */
  readonly after: bigint;
  readonly partition: number;
  /** Number of partitions that the export divides the log into. */
  readonly partitions: number;
  /** Maximum message size of each category's topic, in bytes; events of other categories are skipped. */
  readonly maxBytes: ReadonlyMap<string, number>;
};

/**
 * Called with the messages of all events up to a position, possibly none; the next call comes when the returned promise
 * has resolved.
 */
export type OnMessages = (messages: readonly Outgoing[], position: bigint) => Promise<void>;

/** The events of a log as messages. */
export interface MessageSource {
  /** Follows the log without end, as {@link EventLog.subscribe} does. */
  follow(wanted: MessageSelection, onMessages: OnMessages): Subscription;
}

const isWanted = ({ partition, partitions, maxBytes }: MessageSelection, { stream }: RecordedEvent): boolean =>
  maxBytes.has(categoryOf(stream)) && (partitions === 1 || partitionOf(stream, partitions) === partition);

export type SourceOptions = {
  readonly log: EventLog;
  readonly format: ExportFormat;
  readonly dataEncoder: PublishedDataEncoder;
};

/** Makes the messages on the calling thread. */
export const messagesHere = ({ log, format, dataEncoder }: SourceOptions): MessageSource => ({
  follow: (wanted, onMessages) => {
    const maxBytes = (category: string): number => wanted.maxBytes.get(category) ?? 0;
    const messageOf = messageMaker({ logId: log.logId, format, dataEncoder, maxBytes });
    return log.subscribe({ after: wanted.after }, async ({ events, position }) => {
      const ours = events.filter((event) => isWanted(wanted, event));
      await onMessages(await makeMessages(ours, messageOf), position);
    });
  },
});
