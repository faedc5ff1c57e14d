import type { EventLog } from '../../services/kernel/ports/event-store.js';
import { type Call, RpcError } from '../../services/kernel/rpc.js';
import type { Acknowledged } from '../../services/kernel/ports/sessions.js';
import type { StreamName } from '../../services/kernel/stream.js';
import type { Collection, ReadStore, StoredDocument } from '../runtime/read-store.js';
import type { UnseenEvents } from '../runtime/unseen.js';
import type { Views } from '../runtime/views.js';

/** How long a read waits for what this process has acknowledged. */
const ACKNOWLEDGED_WAIT_MS = 500;
/** How long a read waits for the position that its caller asks for. */
const MIN_POSITION_WAIT_MS = 2_000;

/**
 * The documents that the view of a collection lacks, as the events of their stream have made them: that of a key, or
 * all whose keys begin so.
 */
export type Unseen = (
  collection: Collection,
  wanted: { readonly key: string } | { readonly under: string },
) => Promise<readonly StoredDocument[]>;

/** What a read does before it looks: it waits for what its caller must see, and says on which position it stands. */
export interface Freshness {
  /**
   * For a Get of what one stream feeds: waits for the last acknowledged event of the stream, and answers how to come
   * by what the view lacks when it has not come that far. What that names is looked up in the view only when it names
   * nothing.
   *
   * @throws {RpcError} UNAVAILABLE when the views have not come to the caller's own position.
   */
  unseen(call: Call, stream: StreamName): Promise<Unseen>;

  /**
   * For a Get that finds nothing: how to come by what the view lacks of all that anybody has recorded in the stream;
   * `undefined` when nothing ever was. The view may have come to it meanwhile.
   */
  recorded(stream: StreamName): Promise<Unseen | undefined>;

  /**
   * For a Get of what several streams feed: one of those whose names begin so that this process has acknowledged;
   * `undefined` when there is none.
   */
  acknowledgedUnder(prefix: string): StreamName | undefined;

  /**
   * For a List: waits for the last acknowledged event of the streams whose names begin so, then goes on with what is
   * there.
   *
   * @throws {RpcError} UNAVAILABLE when the views have not come to the caller's own position.
   */
  waitForPrefix(call: Call, prefix: string): Promise<void>;
}

const behind = (position: bigint): RpcError =>
  new RpcError('UNAVAILABLE', `the views have not come to position ${position.toString()} yet`);

const minPositionSeen = async (views: Views, call: Call, stream?: StreamName): Promise<void> => {
  if (call.minPosition === undefined) return;
  if (!(await views.reached(call.minPosition, MIN_POSITION_WAIT_MS, stream))) throw behind(call.minPosition);
};

const nothing: Unseen = () => Promise.resolve([]);

const foldedBy =
  (events: UnseenEvents, stream: StreamName): Unseen =>
  ({ name: collection }, wanted) =>
    events.fold({ stream, collection, ...wanted });

/** The position of the last event of a stream; `undefined` when it has none. */
export type LastIn = (stream: StreamName) => Promise<bigint | undefined>;

/** The last events of a log's streams. */
export const lastIn =
  (log: Pick<EventLog, 'readStream'>): LastIn =>
  async (stream) => {
    for await (const [last] of log.readStream(stream, { direction: 'backwards', limit: 1 })) return last?.position;
    return undefined;
  };

/** Reads of one's own writes: decision 26. */
export const freshness = (acknowledged: Acknowledged, views: Views, events: UnseenEvents, last: LastIn): Freshness => ({
  unseen: async (call, stream) => {
    await minPositionSeen(views, call, stream);
    const isSeen = await views.reached(acknowledged.ofStream(stream) ?? 0n, ACKNOWLEDGED_WAIT_MS, stream);
    call.answeredAt(views.position(stream));
    return isSeen ? nothing : foldedBy(events, stream);
  },
  recorded: async (stream) => {
    const position = await last(stream);
    if (position === undefined) return undefined;
    return position <= views.position(stream) ? nothing : foldedBy(events, stream);
  },
  acknowledgedUnder: (prefix) => acknowledged.streamUnder(prefix),
  waitForPrefix: async (call, prefix) => {
    await minPositionSeen(views, call);
    await views.reached(acknowledged.ofPrefix(prefix) ?? 0n, ACKNOWLEDGED_WAIT_MS);
    call.answeredAt(views.position());
  },
});

/** What a Get looks into. */
export type Looked = { readonly store: ReadStore; readonly freshness: Freshness };

/** @throws {RpcError} UNAVAILABLE when the views have set a stream aside: what it says is not known to be absent. */
const assertTaken = async (store: ReadStore, stream: StreamName): Promise<void> => {
  if ((await store.parked()).some((each) => each.stream === stream))
    throw new RpcError('UNAVAILABLE', `the views have set ${stream} aside: an event of it cannot be read`);
};

/**
 * Looks for what a stream feeds: with every event of it that this process has acknowledged, and when there is nothing,
 * with all that are recorded.
 *
 * @throws {RpcError} UNAVAILABLE when there is nothing, and the views have set the stream aside.
 * @throws {StoreUnavailable} when there is nothing in the views, and what they lack cannot be read.
 */
export const soughtIn = async <Found>(
  { store, freshness: fresh }: Looked,
  call: Call,
  stream: StreamName,
  look: (unseen: Unseen) => Promise<Found | undefined>,
): Promise<Found | undefined> => {
  const found = await look(await fresh.unseen(call, stream));
  if (found !== undefined) return found;
  await assertTaken(store, stream);
  const recorded = await fresh.recorded(stream);
  return recorded && look(recorded);
};

/**
 * The document of a key, as {@link soughtIn} finds it.
 *
 * @throws {RpcError} UNAVAILABLE when there is none that can be read, and it may be recorded.
 */
export const latestDocument = (
  reads: Looked,
  call: Call,
  collection: Collection,
  { stream, key }: { readonly stream: StreamName; readonly key: string },
): Promise<StoredDocument | undefined> =>
  soughtIn(reads, call, stream, async (unseen) => {
    const [document] = await unseen(collection, { key });
    return document ?? reads.store.get(collection, key);
  });
