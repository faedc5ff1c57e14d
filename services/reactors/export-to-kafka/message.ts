import type { Message } from 'kafkajs';

import { type EventMetadata, metadataOf, metadataOfAny, type RecordedEvent } from '../../kernel/event.js';
import { CorruptEvent, UnknownEvent } from '../../kernel/fault.js';
import { dataRefOf, described } from './cloud-events/cloud-event.js';
import type { Encoding, PublishedDataEncoder } from './cloud-events/encoding.js';
import { inJson } from './cloud-events/json-event.js';
import { inProtobuf } from './cloud-events/protobuf-event.js';
import { streamAttributes } from './cloud-events/stream-attributes.js';

/** The supported event formats of CloudEvents. */
export const EXPORT_FORMATS = ['json', 'protobuf'] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

const ENCODINGS: Readonly<Record<ExportFormat, (dataEncoder: PublishedDataEncoder) => Encoding>> = {
  json: inJson,
  protobuf: inProtobuf,
};

/** A message to publish. */
export type Outgoing = {
  readonly category: string;
  readonly key: Buffer;
  readonly value: Buffer;
  readonly id: string;
  readonly type: string;
  readonly contentType: string;
  readonly position: bigint;
  /** Milliseconds since 1970; of an event whose metadata cannot be decoded, the time at which the message was made. */
  readonly recordedAtMs: number;
};

/** Converts a message for the Kafka client. */
export const recordOf = ({ key, value, id, type, contentType }: Outgoing): Message => ({
  key,
  value,
  headers: { 'content-type': contentType, ce_id: id, ce_type: type },
});

/** Generous estimate of a record's overhead, in bytes: headers, lengths, and its share of the batch. */
const RECORD_BYTES = 512;

/** Generous estimate of a message's size in a request, in bytes. */
export const sizeOf = ({ key, value }: Pick<Outgoing, 'key' | 'value'>): number =>
  value.length + key.length + RECORD_BYTES;

/** Settings for making messages. */
export type MessageOptions = {
  readonly logId: string;
  readonly format: ExportFormat;
  readonly dataEncoder: PublishedDataEncoder;
  /** Maximum message size of a category's topic, in bytes. */
  readonly maxBytes: (category: string) => number;
};

/** Makes the message of an event. */
export type MessageMaker = (event: RecordedEvent) => Outgoing | Promise<Outgoing>;

/**
 * True when this release cannot read an event. It is published without its data, so that it does not block the other
 * events of its partition.
 */
const isUnreadable = (error: unknown): boolean => error instanceof UnknownEvent || error instanceof CorruptEvent;

/** The metadata of an event; `undefined` when they are not those of a control plane. */
const metadataIn = (event: RecordedEvent): EventMetadata | undefined => {
  try {
    return metadataOf(event);
  } catch (error) {
    if (isUnreadable(error)) return undefined;
    throw error;
  }
};

/** The readable fields of metadata that cannot be decoded; the time is by default the start of 1970. */
const metadataWithout = (event: RecordedEvent): EventMetadata => ({
  ...{ recordedAtMs: 0, actor: '', commandId: '', schema: 0 },
  ...metadataOfAny(event),
});

/**
 * Makes messages of events: CloudEvents in structured mode. An event that is too large for its topic, or cannot be
 * read, is published without its data.
 */
export const messageMaker = ({ format, logId, dataEncoder, maxBytes }: MessageOptions): MessageMaker => {
  const encoding = ENCODINGS[format](dataEncoder);
  const attributesOf = streamAttributes();
  return (event) => {
    const metadata = metadataIn(event);
    const description = described(event, metadata ?? metadataWithout(event), attributesOf(event.stream), logId);
    const { id, type } = description.attributes;
    const { category, key } = description.stream;
    const message = (value: Buffer): Outgoing => ({
      category,
      key,
      value,
      id,
      type,
      contentType: encoding.contentType,
      position: event.position,
      recordedAtMs: metadata?.recordedAtMs ?? Date.now(),
    });
    const referring = (): Outgoing => message(encoding.referring(description, dataRefOf(logId, event)));
    const fitting = (value: Buffer): Outgoing => {
      const whole = message(value);
      return sizeOf(whole) <= maxBytes(category) ? whole : referring();
    };
    const unreadable = (error: unknown): Outgoing => {
      if (isUnreadable(error)) return referring();
      throw error;
    };
    if (metadata === undefined) return referring();
    try {
      const value = encoding.whole(event, description);
      return value instanceof Promise ? value.then(fitting, unreadable) : fitting(value);
    } catch (error) {
      return unreadable(error);
    }
  };
};

/** Makes the messages of events, one after another. */
export const makeMessages = async (events: readonly RecordedEvent[], messageOf: MessageMaker): Promise<Outgoing[]> => {
  const messages: Outgoing[] = [];
  for (const event of events) {
    const made = messageOf(event);
    messages.push(made instanceof Promise ? await made : made);
  }
  return messages;
};

/** Splits messages into batches of at most `maxBytes`, in order; a message that is larger goes alone. */
export const batches = function* (messages: readonly Outgoing[], maxBytes: number): Generator<readonly Outgoing[]> {
  let from = 0;
  let bytes = 0;
  for (const [at, message] of messages.entries()) {
    const size = sizeOf(message);
    if (bytes + size > maxBytes && at > from) {
      yield messages.slice(from, at);
      from = at;
      bytes = 0;
    }
    bytes += size;
  }
  if (from < messages.length) yield messages.slice(from);
};
