import { recordedMetadata } from '../../services/kernel/decode-event.js';
import type { RecordedEvent } from '../../services/kernel/event.js';
import type { EventLog } from '../../services/kernel/ports/event-store.js';
import type { StreamName } from '../../services/kernel/stream.js';
import { type Entry, type EventReader, eventReader, type EventSources } from '../runtime/event-reader.js';
import { folding, parkedBy } from '../runtime/folding.js';
import type { Collection, ReadStore, StoredDocument } from '../runtime/read-store.js';

/** A document that is folded from the stream of an execution: of the execution itself, a node or a task. */
export type FoldedDocument = { readonly collection: Collection; readonly document: StoredDocument };

/** The change by one event: the changed documents as they are after it. */
export type EventChange = {
  readonly position: bigint;
  readonly type: string;
  readonly recordedAtMs: number;
  readonly documents: readonly FoldedDocument[];
};

/** One execution in memory, folded from its stream up to a position. */
export interface FoldedExecution {
  /** The position of the last event that was folded; 0n before the first. */
  position(): bigint;
  /** The revision of the last event that was folded; -1n before the first. */
  revision(): bigint;
  /** All documents as they are now. */
  documents(): readonly FoldedDocument[];
  /** The document of a collection and key. */
  get(collection: Collection, key: string): StoredDocument | undefined;
  /**
   * Folds an event. Missing events before it are read from the log and folded first.
   *
   * @returns a change for each of these events that changes documents; empty for an event that was folded before.
   * @throws {StreamParked} when an event cannot be read or folded.
   * @throws {CorruptEvent} when the stream was deleted in the event store.
   * @throws {StoreUnavailable} when the log cannot be read.
   */
  fold(event: RecordedEvent): Promise<readonly EventChange[]>;
  /**
   * Folds the further events that the log has of the stream, and yields the changes as `fold` returns them, in pages.
   *
   * @throws {Fault} as `fold`.
   */
  catchUp(): AsyncGenerator<readonly EventChange[]>;
  /**
   * Folds the events that the log has of the stream up to a position; by default all.
   *
   * @throws {Fault} as `fold`.
   */
  load(until?: bigint): Promise<void>;
}

/** The read models that one execution feeds, and where their events come from. */
export type ExecutionSources = EventSources & { readonly log: Pick<EventLog, 'readStream'> };

/** The size of the cache of decoded documents, in bytes. */
const CACHE_BYTES = 64 * 1024;

/** An in-memory read store with the documents of one execution. */
const memory = () => {
  const byCollection = new Map<string, Map<string, StoredDocument>>();
  const all = new Map<string, FoldedDocument>();
  const documentsOf = ({ name }: Collection): Map<string, StoredDocument> => {
    const found = byCollection.get(name) ?? new Map<string, StoredDocument>();
    byCollection.set(name, found);
    return found;
  };
  const store: Pick<ReadStore, 'getMany'> = {
    getMany: (collection, keys) => Promise.resolve(keys.flatMap((key) => documentsOf(collection).get(key) ?? [])),
  };
  const put = ({ collection, document }: FoldedDocument): void => {
    documentsOf(collection).set(document.key, document);
    all.set(`${collection.name} ${document.key}`, { collection, document });
  };
  return { store, put, get: (collection: Collection, key: string) => documentsOf(collection).get(key), all };
};

const entriesOf = async (read: EventReader, events: readonly RecordedEvent[]): Promise<readonly Entry[]> => {
  const entries: Entry[] = [];
  for (const event of events) {
    const entry = await read(event);
    if (entry) entries.push(entry);
  }
  return entries;
};

/** Opens an execution. It is folded by the same reader and folds as the views. */
export const openExecution = (stream: StreamName, sources: ExecutionSources): FoldedExecution => {
  const read = eventReader(sources);
  const held = memory();
  const folded = folding(held.store, CACHE_BYTES);
  let revision = -1n;
  let position = 0n;

  const foldEvents = async (events: readonly RecordedEvent[]): Promise<readonly FoldedDocument[]> => {
    let documents: readonly FoldedDocument[];
    try {
      await folded.fold(await entriesOf(read, events));
      documents = folded.changes().map(({ collection, document }) => ({ collection, document }));
    } catch (error) {
      folded.forget();
      throw parkedBy(stream, error);
    }
    for (const each of documents) held.put(each);
    folded.trim();
    ({ revision, position } = events.at(-1) ?? { revision, position });
    return documents;
  };
  const changesOf = async (events: readonly RecordedEvent[]): Promise<readonly EventChange[]> => {
    const changes: EventChange[] = [];
    for (const event of events.filter((each) => each.revision > revision)) {
      const documents = await foldEvents([event]);
      const { recordedAtMs } = recordedMetadata(event);
      if (documents.length > 0) changes.push({ position, type: event.type, recordedAtMs, documents });
    }
    return changes;
  };
  const rest = () => sources.log.readStream(stream, { from: revision + 1n });
  const catchUp = async function* (): AsyncGenerator<readonly EventChange[]> {
    for await (const page of rest()) yield changesOf(page);
  };

  return {
    position: () => position,
    revision: () => revision,
    documents: () => [...held.all.values()],
    get: held.get,
    fold: async (event) => {
      if (event.revision <= revision + 1n) return changesOf([event]);
      const changes: EventChange[] = [];
      for await (const page of rest()) {
        changes.push(...(await changesOf(page.filter((each) => each.revision <= event.revision))));
        if (revision >= event.revision) break;
      }
      return changes;
    },
    catchUp,
    load: async (until) => {
      for await (const page of rest()) {
        const wanted = until === undefined ? page : page.filter((event) => event.position <= until);
        if (wanted.length > 0) await foldEvents(wanted);
        if (wanted.length < page.length) return;
      }
    },
  };
};
