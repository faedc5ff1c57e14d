import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Checkpoint } from '../kernel/ports/checkpoint.js';
import type { Leases } from '../kernel/ports/leases.js';
import { fileCheckpoint } from '../store/file-checkpoint.js';
import type { ReadStoreSource } from './views/read-stores.js';

/** Leases and checkpoints, by which processes that share views divide their work. */
export type Coordination = {
  /** Absent where the process does all the work itself. */
  readonly leases?: Leases;
  /** Gives the checkpoint of a reader of the log, by the reader's name and the id of the log. */
  readonly checkpoint: (name: string, logId: string) => Checkpoint;
  readonly close: () => Promise<void>;
};

/** The division of the work on views and reactors between this process and others. */
export type Sharing = {
  /** True when no other process does any of this work: then checkpoints are in files, and there are no leases. */
  readonly isAlone: boolean;
  /** True when leases divide the work among the processes; otherwise each of them does all of it. */
  readonly leases: boolean;
};

/**
 * Makes a unique name for this process, another one at each call: `host/pid/random`. Host and pid are there for people.
 */
export const workerName = (): string => `${hostname()}/${process.pid}/${randomUUID().slice(0, 8)}`;

/**
 * Opens leases and checkpoints: in the database of the views, where they are in one and the process is not alone;
 * otherwise in files of the data directory.
 *
 * @throws {Fault} when that store cannot be used.
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
