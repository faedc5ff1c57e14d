import type { RecordedEvent } from '../../../kernel/event.js';
import type { JsonBytes } from '../../../kernel/encoding/json-bytes.js';
import type { CloudEventAttributes } from './cloud-event.js';

/** Converts the data of events for publishing; contents in the payload store are included, unless lost or damaged. */
export interface PublishedDataEncoder {
  /**
   * Appends the data of an event to `json`, in the interface's JSON mapping, with embedded messages expanded.
   *
   * @returns `undefined` when it is written already, otherwise a promise that resolves when it is.
   * @throws {UnknownEvent | CorruptEvent} at once or as a rejection, when this release cannot read the event.
   * @throws {StoreUnavailable} as a rejection, when a content in the payload store cannot be read now.
   */
  json(event: RecordedEvent, json: JsonBytes): Promise<void> | undefined;
  /**
   * The data of an event as the bytes of its protobuf message.
   *
   * @throws {UnknownEvent | CorruptEvent} when this release cannot read the event.
   * @throws {StoreUnavailable} when a content in the payload store cannot be read now.
   */
  message(event: RecordedEvent): Promise<Uint8Array>;
}

/**
 * An event format of CloudEvents: encodes an event with its data (`whole`), or, when that is too large for its topic,
 * with a reference to it (`referring`).
 */
export interface Encoding {
  readonly contentType: string;
  /** Encodes an event with its data. Callers wait for the result before the next call. */
  whole(event: RecordedEvent, described: CloudEventAttributes): Promise<Buffer> | Buffer;
  referring(described: CloudEventAttributes, dataref: string): Buffer;
}
