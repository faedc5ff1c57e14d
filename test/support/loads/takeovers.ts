import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { MongoClient } from 'mongodb';

import type { MongoLocation } from '../../../projections/store/mongo/location.js';
import { LEASE_MS } from '../../../services/kernel/ports/leases.js';

/** A lease of the views that changed its owner; times are by the clock of its store, in milliseconds since 1970. */
export type Takeover = {
  readonly lease: string;
  /** The time when the previous owner's lease expired, or would have. */
  readonly expiredMs: number;
  readonly takenMs: number;
  /** True when the previous owner released it. */
  readonly isReleased: boolean;
};

/** Watches every lease of the views that changes its owner from now on. */
export type TakeoverWatch = {
  /** All takeovers so far. */
  readonly all: () => Promise<readonly Takeover[]>;
  /** The number of leases that each worker has now, according to the store. */
  readonly shares: () => Promise<readonly number[]>;
  readonly close: () => Promise<void>;
};

/** The names of the leases of views: a hash of the read models' names, the build of the views, and a partition. */
const OF_VIEWS = /^views [\da-f]{8}\.\d+ \d+$/u;

// Triggers record the time when a lease is taken, not when the test reads it, so other load on the machine adds
// nothing.
const RECORD = `
  CREATE TABLE IF NOT EXISTS released (name TEXT PRIMARY KEY, owner TEXT, until INTEGER);
  CREATE TABLE IF NOT EXISTS takeovers (name TEXT, expired INTEGER, taken INTEGER, is_released INTEGER);
  CREATE TRIGGER IF NOT EXISTS ran_out AFTER UPDATE ON claims WHEN old.owner <> new.owner BEGIN
    INSERT INTO takeovers VALUES (new.name, old.until, new.until - ${LEASE_MS}, 0);
  END;
  CREATE TRIGGER IF NOT EXISTS given_back AFTER DELETE ON claims BEGIN
    INSERT OR REPLACE INTO released VALUES (old.name, old.owner, old.until);
  END;
  CREATE TRIGGER IF NOT EXISTS taken_up AFTER INSERT ON claims BEGIN
    INSERT INTO takeovers SELECT name, until, new.until - ${LEASE_MS}, 1 FROM released
      WHERE name = new.name AND owner <> new.owner;
    DELETE FROM released WHERE name = new.name;
  END`;

type Recorded = {
  readonly name: string;
  readonly expired: number;
  readonly taken: number;
  readonly is_released: number;
};

/** The number of leases of each owner, from the owners of all leases. */
const sharesOf = (owners: readonly string[]): readonly number[] =>
  [...new Set(owners)].map((owner) => owners.filter((each) => each === owner).length);

/** Watches the leases in the data directory that processes share. */
const watchFile = (directory: string): TakeoverWatch => {
  const db = new DatabaseSync(join(directory, 'claims.db'), { timeout: 10_000 });
  db.exec(RECORD);
  const select = db.prepare('SELECT name, expired, taken, is_released FROM takeovers ORDER BY rowid');
  const held = db.prepare('SELECT name, owner FROM claims');
  return {
    all: () =>
      Promise.resolve(
        (select.all() as Recorded[])
          .filter(({ name }) => OF_VIEWS.test(name))
          .map(({ name: lease, expired: expiredMs, taken: takenMs, is_released: isReleased }) => ({
            ...{ lease, expiredMs, takenMs },
            isReleased: isReleased === 1,
          })),
      ),
    shares: () => {
      const rows = held.all() as { readonly name: string; readonly owner: string }[];
      return Promise.resolve(sharesOf(rows.filter(({ name }) => OF_VIEWS.test(name)).map(({ owner }) => owner)));
    },
    close: () => {
      db.close();
      return Promise.resolve();
    },
  };
};

const POLL_EVERY_MS = 50;

type Row = { readonly _id: string; readonly owner: string; readonly until: Date };

/** Watches the leases in a MongoDB by polling, far more often than leases are renewed, because it has no triggers. */
const watchDatabase = ({ url, database }: MongoLocation): TakeoverWatch => {
  const client = new MongoClient(url);
  const claims = client.db(database).collection<Row>('claims');
  const last = new Map<string, Row>();
  const found: Takeover[] = [];
  /** Records a takeover when a lease has another owner than it had last; `present` are the leases of the last poll. */
  const see = (row: Row, present: ReadonlySet<string>): void => {
    const before = last.get(row._id);
    const expiredMs = before?.until.getTime();
    if (before && before.owner !== row.owner && expiredMs !== undefined) {
      const takenMs = row.until.getTime() - LEASE_MS;
      // A lease that was taken before it expired was released between two polls.
      const isReleased = !present.has(row._id) || takenMs < expiredMs;
      found.push({ lease: row._id, expiredMs, takenMs, isReleased });
    }
    last.set(row._id, row);
  };
  /** The names of the leases at the last poll. */
  let present: ReadonlySet<string> = new Set();
  const poll = async (): Promise<void> => {
    const rows = await claims.find({ _id: OF_VIEWS }).toArray();
    for (const row of rows) see(row, present);
    present = new Set(rows.map(({ _id }) => _id));
  };
  const state = { isClosed: false, polls: Promise.resolve() };
  // One poll after another, so that the result of an older poll never comes after that of a newer one.
  const pollAgain = (): Promise<void> => (state.polls = state.polls.then(poll));
  const polling = (async () => {
    while (!state.isClosed) {
      await pollAgain();
      await new Promise((resolve) => setTimeout(resolve, POLL_EVERY_MS));
    }
  })();
  return {
    all: async () => {
      await pollAgain();
      return [...found];
    },
    shares: async () => sharesOf((await claims.find({ _id: OF_VIEWS }).toArray()).map(({ owner }) => owner)),
    close: async () => {
      state.isClosed = true;
      await polling;
      await client.close();
    },
  };
};

/** Watches the leases of processes that share views, in their data directory or a database. */
export const watchTakeovers = (directory: string, location?: MongoLocation): TakeoverWatch =>
  location ? watchDatabase(location) : watchFile(directory);
