import { DatabaseSync } from '@photostructure/sqlite';
import type {
  AuthorizationState,
  FoundObject,
  StoredKey,
  StoredObject,
} from '../../kernel/ports/authorization-state.js';
import { failPoint } from '../fail-point.js';
import { createPrivately } from '../private-file.js';
import type { Blocking } from '../thread-calls.js';

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS objects (
    kind TEXT NOT NULL, key TEXT NOT NULL, content TEXT NOT NULL, grant_id TEXT, alias TEXT,
    expires_at INTEGER, consumed_at INTEGER, PRIMARY KEY (kind, key)
  ) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS objects_by_grant ON objects (grant_id) WHERE grant_id IS NOT NULL;
  CREATE INDEX IF NOT EXISTS objects_by_alias ON objects (kind, alias) WHERE alias IS NOT NULL;
  CREATE INDEX IF NOT EXISTS objects_by_expiry ON objects (expires_at) WHERE expires_at IS NOT NULL;
  CREATE TABLE IF NOT EXISTS keys (id TEXT PRIMARY KEY, jwk TEXT NOT NULL, created_at INTEGER NOT NULL);
`;

const PUT = `
  INSERT INTO objects (kind, key, content, grant_id, alias, expires_at) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT (kind, key) DO UPDATE SET
    content = excluded.content, grant_id = excluded.grant_id, alias = excluded.alias, expires_at = excluded.expires_at
`;

const BUSY_TIMEOUT_MS = 5_000;

type FoundRow = { readonly content: string; readonly consumed_at: number | null };

const found = (row: unknown): FoundObject | undefined => {
  if (row === undefined) return undefined;
  const { content, consumed_at: at } = row as FoundRow;
  return { content, consumedAt: at ?? undefined };
};

/** Makes each write pass a fail point once it is durable, so that a test can kill the process after any of them. */
const written = <Arguments extends readonly unknown[], Result>(write: (...given: Arguments) => Result) => {
  return (...given: Arguments): Result => {
    const result = write(...given);
    failPoint('authorization-write');
    return result;
  };
};

/**
 * Opens the state of the authorization server in a file, and creates it if missing. Every method blocks the thread
 * until the disk has answered.
 */
export const stateDatabase = (path: string): Blocking<AuthorizationState> => {
  createPrivately(path);
  const db = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; ${SCHEMA}`);
  const put = db.prepare(PUT);
  const find = db.prepare('SELECT content, consumed_at FROM objects WHERE kind = ? AND key = ?');
  const findByAlias = db.prepare('SELECT content, consumed_at FROM objects WHERE kind = ? AND alias = ?');
  const consume = db.prepare(
    'UPDATE objects SET consumed_at = ? WHERE kind = ? AND key = ? AND consumed_at IS NULL RETURNING 1',
  );
  const remove = db.prepare('DELETE FROM objects WHERE kind = ? AND key = ?');
  const removeGrant = db.prepare('DELETE FROM objects WHERE grant_id = ? AND kind IN (SELECT value FROM json_each(?))');
  const removeAccount = db.prepare(
    "DELETE FROM objects WHERE EXISTS (SELECT 1 FROM json_tree(content) WHERE key = 'accountId' AND atom = ?)",
  );
  const removeExpired = db.prepare('DELETE FROM objects WHERE expires_at < ?');
  const keys = db.prepare('SELECT id, jwk, created_at AS createdAt FROM keys ORDER BY created_at DESC, id');
  const addKey = db.prepare('INSERT INTO keys (id, jwk, created_at) VALUES (?, ?, ?)');
  const removeKeys = db.prepare('DELETE FROM keys WHERE id IN (SELECT value FROM json_each(?))');
  return {
    put: written(({ kind, key, content, grant, alias, expiresAt }: StoredObject): void => {
      put.run(kind, key, content, grant ?? null, alias ?? null, expiresAt ?? null);
    }),
    find: (kind, key) => found(find.get(kind, key)),
    findByAlias: (kind, alias) => found(findByAlias.get(kind, alias)),
    consume: written((kind: string, key: string, at: number): boolean => {
      const isFirst = consume.get(at, kind, key) !== undefined;
      failPoint('after-consume'); // apart from the other writes, so that a test can kill the process at a use
      return isFirst;
    }),
    remove: written((kind: string, key: string): void => void remove.run(kind, key)),
    removeGrant: written((kinds: readonly string[], grant: string): void => {
      removeGrant.run(grant, JSON.stringify(kinds));
    }),
    removeAccount: written((account: string): void => void removeAccount.run(account)),
    removeExpired: written((before: number): void => void removeExpired.run(before)),
    keys: () => keys.all() as readonly StoredKey[],
    addKey: written(({ id, jwk, createdAt }: StoredKey): void => void addKey.run(id, jwk, createdAt)),
    removeKeys: written((ids: readonly string[]): void => void removeKeys.run(JSON.stringify(ids))),
    close: (): void => db.close(),
  };
};
