import { DataDirectoryUnusable, Fault, StoreUnavailable } from '../../../services/kernel/fault.js';
import { errorText } from '../../../services/kernel/error-text.js';

const DAMAGED = /malformed|not a database|disk image/u;

/** Converts a driver error to a fault: a damaged file needs a rebuild, any other error may be temporary. */
export const sqliteFault = (error: unknown): Fault => {
  if (error instanceof Fault) return error;
  const why = errorText(error);
  if (DAMAGED.test(why)) return new DataDirectoryUnusable(`the views are damaged (${why}): rebuild them`, error);
  return new StoreUnavailable(`the views cannot be used: ${why}`, error);
};

/** Runs synchronous driver calls and returns the result as a promise, with driver errors converted to faults. */
export const driverCall = <Result>(work: () => Result): Promise<Result> => {
  try {
    return Promise.resolve(work());
  } catch (error) {
    return Promise.reject(sqliteFault(error));
  }
};
