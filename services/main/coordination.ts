import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Checkpoint } from '../kernel/ports/checkpoint.js';
import type { Claims } from '../kernel/ports/claims.js';
import { fileCheckpoint } from '../store/file-checkpoint.js';
import type { ReadStoreSource } from './read-stores.js';

/** What processes know of each other that share views. */
export type Coordination = {
  /** Absent where a process shares out nothing, and does everything itself. */
  readonly claims?: Claims;
  /** The checkpoint of something that acts on a log. */
  readonly checkpoint: (name: string, logId: string) => Checkpoint;
  readonly close: () => Promise<void>;
};

/** How far a process works together with others. */
export type Togetherness = {
  /** Nobody else has its views, or acts on its log. */
  readonly isAlone: boolean;
  /** Whether work is shared out by claims. */
  readonly claims: boolean;
};

/** A name that no other worker has, and that says to people which one it is. */
export const workerName = (): string => `${hostname()}/${process.pid}/${randomUUID().slice(0, 8)}`;

/**
 * Opens what processes that share views know of each other.
 *
 * @throws {Fault} when it cannot be used.
 */
export const openCoordination = async (
  { directory, views }: ReadStoreSource,
  { isAlone, claims: isShared }: Togetherness,
): Promise<Coordination> => {
  const files = (name: string, logId: string): Checkpoint => fileCheckpoint({ directory, name, logId });
  if (isAlone) return { checkpoint: files, close: () => Promise.resolve() };
  if (views.kind === 'mongodb') {
    const { mongoClaims } = await import('../../projections/store/mongo/mongo-claims.js');
    const claims = await mongoClaims(views);
    const checkpoint: Coordination['checkpoint'] = (name, logId) => claims.checkpoint(name, logId);
    return { ...(isShared && { claims }), checkpoint, close: () => claims.close() };
  }
  if (!isShared) return { checkpoint: files, close: () => Promise.resolve() };
  const { sqliteClaims } = await import('../../projections/store/sqlite/sqlite-claims.js');
  const claims = await sqliteClaims({ directory });
  return { claims, checkpoint: files, close: () => claims.close() };
};
