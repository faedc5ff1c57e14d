import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { create, type DescMessage, fromBinary, type MessageInitShape, type MessageShape } from '@bufbuild/protobuf';

import { entities, codecs, models } from '../../../services/main/models.js';
import type { LinkedEntities } from '../../../projections/query/columns.js';
import type { Freshness } from '../../../projections/query/freshness.js';
import type { RecordedContents } from '../../../projections/query/recorded-contents.js';
import { projector } from '../../../projections/runtime/projector.js';
import type { ReadModel, SeenEvent } from '../../../projections/runtime/read-model.js';
import type { ReadStore, StoredDocument } from '../../../projections/runtime/read-store.js';
import { sqliteReadStore } from '../../../projections/store/sqlite/sqlite-read-store.js';
import { metadataOf, type RecordedEvent } from '../../../services/kernel/event.js';
import type { EventLog } from '../../../services/kernel/ports/event-store.js';
import type { PayloadStore } from '../../../services/kernel/ports/payload-store.js';
import type { Call, Route } from '../../../services/kernel/rpc.js';
import { categoryOf } from '../../../services/kernel/stream.js';
import { noEngineData } from '../../../services/main/engines/engine-data.js';

/** The recording time of the event at a position, in milliseconds since 1970. */
export const recordedAtMs = (position: bigint): number => 1_690_000_000_000 + Number(position);

/** Adds the metadata that a log gives to events. */
const inLog = (events: readonly RecordedEvent[]): readonly RecordedEvent[] =>
  events.map((event) => {
    const metadata = { recordedAtMs: recordedAtMs(event.position), actor: '', commandId: '', schema: 1 };
    return { ...event, metadata: JSON.stringify(metadata) };
  });

/** An event as read models get it, decoded. */
const seen = (event: RecordedEvent): SeenEvent => {
  const { type, stream, revision, position } = event;
  const metadata = metadataOf(event);
  const body = codecs.get(categoryOf(stream))?.decode(type, event.data, metadata.schema);
  return { type, body, stream, revision, position, metadata };
};

const foldBatch = <Document>(
  model: ReadModel<Document>,
  stored: Map<string, StoredDocument>,
  batch: readonly SeenEvent[],
): void => {
  const held = new Map<string, Document>();
  for (const event of batch) {
    for (const key of model.touches(event)) {
      const before = stored.get(key);
      const document = model.fold(held.get(key) ?? (before && model.decode(before)), event, key);
      if (document !== undefined) held.set(key, document);
    }
  }
  for (const [key, document] of held) stored.set(key, { key, position: 0n, ...model.encode(key, document) });
};

/**
 * Projects the events; the documents are stored after each batch, and loaded again in the next.
 * @returns the stored documents, by key.
 */
export const documentsAfter = <Document>(
  model: ReadModel<Document>,
  events: readonly RecordedEvent[],
  batchSize = Infinity,
): ReadonlyMap<string, StoredDocument> => {
  const stored = new Map<string, StoredDocument>();
  const all = inLog(events)
    .map(seen)
    .filter(({ type }) => model.follows.includes(type));
  for (let at = 0; at < all.length; at += batchSize) foldBatch(model, stored, all.slice(at, at + batchSize));
  return stored;
};

const alwaysFresh: Freshness = {
  awaitAcknowledged: () => Promise.resolve(() => Promise.resolve([])),
  recorded: () => Promise.resolve(undefined),
  acknowledgedUnder: () => undefined,
  waitForPrefix: () => Promise.resolve(),
};

const call: Call = {
  principal: '',
  requestId: 'r1',
  isCancelled: () => false,
  answeredAt: () => undefined,
};

const noPayloads: PayloadStore = {
  put: () => Promise.reject(new Error('nothing is large here')),
  get: () => Promise.resolve(undefined),
  close: () => Promise.resolve(),
};

/** A log with these events, of which only streams can be read. */
const logOf = (events: readonly RecordedEvent[]): EventLog => ({
  logId: 'log',
  async *readStream(stream, { from = 0n, limit = Infinity } = {}) {
    const page = events.filter((event) => event.stream === stream && event.revision >= from).slice(0, limit);
    yield await Promise.resolve(page);
  },
  readLog: () => {
    throw new Error('reads go by stream');
  },
  readLogBackwards: () => {
    throw new Error('reads go by stream');
  },
  subscribe: () => {
    throw new Error('reads do not follow the log');
  },
  head: () => Promise.resolve(BigInt(events.length)),
  close: () => Promise.resolve(),
});

/** The views of given events, with everything else that routes need. */
export type Reads = {
  readonly store: ReadStore;
  readonly entities: LinkedEntities;
  readonly freshness: Freshness;
  readonly contents: RecordedContents;
  readonly domains: readonly { readonly id: string; readonly name: string }[];
};

/** Calls an RPC by its method. */
export type Ask = <Input extends DescMessage, Output extends DescMessage>(
  method: { readonly localName: string; readonly input: Input; readonly output: Output },
  request?: MessageInitShape<Input>,
) => Promise<MessageShape<Output>>;

/** Projects the events, and opens routes that read the views. */
export const openReads = async (
  events: readonly RecordedEvent[],
  routes: (reads: Reads) => readonly Route[],
): Promise<{ readonly ask: Ask; readonly warnings: readonly string[]; close(): Promise<void> }> => {
  const directory = mkdtempSync(join(tmpdir(), 'flightlog-reads-'));
  const store = sqliteReadStore({ directory, mode: 'read-write' });
  await store.prepare(models.map(({ collection }) => collection));
  const recorded = inLog(events);
  const views = await projector({
    readStore: store,
    logId: 'log',
    codecs,
    payloads: noPayloads,
    models,
    onPoison: 'stop',
  });
  if (recorded.length > 0) await views.take(recorded, recorded.at(-1)!.position);
  const warnings: string[] = [];
  const contents = {
    log: logOf(recorded),
    payloads: noPayloads,
    engineData: noEngineData,
    warn: (message: string) => void warnings.push(message),
  };
  const domains = [{ id: 'development', name: 'Development' }];
  const table = new Map(
    routes({ store, entities, freshness: alwaysFresh, contents, domains }).map((each) => [each.method.localName, each]),
  );
  const ask: Ask = async (method, request) => {
    const message = create(method.input, request);
    const answer = await table.get(method.localName)!.handle(message as never, call);
    return answer instanceof Uint8Array ? fromBinary(method.output, answer) : (answer as never);
  };
  return { ask, warnings, close: () => store.close() };
};
