import { MongoError, MongoMissingCredentialsError, MongoParseError, MongoServerError } from 'mongodb';
import { Fault, QueryTooSlow, ReadStoreUnusable, StoreUnavailable } from '../../../services/kernel/fault.js';

/** The server's number for a query that has used up its time. */
const MAX_TIME_EXPIRED = 50;

/** The server's numbers for credentials that it does not take, and for what they do not allow. */
const REFUSED: ReadonlySet<unknown> = new Set([13, 18]);

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** What waiting does not help: the connection string, its credentials, or a server that the driver cannot talk to. */
const isFinal = (error: unknown): boolean =>
  (error instanceof MongoServerError && REFUSED.has(error.code)) ||
  error instanceof MongoParseError ||
  error instanceof MongoMissingCredentialsError ||
  (error instanceof MongoError && error.name === 'MongoCompatibilityError');

/** The fault that an error of the driver is; anything else is a defect, and stays as it is. */
export const faultOf = (error: unknown, shown: string): unknown => {
  if (error instanceof Fault) return error;
  if (error instanceof MongoServerError && error.code === MAX_TIME_EXPIRED)
    return new QueryTooSlow('no page was found in the time that a query has', error);
  if (isFinal(error)) return new ReadStoreUnusable(`the read store ${shown} refuses: ${reasonOf(error)}`, error);
  if (error instanceof MongoError)
    return new StoreUnavailable(`the read store ${shown} cannot be used: ${reasonOf(error)}`, error);
  return error;
};
