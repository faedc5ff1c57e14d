/** A database of views on a MongoDB. */
export type MongoLocation = {
  readonly kind: 'mongodb';
  /** The connection string, which may have credentials in it. */
  readonly url: string;
  readonly database: string;
  /** The location in messages: hosts and database, no credentials. */
  readonly shown: string;
};

/** Location of the store of the views. */
export type ReadStoreLocation = { readonly kind: 'sqlite' } | MongoLocation;

const DEFAULT_DATABASE = 'flightlog';
const MONGO_URL = /^(?<scheme>mongodb(?:\+srv)?):\/\/(?:[^@/]*@)?(?<hosts>[^@/?]+)(?:\/(?<database>[^?]*))?(?:\?.*)?$/u;

/** At most 50 characters: MongoDB limits the length of a database name and a collection name together. */
const DATABASE_NAME = /^[\w-]{1,50}$/u;

/**
 * Parses the location of the views: `sqlite:` for the data directory, or a MongoDB connection string whose path names
 * the database (`flightlog` by default).
 *
 * @returns the location, or a text that says what is wrong.
 */
export const readStoreLocation = (text: string): ReadStoreLocation | string => {
  if (text === 'sqlite:') return { kind: 'sqlite' };
  const { scheme, hosts, database: named = '' } = MONGO_URL.exec(text)?.groups ?? {};
  if (scheme === undefined || hosts === undefined)
    return 'must be sqlite: or a connection string, such as mongodb://HOST:PORT/DATABASE?replicaSet=NAME';
  const database = named === '' ? DEFAULT_DATABASE : named;
  if (!DATABASE_NAME.test(database)) return 'must name a database of letters, digits, - and _, at most 50';
  return { kind: 'mongodb', url: text, database, shown: `${scheme}://${hosts}/${database}` };
};
