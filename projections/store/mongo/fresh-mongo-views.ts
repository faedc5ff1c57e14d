import { StoreUnavailable } from '../../../services/kernel/fault.js';
import type { FreshViews } from '../../runtime/runs/rebuild.js';
import { type MongoConnection, connect } from './connection.js';
import { labelIn, type DatabaseLabel, labelDatabase, dropCollections, readLabel } from './layout.js';
import type { MongoLocation } from './location.js';
import { storeOf } from './mongo-read-store.js';
import { type Build, buildOf, isOfViews } from './names.js';

/** Drops unused builds: older ones, and one left behind by a rebuild that was killed. */
const dropOthers = (db: MongoConnection['db'], kept: readonly Build[]): Promise<void> =>
  dropCollections(db, (name) => isOfViews(name) && !kept.includes(buildOf(name)));

const activate = async ({ db }: MongoConnection, before: DatabaseLabel, build: Build, logId: string): Promise<void> => {
  const { format, build: current, logId: currentLogId } = before;
  const { matchedCount } = await labelIn(db).updateOne(
    { _id: 'views', format, build: current, logId: currentLogId },
    { $set: { build, logId } },
  );
  if (matchedCount === 0) throw new StoreUnavailable('another rebuild has put its views in place meanwhile');
  await dropOthers(db, [current, build]).catch(() => undefined); // else the next rebuild drops them
};

/**
 * Drops a build, unless it is in use, or was before the one in use: an activation that seemed to fail may have been
 * carried out, and another rebuild may have made the build of this number.
 */
const discard = async ({ db }: MongoConnection, build: Build, shown: string): Promise<void> => {
  const label = await readLabel(db, shown);
  if (label?.build === build || label?.build === build + 1) return;
  await dropCollections(db, (name) => isOfViews(name) && buildOf(name) === build);
};

/**
 * Creates views of a log in collections beside those in use, which may be of any log. Running servers keep using the
 * previous build until they are restarted; it is kept until the next rebuild has put its views in place.
 *
 * @throws {Fault} when the views cannot be created.
 */
export const freshMongoViews = async (location: MongoLocation, logId: string): Promise<FreshViews> => {
  const connection = await connect(location);
  const { db, guarded } = connection;
  try {
    const before = await guarded(
      async () => (await readLabel(db, location.shown)) ?? labelDatabase({ db, shown: location.shown }, logId),
    );
    const build = before.build + 1;
    await guarded(() => dropOthers(db, [before.build - 1, before.build]));
    const store = storeOf(connection, build, { location, logId, isGrowing: true });
    return {
      store,
      activate: async () => {
        await store.finish();
        await guarded(() => activate(connection, before, build, logId));
        await store.close();
      },
      discard: async () => {
        try {
          await guarded(() => discard(connection, build, location.shown));
        } finally {
          await store.close();
        }
      },
    };
  } catch (error) {
    await connection.close();
    throw error;
  }
};
