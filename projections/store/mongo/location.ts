/** A database of views on a MongoDB. */
export type MongoLocation = {
  readonly kind: 'mongodb';
  /** The connection string, which may have credentials in it. */
  readonly url: string;
  readonly database: string;
  /** What is said of it: hosts and database, no credentials. */
  readonly shown: string;
};

/** Where views are kept. */
export type ReadStoreLocation = { readonly kind: 'sqlite' } | MongoLocation;

const DATABASE = 'flightlog';
const MONGO_URL = /^(?<scheme>mongodb(?:\+srv)?):\/\/(?:[^@/]*@)?(?<hosts>[^@/?]+)(?:\/(?<database>[^?]*))?(?:\?.*)?$/u;

/** Longer names leave no room for those of collections. */
const DATABASE_NAME = /^[\w-]{1,50}$/u;

/**
 * Reads where views are kept: `sqlite:` for the data directory, or a connection string of a MongoDB, in which a path
 * names the database.
 *
 * @returns the location, or what is wrong with the text.
 */
export const readStoreLocation = (text: string): ReadStoreLocation | string => {
  if (text === 'sqlite:') return { kind: 'sqlite' };
  const { scheme, hosts, database: named = '' } = MONGO_URL.exec(text)?.groups ?? {};
  if (scheme === undefined || hosts === undefined)
    return 'must be sqlite: or mongodb://HOST:PORT/DATABASE?replicaSet=NAME';
  const database = named === '' ? DATABASE : named;
  if (!DATABASE_NAME.test(database)) return 'must name a database of letters, digits, - and _, at most 50';
  return { kind: 'mongodb', url: text, database, shown: `${scheme}://${hosts}/${database}` };
};
