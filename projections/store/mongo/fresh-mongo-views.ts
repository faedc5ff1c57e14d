import { StoreUnavailable } from '../../../services/kernel/fault.js';
import type { FreshViews } from '../../runtime/rebuild.js';
import { type Connection, connect } from './connection.js';
import { aboutIn, type About, claim, dropCollections, readAbout } from './layout.js';
import type { MongoLocation } from './location.js';
import { storeOf } from './mongo-read-store.js';
import { type Build, buildOf, isOfViews } from './names.js';

/** Drops the builds that nobody uses: older ones, or one that a rebuild has left behind that was killed. */
const dropOthers = (db: Connection['db'], kept: readonly Build[]): Promise<void> =>
  dropCollections(db, (name) => isOfViews(name) && !kept.includes(buildOf(name)));

const activate = async ({ db }: Connection, before: About, build: Build, logId: string): Promise<void> => {
  const { format, build: current, logId: of } = before;
  const { matchedCount } = await aboutIn(db).updateOne(
    { _id: 'views', format, build: current, logId: of },
    { $set: { build, logId } },
  );
  if (matchedCount === 0) throw new StoreUnavailable('another rebuild has put its views in place meanwhile');
  await dropOthers(db, [current, build]);
};

/**
 * Views of a log in collections of their own beside those in use, which are those of any log. Servers that run keep the
 * ones that they have until they are started again; the ones before stay until the next rebuild.
 *
 * @throws {Fault} when they cannot be made.
 */
export const freshMongoViews = async (location: MongoLocation, logId: string): Promise<FreshViews> => {
  const connection = await connect(location);
  const { db, guarded } = connection;
  try {
    const before = await guarded(
      async () => (await readAbout(db, location.shown)) ?? claim({ db, shown: location.shown }, logId),
    );
    const build = before.build + 1;
    const inUse = [before.build - 1, before.build];
    await guarded(() => dropOthers(db, inUse));
    const store = storeOf(connection, build, { location, logId, isGrowing: true });
    return {
      store,
      activate: async () => {
        await store.finish();
        await guarded(() => activate(connection, before, build, logId));
        await store.close();
      },
      discard: async () => {
        await guarded(() => dropOthers(db, inUse)).finally(() => store.close());
      },
    };
  } catch (error) {
    await connection.close();
    throw error;
  }
};
