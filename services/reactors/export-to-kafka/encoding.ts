import type { RecordedEvent } from '../../kernel/event.js';
import type { JsonBytes } from '../../kernel/encoding/json-bytes.js';
import type { Described } from './cloud-event.js';

/** How the data of events is given to others; what lies beside the log is brought in. */
export interface Presenting {
  /**
   * Written at the end of what is given, in the interface's JSON mapping, with the messages that it carries opened.
   *
   * @returns when it is not there at once, when it will be.
   * @throws {UnknownEvent} when this release does not know the type.
   */
  json(event: RecordedEvent, json: JsonBytes): Promise<void> | undefined;
  /** The stored message. */
  message(event: RecordedEvent): Promise<Uint8Array>;
}

/** An event format: an event with its data, or with where that is. */
export interface Encoding {
  readonly contentType: string;
  whole(event: RecordedEvent, described: Described): Promise<Buffer> | Buffer;
  referring(described: Described, dataref: string): Buffer;
}
