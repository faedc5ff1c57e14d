import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from '@photostructure/sqlite';
import { LEASE_MS, type Leases } from '../../../services/kernel/ports/leases.js';
import { driverCall } from './driver-faults.js';

/** File of the leases in a data directory; the file and its table keep the name of the first release. */
const LEASES_FILE = 'claims.db';

/** When the file is opened, leases that expired longer ago than this are deleted. */
const FORGOTTEN_MS = 60_000;

// Not synced: leases lost in a power cut are taken again.
const PREPARE = `
  PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;
  CREATE TABLE IF NOT EXISTS claims (name TEXT PRIMARY KEY, owner TEXT NOT NULL, until INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS descriptions (name TEXT PRIMARY KEY, owner TEXT NOT NULL, text TEXT NOT NULL)`;

const TAKE = `
  INSERT INTO claims SELECT value, :owner, :until FROM json_each(:names) WHERE true
  ON CONFLICT DO UPDATE SET owner = excluded.owner, until = excluded.until
  WHERE claims.owner = excluded.owner OR claims.until <= :now`;

// A table of its own, because earlier releases write rows of three columns into `claims`.
const DESCRIBE = `
  INSERT INTO descriptions SELECT name, owner, :text FROM claims WHERE name = :name AND owner = :owner
  ON CONFLICT DO UPDATE SET owner = excluded.owner, text = excluded.text`;

const DESCRIBED = `
  SELECT name, text FROM claims JOIN descriptions USING (name, owner)
  WHERE substr(name, 1, length(:prefix)) = :prefix AND until > :now`;

const DAMAGE = { shown: 'the leases', remedy: `remove ${LEASES_FILE} while no process runs` };

const leasesCall = <Result>(work: () => Result): Promise<Result> => driverCall(work, DAMAGE);

type Row = { readonly name: string; readonly owner: string };

/**
 * Leases in a file of a data directory, shared by the processes of one machine and timed by its clock.
 *
 * @throws {StoreUnavailable} when the file cannot be opened.
 * @throws {DataDirectoryUnusable} when it is damaged.
 */
export const sqliteLeases = ({ directory }: { readonly directory: string }): Promise<Leases> =>
  leasesCall(() => {
    mkdirSync(directory, { recursive: true });
    const db = new DatabaseSync(join(directory, LEASES_FILE), { timeout: 5_000 });
    db.exec(PREPARE);
    db.prepare('DELETE FROM claims WHERE until < ?').run(Date.now() - FORGOTTEN_MS);
    const take = db.prepare(TAKE);
    const owned = db.prepare('SELECT name FROM claims JOIN json_each(?) ON name = value WHERE owner = ?');
    const held = db.prepare(
      'SELECT name, owner FROM claims WHERE substr(name, 1, length(:prefix)) = :prefix AND until > :now',
    );
    const describe = db.prepare(DESCRIBE);
    const described = db.prepare(DESCRIBED);
    db.exec('DELETE FROM descriptions WHERE name NOT IN (SELECT name FROM claims)');
    const named = 'owner = ? AND name IN (SELECT value FROM json_each(?))';
    const release = db.prepare(`DELETE FROM claims WHERE ${named}`);
    const forget = db.prepare(`DELETE FROM descriptions WHERE ${named}`);
    return {
      take: (names, owner) =>
        leasesCall(() => {
          const now = Date.now();
          const wanted = JSON.stringify(names);
          take.run({ owner, names: wanted, now, until: now + LEASE_MS });
          return (owned.all(wanted, owner) as Row[]).map(({ name }) => name);
        }),
      held: (prefix) =>
        leasesCall(() => {
          const rows = held.all({ prefix, now: Date.now() }) as Row[];
          return new Map(rows.map(({ name, owner }) => [name, owner]));
        }),
      describe: (name, owner, text) => leasesCall(() => void describe.run({ name, owner, text })),
      descriptions: (prefix) =>
        leasesCall(() => {
          const rows = described.all({ prefix, now: Date.now() }) as { readonly name: string; readonly text: string }[];
          return new Map(rows.map(({ name, text }) => [name, text]));
        }),
      release: (names, owner) =>
        leasesCall(() => {
          const released = JSON.stringify(names);
          release.run(owner, released);
          forget.run(owner, released);
        }),
      close: () => leasesCall(() => db.close()),
    };
  });
