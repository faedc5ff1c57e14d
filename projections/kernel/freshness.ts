import { type Call, RpcError } from '../../services/kernel/rpc.js';
import type { Acknowledged } from '../../services/kernel/sessions.js';
import type { StreamName } from '../../services/kernel/stream.js';
import type { Collection, ReadStore, StoredDocument } from './read-store.js';
import type { UnseenEvents } from './unseen.js';
import type { Views } from './views.js';

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

/** Reads of one's own writes: decision 26. */
export const freshness = (acknowledged: Acknowledged, views: Views, events: UnseenEvents): Freshness => ({
  unseen: async (call, stream) => {
    await minPositionSeen(views, call, stream);
    const isSeen = await views.reached(acknowledged.ofStream(stream) ?? 0n, ACKNOWLEDGED_WAIT_MS, stream);
    call.answeredAt(views.position(stream));
    return isSeen ? nothing : ({ name: collection }, wanted) => events.fold({ stream, collection, ...wanted });
  },
  acknowledgedUnder: (prefix) => acknowledged.streamUnder(prefix),
  waitForPrefix: async (call, prefix) => {
    await minPositionSeen(views, call);
    await views.reached(acknowledged.ofPrefix(prefix) ?? 0n, ACKNOWLEDGED_WAIT_MS);
    call.answeredAt(views.position());
  },
});

/**
 * To be asked of a stream whose document is not in the views: one that they have set aside is not known to be absent.
 *
 * @throws {RpcError} UNAVAILABLE when the stream is set aside.
 */
export const assertTaken = async (store: Pick<ReadStore, 'parked'>, stream: StreamName): Promise<void> => {
  if ((await store.parked()).some((each) => each.stream === stream))
    throw new RpcError('UNAVAILABLE', `the views have set ${stream} aside: an event of it cannot be read`);
};

/**
 * The document of a key, with every event of one of its streams that this process has acknowledged.
 *
 * @throws {RpcError} UNAVAILABLE when there is none, and the views have set the stream aside.
 */
export const latestDocument = async (
  { store, freshness: fresh }: { readonly store: ReadStore; readonly freshness: Freshness },
  call: Call,
  collection: Collection,
  { stream, key }: { readonly stream: StreamName; readonly key: string },
): Promise<StoredDocument | undefined> => {
  const unseen = await fresh.unseen(call, stream);
  const [document] = await unseen(collection, { key });
  const latest = document ?? (await store.get(collection, key));
  if (latest === undefined) await assertTaken(store, stream);
  return latest;
};
