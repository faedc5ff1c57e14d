import type { ReadStore } from '../../projections/runtime/read-store.js';
import type { ParkedStreams } from '../kernel/parked-streams.js';
import type { EventStore } from '../kernel/ports/event-store.js';
import type { OperationsServices } from '../operations/rpc.js';
import type { Unreadable } from '../operations/ports.js';
import type { EngineFeed } from '../streams/engine-feed/feed.js';
import { lastRetries } from '../reference/retry-requests.js';
import { describedGroups } from '../streams/eventstore/groups/described-groups.js';

/** Services that the reads for operators use. */
export type OperationsSources = {
  readonly store: EventStore;
  readonly readStore: Pick<ReadStore, 'parked'>;
  readonly parked: Pick<ParkedStreams, 'all'>;
  readonly feed: EngineFeed;
};

/** Two sets of views may have parked a stream; the lowest position is listed. */
const once = (parked: readonly Unreadable[]): readonly Unreadable[] => [
  ...new Map(parked.toReversed().map((each) => [each.stream, each])).values(),
];

/** Joins the reads for operators to the parts of this process. */
export const operationsOf = ({ store, readStore, parked, feed }: OperationsSources): OperationsServices => ({
  engines: feed,
  unreadable: {
    inViews: async () => once(await readStore.parked()),
    inProcess: () => parked.all().map(({ stream, position, message }) => ({ stream, position, reason: message })),
    retries: () => lastRetries(store),
  },
  consumers: { all: () => describedGroups(store) },
});
