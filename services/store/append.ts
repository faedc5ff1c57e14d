import { MAX_APPEND_BYTES, type ExpectedRevision } from '../kernel/ports/event-store.js';
import type { NewEvent } from '../kernel/event.js';
import { AppendTooLarge } from '../kernel/fault.js';

/** The events to append to one stream, all or none, and the revision that the stream is expected to be at. */
export type Append = {
  readonly stream: string;
  readonly expected: ExpectedRevision;
  readonly events: readonly NewEvent[];
};

const sizeOf = (events: readonly NewEvent[]): number =>
  events.reduce(
    (bytes, { id, type, data, metadata }) =>
      bytes + id.length + Buffer.byteLength(type) + data.length + Buffer.byteLength(metadata),
    0,
  );

/**
 * Validates an append before it is sent to a store.
 *
 * @throws {AppendTooLarge} above 1,000,000 bytes.
 * @throws {RangeError} when no adapter could accept it: a bug of the caller.
 */
export const checkAppend = ({ stream, expected, events }: Append): void => {
  if (events.length === 0) throw new RangeError(`an append to ${stream} needs an event`);
  if (events.some(({ id }) => id.length !== 16)) throw new RangeError(`an event id for ${stream} is not of 16 bytes`);
  if ([stream, ...events.flatMap(({ type, metadata }) => [type, metadata])].some((text) => text.includes('\0')))
    throw new RangeError(`a stream, type or metadata of an append to ${stream} has a NUL character`);
  if (typeof expected === 'bigint' && expected < 0n)
    throw new RangeError(`revision ${expected} of ${stream} cannot be`);
  const bytes = sizeOf(events);
  if (bytes > MAX_APPEND_BYTES)
    throw new AppendTooLarge(`an append of ${bytes} bytes to ${stream} is above ${MAX_APPEND_BYTES}`);
};
