import type { EventLog } from '../../services/kernel/ports/event-store.js';
import { type Call, RpcError } from '../../services/kernel/rpc.js';
import type { Acknowledged } from '../../services/kernel/ports/sessions.js';
import type { StreamName } from '../../services/kernel/stream.js';
import type { Collection, Condition, DocumentReads, Query, ReadStore, StoredDocument } from '../runtime/read-store.js';
import type { UnprojectedEvents } from '../runtime/unprojected-events.js';
import type { Views, ViewScope } from '../runtime/views.js';

/** Time that a read waits for the events that this process has acknowledged. */
const ACKNOWLEDGED_WAIT_MS = 500;
/** Time that a read waits for the position that its caller asks for. */
const MIN_POSITION_WAIT_MS = 2_000;

/**
 * Computes the documents of a collection from the events of their stream that are not yet projected: the document with
 * a key, or all whose keys have a prefix. Empty when no such event changes them.
 */
export type FoldUnprojected = (
  collection: Collection,
  wanted: { readonly key: string } | { readonly under: string },
) => Promise<readonly StoredDocument[]>;

/**
 * Read-your-writes: a read waits for a limited time until the views contain what its caller must see, and reports the
 * position that the answer is based on.
 */
export interface Freshness {
  /**
   * For a Get of documents that one stream feeds: waits for the last acknowledged event of the stream. When the view
   * has not reached it in time, or is being built, the returned function computes the documents from the events that
   * are not yet projected; a document is read from the view only when that function does not return it.
   *
   * @throws {RpcError} UNAVAILABLE when the view has not reached the position that the caller asks for.
   */
  awaitAcknowledged(call: Call, stream: StreamName, collection: Collection): Promise<FoldUnprojected>;

  /**
   * For a Get that found nothing: returns a function as `awaitAcknowledged` does, without a wait, for all events that
   * any process has recorded in the stream; `undefined` when the stream has no events. The view may have caught up
   * meanwhile, so the caller must also read it again.
   */
  recorded(stream: StreamName, collection: Collection): Promise<FoldUnprojected | undefined>;

  /**
   * For a Get of documents that several streams feed: a stream with this name prefix of which this process has
   * acknowledged an event; `undefined` when there is none.
   */
  acknowledgedUnder(prefix: string): StreamName | undefined;

  /**
   * For a List: waits for the last acknowledged event of the streams with this name prefix. After the time limit the
   * list is answered from the views as they are. A call that makes many lists, such as GetExecutionMetrics, waits once
   * for each collection and prefix: what is acknowledged after a call has begun is no part of its promise.
   *
   * @throws {RpcError} UNAVAILABLE when the view is being built, or has not reached the position that the caller asks
   * for.
   */
  waitForPrefix(call: Call, prefix: string, collection: Collection): Promise<void>;
}

const behind = (position: bigint): RpcError =>
  new RpcError('UNAVAILABLE', `the views have not reached position ${position.toString()} yet`);

const awaitMinPosition = async (views: Views, call: Call, scope: ViewScope): Promise<void> => {
  if (call.minPosition === undefined) return;
  if (!(await views.reached(call.minPosition, MIN_POSITION_WAIT_MS, scope))) throw behind(call.minPosition);
};

/** @throws {RpcError} UNAVAILABLE when one of the views is being built: its documents are not complete. */
const assertBuilt = (views: Views, collections: readonly Collection[]): void => {
  const building = views.building();
  const found = collections.find(({ name }) => building.includes(name));
  if (found) throw new RpcError('UNAVAILABLE', `the view ${found.name} is being built from the log; retry later`);
};

const collectionsIn = (where: readonly Condition[]): readonly Collection[] =>
  where.flatMap((each) => (each.is === 'key of' ? [each.collection, ...collectionsIn(each.where)] : []));

/**
 * Wraps a store: a query of a view that is being built throws {@link RpcError} UNAVAILABLE, and so does a query with a
 * condition on the documents of such a view.
 */
export const searchingBuiltViews = (store: ReadStore, views: Views): ReadStore => {
  const check = (collection: Collection, { where }: Query): void =>
    assertBuilt(views, [collection, ...collectionsIn(where)]);
  return {
    ...store,
    find: async (collection, query) => {
      check(collection, query);
      return store.find(collection, query);
    },
    findDistinct: async (collection, query) => {
      check(collection, query);
      return store.findDistinct(collection, query);
    },
    countBy: async (collection, query, by) => {
      check(collection, query);
      return store.countBy(collection, query, by);
    },
  };
};

const nothing: FoldUnprojected = () => Promise.resolve([]);

const foldedBy =
  (events: UnprojectedEvents, stream: StreamName): FoldUnprojected =>
  ({ name: collection }, wanted) =>
    events.fold({ stream, collection, ...wanted });

/** The position of the last event of a stream; `undefined` when it has none. */
export type LastPositionOf = (stream: StreamName) => Promise<bigint | undefined>;

