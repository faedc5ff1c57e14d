import type { KindHeads } from './kind-heads.js';
import { type Database } from './schema.js';

/**
 * A category and an event type together, with a number. A kind is hot when its event type is one of those that engines
 * report (`hotTypes` of the store): these make up the bulk of a log, have no index, and are found by a scan.
 */
export type EventKind = {
  readonly id: number;
  readonly category: string;
  readonly type: string;
  readonly isHot: boolean;
};

type KindRow = [id: number, category: string, type: string, isHot: number];

/** The kinds of a log that have been loaded, by number and by name. */
export type Kinds = {
  /** Loads the kinds that were recorded since the last call; the first call loads all. */
  refresh(): void;
  byId(id: number): EventKind | undefined;
  named(category: string, type: string): EventKind | undefined;
  all(): Iterable<EventKind>;
};

/** Loads the kinds through one connection. With `heads`, a refresh queries only when there may be a new kind. */
export const kindsOf = (db: Database, heads?: KindHeads): Kinds => {
  const newer = db.prepare('SELECT id, category, type, is_hot FROM kinds WHERE id > ? ORDER BY id', {
    returnArrays: true,
  });
  const byId = new Map<number, EventKind>();
  const byCategory = new Map<string, Map<string, EventKind>>();
  let last = 0;

  const add = ([id, category, type, isHot]: KindRow): void => {
    const kind: EventKind = { id, category, type, isHot: isHot === 1 };
    byId.set(id, kind);
    const types = byCategory.get(category) ?? new Map<string, EventKind>();
    byCategory.set(category, types.set(type, kind));
    last = id;
  };

  return {
    refresh: () => {
      if (heads?.newest() !== last) (newer.all(last) as unknown as KindRow[]).forEach(add);
    },
    byId: (id) => byId.get(id),
    named: (category, type) => byCategory.get(category)?.get(type),
    all: () => byId.values(),
  };
};
