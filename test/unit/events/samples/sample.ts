import { type DescMessage, fromJson, type JsonObject, toBinary } from '@bufbuild/protobuf';
import type { EventMetadata, RecordedEvent } from '../../../../services/kernel/event.js';
import { digestOf } from '../../../../services/kernel/encoding/digest.js';
import { shortHash } from '../../../../services/kernel/encoding/hash.js';
import { categoryOf, type StreamName } from '../../../../services/kernel/stream.js';
import { codecs } from '../../../../services/main/models.js';
import { eventRegistry } from '../../../../services/event-json/readable.js';
import { eventIds } from '../../../../services/sessions/encode-events.js';

/** A plausible event of one type. */
export type Sample = {
  readonly type: string;
  readonly stream: StreamName;
  /** The stored message in the JSON mapping of protobuf, with its contents as bytes. */
  readonly data: JsonObject;
};

/** The project and domain of all samples. */
export const PLACE = { project: 'flytesnacks', domain: 'development' } as const;

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');

const encoded = (schema: DescMessage, json: JsonObject): Uint8Array => toBinary(schema, fromJson(schema, json));

/** A field of type `Content`. */
export const content = (schema: DescMessage, json: JsonObject): JsonObject => ({
  inline: base64(encoded(schema, json)),
});

/** The digest of a message, as registrations record it. */
export const digest = (schema: DescMessage, json: JsonObject): string =>
  base64(digestOf(schema, fromJson(schema, json)));

/** The engine's message in a report, with its hash. */
export const reported = (schema: DescMessage, json: JsonObject): JsonObject => ({
  message: content(schema, json),
  messageHash: String(shortHash(encoded(schema, json))),
});

/** The time of the first sample; each one after it is a second later. */
const FIRST_RECORDED_AT_MS = Date.parse('2026-01-01T00:01:00.120Z');

/** The position of a sample among all samples (`at`, from 0), and its revision. */
type Place = { readonly at: number; readonly revision: number };

/** The event of a sample as a log of this format records it; the same sample gives the same event. */
export const recordedIn = ({ type, stream, data }: Sample, format: number, { at, revision }: Place): RecordedEvent => {
  const codec = codecs.get(categoryOf(stream))!;
  const event = codec.decode(type, encoded(eventRegistry.getMessage(`platformidl.eventlog.${type}`)!, data), 1);
  const commandId = `00000000-0000-4000-8000-${at.toString(16).padStart(12, '0')}`;
  const metadata: EventMetadata = {
    recordedAtMs: FIRST_RECORDED_AT_MS + 1_000 * at,
    actor: '',
    commandId,
    schema: 1,
    $correlationId: `request-${at}`,
  };
  return {
    ...codec.encode(event, format),
    stream,
    id: eventIds(commandId, 1)[0]!,
    metadata: JSON.stringify(metadata),
    revision: BigInt(revision),
    position: BigInt(100 + at),
  };
};