/** Reads the position of a stream's last event from a log. */
export const lastPositionOf =
  (log: Pick<EventLog, 'readStream'>): LastPositionOf =>
  async (stream) => {
    for await (const [last] of log.readStream(stream, { direction: 'backwards', limit: 1 })) return last?.position;
    return undefined;
  };

/** True for the first time that a call is to wait for something. */
type IsFirstWait = (call: Call, key: string) => boolean;

const firstWaits = (): IsFirstWait => {
  const waits = new WeakMap<Call, Set<string>>();
  return (call, key) => {
    const known = waits.get(call) ?? new Set();
    if (known.has(key)) return false;
    waits.set(call, known.add(key));
    return true;
  };
};

const waitingForPrefix = (acknowledged: Acknowledged, views: Views): Freshness['waitForPrefix'] => {
  const isFirstWait = firstWaits();
  return async (call, prefix, collection) => {
    assertBuilt(views, [collection]);
    const scope = { collection: collection.name };
    await awaitMinPosition(views, call, scope);
    if (isFirstWait(call, `${collection.name} ${prefix}`))
      await views.reached(acknowledged.ofPrefix(prefix) ?? 0n, ACKNOWLEDGED_WAIT_MS, scope);
    call.answeredAt(views.position(scope));
  };
};

/** Creates the read-your-writes rules over the views of this process. */
export const freshness = (
  acknowledged: Acknowledged,
  views: Views,
  events: UnprojectedEvents,
  last: LastPositionOf,
): Freshness => ({
  awaitAcknowledged: async (call, stream, { name: collection }) => {
    const scope = { collection, stream };
    await awaitMinPosition(views, call, scope);
    if (views.building().includes(collection)) {
      call.answeredAt(views.position(scope));
      return foldedBy(events, stream);
    }
    const isProjected = await views.reached(acknowledged.ofStream(stream) ?? 0n, ACKNOWLEDGED_WAIT_MS, scope);
    call.answeredAt(views.position(scope));
    return isProjected ? nothing : foldedBy(events, stream);
  },
  recorded: async (stream, { name: collection }) => {
    const position = await last(stream);
    if (position === undefined) return undefined;
    return position <= views.position({ collection, stream }) ? nothing : foldedBy(events, stream);
  },
  acknowledgedUnder: (prefix) => acknowledged.streamUnder(prefix),
  waitForPrefix: waitingForPrefix(acknowledged, views),
});

/** The sources of a Get. */
export type FreshReads = { readonly store: DocumentReads; readonly freshness: Freshness };

/**
 * @throws {RpcError} UNAVAILABLE when the stream is parked: a document that its events would create is not known to be
 * absent.
 */
const assertNotParked = async (store: DocumentReads, stream: StreamName): Promise<void> => {
  if ((await store.parked()).some((each) => each.stream === stream))
    throw new RpcError('UNAVAILABLE', `the views have parked stream ${stream}: they cannot process one of its events`);
};

/**
 * Looks up documents of a collection that a stream feeds: first with every event of the stream that this process has
 * acknowledged, then, when nothing is found, with all recorded events.
 *
 * @throws {RpcError} UNAVAILABLE when the view has not reached the position that the caller asks for, or when nothing
 * is found and the stream is parked.
 * @throws {StreamParked} when an event that the view lacks cannot be folded.
 * @throws {CorruptEvent} when the stream was deleted in the event store.
 * @throws {StoreUnavailable} when the view lacks too many events, or folding them takes too long.
 */
export const findFresh = async <Found>(
  { store, freshness: fresh }: FreshReads,
  call: Call,
  { stream, collection }: { readonly stream: StreamName; readonly collection: Collection },
  find: (unprojected: FoldUnprojected) => Promise<Found | undefined>,
): Promise<Found | undefined> => {
  const found = await find(await fresh.awaitAcknowledged(call, stream, collection));
  if (found !== undefined) return found;
  await assertNotParked(store, stream);
  const recorded = await fresh.recorded(stream, collection);
  return recorded && find(recorded);
};

/**
 * The document with a key, looked up as by {@link findFresh}.
 *
 * @throws {RpcError} UNAVAILABLE as {@link findFresh}.
 * @throws {StreamParked} when an event that the view lacks cannot be folded.
 * @throws {CorruptEvent} when the stream was deleted in the event store.
 * @throws {StoreUnavailable} when the view lacks too many events, or folding them takes too long.
 */
export const latestDocument = (
  reads: FreshReads,
  call: Call,
  collection: Collection,
  { stream, key }: { readonly stream: StreamName; readonly key: string },
): Promise<StoredDocument | undefined> =>
  findFresh(reads, call, { stream, collection }, async (unprojected) => {
    const [document] = await unprojected(collection, { key });
    return document ?? reads.store.get(collection, key);
  });
