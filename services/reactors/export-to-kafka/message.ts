import type { Message } from 'kafkajs';
import type { RecordedEvent } from '../../kernel/event.js';
import { CorruptEvent, UnknownEvent } from '../../kernel/fault.js';
import { dataRefOf, described } from './cloud-event.js';
import type { Encoding, Presenting } from './encoding.js';
import { inJson } from './json-event.js';
import { inProtobuf } from './protobuf-event.js';
import { subjects } from './subject.js';

/** The event formats of CloudEvents that are published. */
export const EXPORT_FORMATS = ['json', 'protobuf'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

const ENCODINGS: Readonly<Record<ExportFormat, (presenting: Presenting) => Encoding>> = {
  json: inJson,
  protobuf: inProtobuf,
};

/** What is sent to a topic. */
export type Outgoing = {
  readonly category: string;
  readonly key: Buffer;
  readonly value: Buffer;
  readonly id: string;
  readonly type: string;
  readonly contentType: string;
  readonly position: bigint;
  readonly recordedAtMs: number;
};

/** As the client takes it. */
export const recordOf = ({ key, value, id, type, contentType }: Outgoing): Message => ({
  key,
  value,
  headers: { 'content-type': contentType, ce_id: id, ce_type: type },
});

/** What a record has beside its key and value, in bytes, at most: headers, lengths, and the batch around it. */
const RECORD_BYTES = 512;

/** The bytes that a message takes in a request, at most. */
export const sizeOf = ({ key, value }: Pick<Outgoing, 'key' | 'value'>): number =>
  value.length + key.length + RECORD_BYTES;

/** What messages are made with. */
export type MessageOptions = {
  readonly logId: string;
  readonly format: ExportFormat;
  readonly presenting: Presenting;
  /** The largest message that the topic of a category takes, in bytes. */
  readonly maxBytes: (category: string) => number;
};

/** Makes a message of an event: mostly at once. */
export type MessageMaker = (event: RecordedEvent) => Outgoing | Promise<Outgoing>;

/** Whether this release cannot read an event: it keeps no others of its part of the log back. */
const isUnreadable = (error: unknown): boolean => error instanceof UnknownEvent || error instanceof CorruptEvent;

/**
 * Events as messages: CloudEvents in structured mode. One that is too large for its topic, or cannot be read, goes
 * without its data.
 */
export const messageMaker = ({ format, logId, presenting, maxBytes }: MessageOptions): MessageMaker => {
  const encoding = ENCODINGS[format](presenting);
  const subjectOf = subjects();
  return (event) => {
    const about = described(event, subjectOf(event.stream), logId);
    const { id, type } = about.attributes;
    const { category, key } = about.subject;
    const message = (value: Buffer): Outgoing => ({
      category,
      key,
      value,
      id,
      type,
      contentType: encoding.contentType,
      position: event.position,
      recordedAtMs: about.metadata.recordedAtMs,
    });
    const referring = (): Outgoing => message(encoding.referring(about, dataRefOf(logId, event)));
    const fitting = (value: Buffer): Outgoing => {
      const whole = message(value);
      return sizeOf(whole) <= maxBytes(category) ? whole : referring();
    };
    const unreadable = (error: unknown): Outgoing => {
      if (isUnreadable(error)) return referring();
      throw error;
    };
    try {
      const value = encoding.whole(event, about);
      return value instanceof Promise ? value.then(fitting, unreadable) : fitting(value);
    } catch (error) {
      return unreadable(error);
    }
  };
};

/** Makes messages of events, one after another. */
export const messagesOf = async (events: readonly RecordedEvent[], messageOf: MessageMaker): Promise<Outgoing[]> => {
  const messages: Outgoing[] = [];
  for (const event of events) {
    const made = messageOf(event);
    messages.push(made instanceof Promise ? await made : made);
  }
  return messages;
};
