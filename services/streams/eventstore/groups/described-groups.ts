import type { EventLog } from '../../../kernel/ports/event-store.js';
import type { StreamName } from '../../../kernel/stream.js';
import { StreamTombstoned } from '../failure.js';
import { lastRevision } from '../read/read.js';
import { ALL, type GroupName } from './group-name.js';
import { readGroups, readProgress } from './group-records.js';
import { checkpointOf } from './progress.js';

/** A group as its records in the log describe it. */
export type DescribedGroup = GroupName & {
  /**
   * Every event up to here is done, or is before the start of the group; `undefined` when there is none. A revision of
   * the source, or a position of the log.
   */
  readonly checkpoint: bigint | undefined;
  /** The last event of the source, in the same unit; `undefined` when it has none, or EventStoreDB has deleted it. */
  readonly last: bigint | undefined;
  /** The number of events up to the recorded position that are neither acknowledged, skipped nor parked. */
  readonly pending: number;
  /** The number of parked events that were not replayed. */
  readonly parked: number;
};

const lastInStream = async (log: EventLog, stream: StreamName): Promise<bigint | undefined> => {
  try {
    return await lastRevision(log, stream);
  } catch (error) {
    if (error instanceof StreamTombstoned) return undefined;
    throw error;
  }
};

const lastOf = async (log: EventLog, source: string): Promise<bigint | undefined> => {
  if (source !== ALL) return lastInStream(log, source as StreamName);
  const head = await log.head();
  return head === 0n ? undefined : head;
};

/**
 * Describes all groups from the log, in the order of their creation, in any process.
 *
 * @throws {Fault} when the log cannot be read.
 */
export const describedGroups = async (log: EventLog): Promise<readonly DescribedGroup[]> => {
  const { groups } = await readGroups({ log });
  const described: DescribedGroup[] = [];
  for (const group of groups.values()) {
    const { progress } = await readProgress({ log }, group);
    const checkpoint = checkpointOf(progress);
    described.push({
      ...{ source: group.source, group: group.group },
      checkpoint: checkpoint < 0n || (group.source === ALL && checkpoint === 0n) ? undefined : checkpoint,
      last: await lastOf(log, group.source),
      pending: progress.pending.length,
      parked: Number(progress.parkedUpTo - progress.replayedUpTo),
    });
  }
  return described;
};
