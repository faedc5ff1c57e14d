import type { EventCodec } from '../../services/kernel/aggregate.js';
import { type EventMetadata, metadataOf, type RecordedEvent, schemaOf } from '../../services/kernel/event.js';
import { CorruptEvent, CorruptPayload, Fault, UnknownEvent } from '../../services/kernel/fault.js';
import { bytesOf, type Content, type PayloadStore } from '../../services/kernel/ports/payload-store.js';
import { categoryOf } from '../../services/kernel/stream.js';
import type { ReadModel, SeenEvent } from './read-model.js';

/** The codec of each category, the store of large contents, and the read models that the events are read for. */
export type EventSources = {
  readonly codecs: ReadonlyMap<string, EventCodec<unknown>>;
  readonly payloads: PayloadStore;
  readonly models: readonly ReadModel<unknown>[];
};

/** Keys of the documents of one read model that an event touches. */
export type TouchedDocuments = { readonly model: ReadModel<unknown>; readonly keys: readonly string[] };

/** An event about to be folded: the documents that it touches, or the reason why it cannot be read. */
export type Entry = {
  readonly event: RecordedEvent;
  readonly seen?: SeenEvent;
  readonly touched: readonly TouchedDocuments[];
  /** Number of documents that the event touches. */
  readonly width: number;
  /** Approximate size in memory, in bytes. */
  readonly bytes: number;
  readonly poison?: unknown;
};

/**
 * The entry with only the wanted ones of the documents that it touches; `undefined` when none is left. An entry that
 * cannot be read is returned as it is, because folding it must fail.
 */
export const onlyWanted = (
  entry: Entry | undefined,
  isWanted: (collection: string, key: string) => boolean,
): Entry | undefined => {
  if (entry?.seen === undefined) return entry;
  const touched = entry.touched.flatMap(({ model, keys }) => {
    const kept = keys.filter((key) => isWanted(model.collection.name, key));
    return kept.length === 0 ? [] : [{ model, keys: kept }];
  });
  return touched.length === 0 ? undefined : { ...entry, touched };
};

/**
 * True when the event itself causes the error, so that a retry would fail again; false for failures of the
 * infrastructure.
 */
export const isPoison = (error: unknown): boolean =>
  !(error instanceof Fault) ||
  error instanceof UnknownEvent ||
  error instanceof CorruptEvent ||
  error instanceof CorruptPayload;

const poisonOf = (event: RecordedEvent, error: unknown): Entry => {
  if (!isPoison(error)) throw error;
  return { event, touched: [], width: 0, bytes: 0, poison: error };
};

/**
 * Reads an event; `undefined` for one that no read model follows: it is of a category without a codec, or of a type
 * that this release knows. Synchronous, except when a large content has to be loaded: most events cost no promise.
 */
export type EventReader = (event: RecordedEvent) => Entry | undefined | Promise<Entry>;

const loadContents = async (contents: readonly Content[], payloads: PayloadStore): Promise<number> => {
  let bytes = 0;
  for (const each of contents) {
    const value = await bytesOf(each, payloads);
    each.content = { case: 'inline', value };
    bytes += value.length;
  }
  return bytes;
};

const entryOf = (
  event: RecordedEvent,
  seen: SeenEvent,
  followers: readonly ReadModel<unknown>[],
  bytes: number,
): Entry => {
  const touched: TouchedDocuments[] = [];
  let width = 0;
  for (const model of followers) {
    const keys = model.touches(seen);
    if (keys.length > 0) touched.push({ model, keys });
    width += keys.length;
  }
  return { event, seen, touched, width, bytes };
};

/**
 * An event as read models receive it. Its metadata is decoded when it is first read: most events need only their data.
 * An object with a getter of its own would cost ten times as much to make.
 */
class DecodedEvent implements SeenEvent {
  readonly body: unknown;
  readonly type: string;
  readonly stream: SeenEvent['stream'];
  readonly revision: bigint;
  readonly position: bigint;
  readonly #recorded: RecordedEvent;
  #metadata: EventMetadata | undefined;

  constructor(recorded: RecordedEvent, body: unknown) {
    this.body = body;
    this.type = recorded.type;
    this.stream = recorded.stream;
    this.revision = recorded.revision;
    this.position = recorded.position;
    this.#recorded = recorded;
  }

  get metadata(): EventMetadata {
    return (this.#metadata ??= metadataOf(this.#recorded));
  }
}

const followersOf = (models: readonly ReadModel<unknown>[]): ReadonlyMap<string, readonly ReadModel<unknown>[]> => {
  const types = new Set(models.flatMap(({ follows }) => follows));
  return new Map([...types].map((type) => [type, models.filter(({ follows }) => follows.includes(type))]));
};

/**
 * Creates the reader of a set of read models: each event is decoded once, with its large contents loaded. Of events
 * that no read model follows, only the first of each type and schema is decoded, to make sure that this release knows
 * it; events of categories without a codec, such as those of other programs, are passed over.
 */
export const eventReader = ({ codecs, payloads, models }: EventSources): EventReader => {
  const followers = followersOf(models);
  const known = new Set<string>();

  const assertKnown = (codec: EventCodec<unknown>, { type, data }: RecordedEvent, schema: number): void => {
    const kind = `${type} ${schema}`;
    if (!known.has(kind)) codec.decode(type, data, schema);
    known.add(kind);
  };

  const read = (event: RecordedEvent): Entry | undefined | Promise<Entry> => {
    const codec = codecs.get(categoryOf(event.stream));
    if (!codec) return undefined;
    const { type } = event;
    const schema = schemaOf(event);
    const interested = followers.get(type);
    if (!interested) {
      assertKnown(codec, event, schema);
      return undefined;
    }
    const body = codec.decode(type, event.data, schema);
    const seen = new DecodedEvent(event, body);
    const refs = codec.contents(body).filter(({ content }) => content.case === 'ref');
    if (refs.length === 0) return entryOf(event, seen, interested, event.data.length);
    return loadContents(refs, payloads)
      .then((bytes) => entryOf(event, seen, interested, event.data.length + bytes))
      .catch((error: unknown) => poisonOf(event, error));
  };

  return (event) => {
    try {
      return read(event);
    } catch (error) {
      return poisonOf(event, error);
    }
  };
};
