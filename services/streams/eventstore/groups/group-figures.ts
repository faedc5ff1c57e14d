import type { GroupRegistry } from './groups.js';
import type { RunningGroup } from './running-group.js';

/** A client that is connected for a group. */
export type GroupConnection = {
  /** `host:port`. */
  readonly address: string;
  /** The name that the client gave its connection; may be empty. */
  readonly name: string;
  /** The number of its events that are not answered, or whose answers are not recorded. */
  readonly inFlight: number;
  /** The maximum of `inFlight`. */
  readonly bufferSize: number;
};

/** The figures of a consumer group, for metrics and lists. */
export type GroupFigures = {
  /** The stream that the group reads, or `$all`. */
  readonly source: string;
  readonly group: string;
  /** Revisions of the stream after the checkpoint; for `$all`, positions of the log. 0 when nothing is left to do. */
  readonly lag: number;
  readonly inFlight: number;
  /** Events that the consumers could not process, parked until they are replayed. */
  readonly parked: number;
  readonly connections: readonly GroupConnection[];
};

/** Groups beyond this number have no figures, because each is a series of a metric. */
const MAX_MEASURED_GROUPS = 100;

const connectionsOf = (running: RunningGroup): readonly GroupConnection[] =>
  running.consumers().map(({ from, connectionName, inFlight, bufferSize }) => ({
    ...{ address: from, name: connectionName, inFlight, bufferSize },
  }));

/**
 * Reads the figures of the oldest groups; they are opened for that.
 *
 * @throws {StoreUnavailable} when the log cannot be read now.
 */
export const groupFigures = async (groups: GroupRegistry): Promise<readonly GroupFigures[]> => {
  const measured = await groups.oldest(MAX_MEASURED_GROUPS);
  return Promise.all(
    measured.map(async (running) => {
      const { source, group } = running.group;
      const { inFlight, parked } = running.counts();
      return { source, group, lag: Number(await running.lag()), inFlight, parked, connections: connectionsOf(running) };
    }),
  );
};
