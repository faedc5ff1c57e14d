import type { ReadStore } from '../../projections/runtime/read-store.js';
import type { ParkedStreams } from '../kernel/log-readers/parked-streams.js';
import type { EventStore } from '../kernel/ports/event-store.js';
import type { OperationsServices } from '../operations/rpc.js';
import type { Unreadable } from '../operations/ports.js';
import type { EngineFeed } from '../streams/engine-feed/feed.js';
import { lastRetries } from '../reference/retry-requests.js';
import type { GroupFigures } from '../streams/eventstore/groups/group-figures.js';
import type { GroupName } from '../streams/eventstore/groups/group-name.js';
import { describedGroups } from '../streams/eventstore/groups/described-groups.js';

/** Services that the reads for operators use. */
export type OperationsSources = {
  readonly store: EventStore;
  readonly readStore: Pick<ReadStore, 'parked'>;
  readonly parked: Pick<ParkedStreams, 'all' | 'note'>;
  readonly feed: EngineFeed;
  /** The figures of the 100 oldest consumer groups, with the clients that are connected to this process. */
  readonly groups: () => Promise<readonly GroupFigures[]>;
};

/** Keeps only the first entry of each stream, which has the lowest position: two sets of views may have parked it. */
const firstOfEachStream = (parked: readonly Unreadable[]): readonly Unreadable[] => [
  ...new Map(parked.toReversed().map((each) => [each.stream, each])).values(),
];

const connectionsIn = (figures: readonly GroupFigures[], { source, group }: GroupName): GroupFigures['connections'] =>
  figures.find((each) => each.source === source && each.group === group)?.connections ?? [];

/** Makes the services of the reads for operators from those of this process. */
export const operationsOf = ({ store, readStore, parked, feed, groups }: OperationsSources): OperationsServices => ({
  engines: feed,
  unreadable: {
    inViews: async () => firstOfEachStream(await readStore.parked()),
    inProcess: () => parked.all().map(({ stream, position, message }) => ({ stream, position, reason: message })),
    retries: () => lastRetries(store, (unreadable) => parked.note(unreadable)),
  },
  consumers: {
    all: async () => {
      const [described, figures] = await Promise.all([describedGroups(store), groups()]);
      return described.map((each) => ({ ...each, connections: connectionsIn(figures, each) }));
    },
  },
});
