import {
  MongoError,
  MongoInvalidArgumentError,
  MongoMissingCredentialsError,
  MongoParseError,
  MongoServerError,
} from 'mongodb';
import { Fault, QueryTooSlow, ReadStoreUnusable, StoreUnavailable } from '../../../services/kernel/fault.js';
import { errorText } from '../../../services/kernel/error-text.js';

/** Server error code `MaxTimeMSExpired`: the query has used up its time. */
const MAX_TIME_EXPIRED = 50;

/** Server error codes `Unauthorized` and `AuthenticationFailed`. */
const REFUSED: ReadonlySet<unknown> = new Set([13, 18]);

/**
 * True for errors that retrying cannot resolve: in the connection string, its credentials or the rights of its user, or
 * a server that the driver does not support.
 */
const isFinal = (error: unknown): boolean =>
  (error instanceof MongoServerError && REFUSED.has(error.code)) ||
  error instanceof MongoParseError ||
  error instanceof MongoMissingCredentialsError ||
  (error instanceof MongoError && error.name === 'MongoCompatibilityError');

/** Server error code `DuplicateKey`: a document with the key exists already. */
export const DUPLICATE_KEY = 11_000;

/**
 * Server error codes about the documents of a write: `DocumentValidationFailure`, `TransactionTooLarge`, `DuplicateKey`
 * and `BSONObjectTooLarge`.
 */
const REFUSED_WRITES: ReadonlySet<unknown> = new Set([121, 257, DUPLICATE_KEY, 10_334]);

/** True for an error about the documents of a write, which the server would refuse again. */
export const isRefusedWrite = (error: unknown): boolean =>
  (error instanceof MongoServerError && REFUSED_WRITES.has(error.code)) ||
  // The driver does not send a document that is too large. Its error has no code, and a bad argument has the same
  // class.
  (error instanceof MongoInvalidArgumentError && /larger than/u.test(error.message));

/** Converts a driver error to a fault; any other error is a defect and is returned as it is. */
export const mongoFault = (error: unknown, shown: string): unknown => {
  if (error instanceof Fault) return error;
  if (error instanceof MongoServerError && error.code === MAX_TIME_EXPIRED)
    return new QueryTooSlow('the query took longer than its time limit', error);
  if (isFinal(error)) return new ReadStoreUnusable(`the read store ${shown} refuses: ${errorText(error)}`, error);
  if (error instanceof MongoError)
    return new StoreUnavailable(`the read store ${shown} cannot be used: ${errorText(error)}`, error);
  return error;
};
