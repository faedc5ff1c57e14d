import { categoryOf, type StreamName } from '../../kernel/stream.js';

/**
 * The thing that a stream is about: `flytesnacks/development/a1b2`. Its parts are encoded as in the name of the stream,
 * so that two things never share one.
 */
export const entityOf = (stream: StreamName): string =>
  stream.slice(categoryOf(stream).length + 1).replaceAll(':', '/');

/** What the events of a stream have in common. */
export type Subject = {
  readonly category: string;
  readonly entity: string;
  /** The entity as the key of messages. */
  readonly key: Buffer;
  readonly entityJson: string;
  readonly streamJson: string;
};

const subjectOf = (stream: StreamName): Subject => {
  const entity = entityOf(stream);
  return {
    category: categoryOf(stream),
    entity,
    key: Buffer.from(entity),
    entityJson: JSON.stringify(entity),
    streamJson: JSON.stringify(stream),
  };
};

/** A stream has many events, and they come close together. */
const MAX_KNOWN = 4_096;

/** Answers what the events of a stream have in common, made once while they come. */
export const subjects = (): ((stream: StreamName) => Subject) => {
  const known = new Map<StreamName, Subject>();
  return (stream) => {
    const found = known.get(stream);
    if (found) return found;
    if (known.size >= MAX_KNOWN) known.clear();
    const made = subjectOf(stream);
    known.set(stream, made);
    return made;
  };
};
