import { sha256Hex } from '../../../services/kernel/encoding/hash.js';
import type { RecordedEvent } from '../../../services/kernel/event.js';
import { type Entry, eventReader, type EventSources, type TouchedDocuments } from '../event-reader.js';
import { isFedBySeveral, type ReadModel, type SeenEvent } from '../read-model.js';
import type { FieldValue, ReadStore, StoredDocument } from '../read-store.js';

type Folded = { document: unknown; position: bigint };

/** The store whose documents are compared. */
export type VerifyOptions = EventSources & { readonly store: ReadStore };

/** Number of documents that are read and compared at once. */
const COMPARED = 1_000;

const foldInto = (documents: Map<string, Folded>, { model, keys }: TouchedDocuments, seen: SeenEvent): void => {
  for (const key of keys) {
    const known = documents.get(key)?.document;
    const document = model.fold(known, seen, key) ?? known;
    if (document !== undefined) documents.set(key, { document, position: seen.position });
  }
};

type FoldedStream = ReadonlyMap<ReadModel<unknown>, Map<string, Folded>>;

const foldEntry = (documents: FoldedStream, { event, seen, touched, poison }: Entry): void => {
  if (!seen) throw new Error(`the event at position ${event.position} cannot be read`, { cause: poison });
  for (const each of touched) {
    const ofModel = documents.get(each.model);
    if (ofModel) foldInto(ofModel, each, seen);
  }
};

const areSame = (a: Uint8Array | undefined, b: Uint8Array | undefined): boolean =>
  a === undefined || b === undefined ? a === b : Buffer.compare(a, b) === 0;

const fieldsOf = (model: ReadModel<unknown>, fields: Readonly<Record<string, FieldValue>>): string =>
  JSON.stringify(Object.keys(model.collection.fields).map((field) => fields[field] ?? null));

/** Describes the difference between a stored document and a folded one; `undefined` when they are the same. */
const difference = (
  model: ReadModel<unknown>,
  stored: StoredDocument | undefined,
  { document, position }: Folded,
  key: string,
): string | undefined => {
  if (!stored) return 'it is missing';
  const expected = model.encode(key, document);
  if (stored.position !== position) return `it contains events up to position ${stored.position}, not ${position}`;
  if (fieldsOf(model, stored.fields) !== fieldsOf(model, expected.fields)) return 'its fields differ';
  const parts = (['response', 'listElement', 'foldState'] as const).filter(
    (part) => !areSame(stored[part], expected[part]),
  );
  return parts.length > 0 ? `its stored parts differ: ${parts.join(', ')}` : undefined;
};

type FoldedDocuments = readonly (readonly [key: string, Folded])[];

const compare = async (store: ReadStore, model: ReadModel<unknown>, documents: FoldedDocuments): Promise<void> => {
  for (let at = 0; at < documents.length; at += COMPARED) {
    const some = documents.slice(at, at + COMPARED);
    const found = await store.getMany(
      model.collection,
      some.map(([key]) => key),
    );
    const stored = new Map(found.map((each) => [each.key, each]));
    for (const [key, folded] of some) {
      const mismatch = difference(model, stored.get(key), folded, key);
      if (mismatch !== undefined)
        throw new Error(`the view ${model.collection.name} is wrong about ${key}: ${mismatch}`);
    }
  }
};

/** The events of a stream, in order. */
type StreamPages = AsyncIterable<readonly RecordedEvent[]> | Iterable<readonly RecordedEvent[]>;

/** Compares the documents that one stream alone feeds with a fold of the stream. */
export type Verifier = {
  /**
   * Folds a stream from its first event up to a position. The documents of several streams are compared at once.
   *
   * @throws {Error} naming the document that differs, and how, or the event that cannot be read.
   */
  readonly add: (pages: StreamPages, upTo: bigint) => Promise<void>;
  /** Compares the documents that are left; throws as `add` does. */
  readonly finish: () => Promise<void>;
};

/** Creates a verifier of a store. */
export const verifier = (options: VerifyOptions): Verifier => {
  const read = eventReader(options);
  const models = options.models.filter((model) => !isFedBySeveral(model));
  let folded: (readonly [ReadModel<unknown>, readonly [string, Folded]])[] = [];

  const finish = async (): Promise<void> => {
    const all = folded;
    folded = [];
    for (const model of models) {
      const documents = all.filter(([documentModel]) => documentModel === model).map(([, document]) => document);
      await compare(options.store, model, documents);
    }
  };

  const add = async (pages: StreamPages, upTo: bigint): Promise<void> => {
    // The whole stream is folded in memory: neither batches nor stored states are involved.
    const documents = new Map(models.map((model) => [model, new Map<string, Folded>()]));
    for await (const page of pages) {
      for (const event of page.filter(({ position }) => position <= upTo)) {
        const reading = read(event);
        const entry = reading instanceof Promise ? await reading : reading;
        if (entry) foldEntry(documents, entry);
      }
    }
    for (const [model, each] of documents) for (const document of each) folded.push([model, document]);
    if (folded.length >= COMPARED) await finish();
  };

  return { add, finish };
};

/** Compares the documents that several streams feed with a fold of the events in memory. */
export type SharedVerifier = {
  /** To be called with every entry that is projected, in order. */
  readonly see: (entry: Entry) => void;
  /** @throws {Error} naming the document that differs, and how. */
  readonly verify: (store: ReadStore) => Promise<void>;
};

const numberOf = (key: string): number => Number.parseInt(sha256Hex(key).slice(0, 8), 16);

/**
 * Samples the documents of one model: all while there are few, then every second by the hash of its key, every fourth,
 * …
 */
const sharedModelVerifier = (model: ReadModel<unknown>, most: number): SharedVerifier => {
  const documents = new Map<string, Folded>();
  let step = 1;
  const isSampled = (key: string): boolean => numberOf(key) % step === 0;
  const see = ({ seen, touched }: Entry): void => {
    const keys = touched.find((each) => each.model === model)?.keys.filter(isSampled) ?? [];
    if (seen) foldInto(documents, { model, keys }, seen);
    for (; documents.size > most; step *= 2)
      for (const key of documents.keys()) if (numberOf(key) % (2 * step) !== 0) documents.delete(key);
  };
  return { see, verify: (store) => compare(store, model, [...documents]) };
};

/** Creates a verifier for all models that several streams feed, with at most `most` documents of each. */
export const sharedVerifier = (models: readonly ReadModel<unknown>[], most: number): SharedVerifier => {
  const verifiers = models.filter(isFedBySeveral).map((model) => sharedModelVerifier(model, most));
  return {
    see: (entry) => {
      for (const each of verifiers) each.see(entry);
    },
    verify: async (store) => {
      for (const each of verifiers) await each.verify(store);
    },
  };
};
