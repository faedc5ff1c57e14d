import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Checkpoint } from '../kernel/ports/checkpoint.js';
import type { Leases } from '../kernel/ports/leases.js';
import { fileCheckpoint } from '../store/file-checkpoint.js';
import type { ReadStoreSource } from './read-stores.js';

/** The means by which processes that share views divide their work. */
export type Coordination = {
  /** Absent where a process does all work itself. */
  readonly leases?: Leases;
  /** The checkpoint of a reader of the log, by the reader's name. */
  readonly checkpoint: (name: string, logId: string) => Checkpoint;
  readonly close: () => Promise<void>;
};

/** Which work a process shares with others. */
export type Sharing = {
  /** No other process uses its views or runs reactors on its log. */
  readonly isAlone: boolean;
  /** Work is divided by leases. */
  readonly leases: boolean;
};

/** A unique name of this process, with its host and process id for people. */
export const workerName = (): string => `${hostname()}/${process.pid}/${randomUUID().slice(0, 8)}`;

/**
 * Opens leases and checkpoints where the views are: in the database, or in files of the data directory.
 *
 * @throws {Fault} when it cannot be used.
 */
export const openCoordination = async (
  { directory, views }: ReadStoreSource,
  { isAlone, leases: isShared }: Sharing,
): Promise<Coordination> => {
  const files = (name: string, logId: string): Checkpoint => fileCheckpoint({ directory, name, logId });
  if (isAlone) return { checkpoint: files, close: () => Promise.resolve() };
  if (views.kind === 'mongodb') {
    const { mongoLeases } = await import('../../projections/store/mongo/mongo-leases.js');
    const leases = await mongoLeases(views);
    const checkpoint: Coordination['checkpoint'] = (name, logId) => leases.checkpoint(name, logId);
    return { ...(isShared && { leases }), checkpoint, close: () => leases.close() };
  }
  if (!isShared) return { checkpoint: files, close: () => Promise.resolve() };
  const { sqliteLeases } = await import('../../projections/store/sqlite/sqlite-leases.js');
  const leases = await sqliteLeases({ directory });
  return { leases, checkpoint: files, close: () => leases.close() };
};
