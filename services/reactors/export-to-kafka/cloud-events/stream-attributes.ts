import { categoryOf, type StreamName } from '../../../kernel/stream.js';

/**
 * The entity that a stream is about, such as `flytesnacks/development/a1b2`. Its components are encoded as in the name
 * of the stream, so that two streams of a category never have the same text.
 */
export const entityText = (stream: StreamName): string =>
  stream.slice(categoryOf(stream).length + 1).replaceAll(':', '/');

/** Values that all events of a stream share. */
export type StreamAttributes = {
  readonly category: string;
  readonly entity: string;
  /** The entity as the key of messages. */
  readonly key: Buffer;
  readonly entityJson: string;
  readonly streamJson: string;
};

const attributesOf = (stream: StreamName): StreamAttributes => {
  const entity = entityText(stream);
  return {
    category: categoryOf(stream),
    entity,
    key: Buffer.from(entity),
    entityJson: JSON.stringify(entity),
    streamJson: JSON.stringify(stream),
  };
};

/** Size of the cache: a stream has many events, and they arrive close together. */
const MAX_KNOWN = 4_096;

/** Makes a function that gives the attributes of a stream, and caches them. */
export const streamAttributes = (): ((stream: StreamName) => StreamAttributes) => {
  const known = new Map<StreamName, StreamAttributes>();
  return (stream) => {
    const found = known.get(stream);
    if (found) return found;
    if (known.size >= MAX_KNOWN) known.clear();
    const made = attributesOf(stream);
    known.set(stream, made);
    return made;
  };
};
