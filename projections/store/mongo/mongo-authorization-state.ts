import { type Collection, MongoServerError } from 'mongodb';
import type { AuthorizationState, FoundObject, StoredKey } from '../../../services/kernel/ports/authorization-state.js';
import { connect } from './connection.js';
import { DUPLICATE_KEY } from './driver-faults.js';
import type { MongoLocation } from './location.js';
import { containing } from './regular-expressions.js';

type ObjectRow = {
  /** Kind and key. */
  readonly _id: string;
  readonly kind: string;
  readonly content: string;
  readonly grant: string | null;
  readonly alias: string | null;
  readonly expiresAt: number | null;
  /** Absent until the object is consumed. */
  readonly consumedAt?: number;
};

type KeyRow = { readonly _id: string; readonly jwk: string; readonly createdAt: number };

const CONNECTIONS = 4;

const idOf = (kind: string, key: string): string => `${kind}:${key}`;

const found = (row: ObjectRow | null): FoundObject | undefined =>
  row === null ? undefined : { content: row.content, consumedAt: row.consumedAt };

const indexed = async (objects: Collection<ObjectRow>): Promise<void> => {
  const ofTexts = (field: string) => ({ partialFilterExpression: { [field]: { $type: 'string' } } });
  await objects.createIndexes([
    { key: { grant: 1 }, ...ofTexts('grant') },
    { key: { alias: 1, kind: 1 }, ...ofTexts('alias') },
    { key: { expiresAt: 1 } },
  ]);
};

/** Two processes that store the same new object at once: the second insert fails, and is an update then. */
const retried = async (write: () => Promise<unknown>): Promise<void> => {
  try {
    await write();
  } catch (error) {
    if (!(error instanceof MongoServerError && error.code === DUPLICATE_KEY)) throw error;
    await write();
  }
};

type Hooks = {
  /** Called after each attempt to mark an object as consumed, also one in vain; tests stop the process here. */
  readonly afterConsume?: () => void;
};

/**
 * The state of the authorization server in a database, which processes of several machines share. Writes are
 * acknowledged by a majority of the replica set.
 *
 * @throws {StoreUnavailable} when the server cannot be reached, also from every method.
 * @throws {ReadStoreUnusable} when retrying does not help.
 */
export const mongoAuthorizationState = async (
  location: MongoLocation,
  { afterConsume = () => undefined }: Hooks = {},
): Promise<AuthorizationState> => {
  const { db, guarded, close } = await connect(location, CONNECTIONS);
  const objects = db.collection<ObjectRow>('authorization_objects');
  const keys = db.collection<KeyRow>('authorization_keys');
  await guarded(() => indexed(objects));
  return {
    put: ({ kind, key, content, grant = null, alias = null, expiresAt = null }) =>
      guarded(() => {
        const update = { $set: { kind, content, grant, alias, expiresAt } };
        return retried(() => objects.updateOne({ _id: idOf(kind, key) }, update, { upsert: true }));
      }),
    find: (kind, key) => guarded(async () => found(await objects.findOne({ _id: idOf(kind, key) }))),
    findByAlias: (kind, alias) => guarded(async () => found(await objects.findOne({ alias, kind }))),
    consume: (kind, key, at) =>
      guarded(async () => {
        const unused = { _id: idOf(kind, key), consumedAt: { $exists: false } };
        const { modifiedCount } = await objects.updateOne(unused, { $set: { consumedAt: at } });
        afterConsume();
        return modifiedCount === 1;
      }),
    remove: (kind, key) =>
      guarded(async () => {
        await objects.deleteOne({ _id: idOf(kind, key) });
      }),
    removeGrant: (kinds, grant) =>
      guarded(async () => {
        await objects.deleteMany({ grant, kind: { $in: [...kinds] } });
      }),
    removeAccount: (account) =>
      guarded(async () => {
        // The content is stored as text. A quotation mark within a value has a backslash before it, so only a field
        // matches.
        const content = { $regex: containing(`"accountId":${JSON.stringify(account)}`) };
        await objects.deleteMany({ content });
      }),
    removeExpired: (before) =>
      guarded(async () => {
        await objects.deleteMany({ expiresAt: { $lt: before } });
      }),
    keys: () =>
      guarded(async () => {
        const rows = await keys.find().sort({ createdAt: -1, _id: 1 }).toArray();
        return rows.map(({ _id: id, jwk, createdAt }): StoredKey => ({ id, jwk, createdAt }));
      }),
    addKey: ({ id, jwk, createdAt }) =>
      guarded(async () => {
        await keys.insertOne({ _id: id, jwk, createdAt });
      }),
    removeKeys: (ids) =>
      guarded(async () => {
        await keys.deleteMany({ _id: { $in: [...ids] } });
      }),
    close,
  };
};
