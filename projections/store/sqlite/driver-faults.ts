import { DataDirectoryUnusable, Fault, StoreUnavailable } from '../../../services/kernel/fault.js';
import { errorText } from '../../../services/kernel/error-text.js';

const DAMAGED = /malformed|not a database|disk image/u;

/** The contents of a file, and what the operator does when it is damaged, as the texts of faults have them. */
type Contents = { readonly shown: string; readonly remedy: string };

const VIEWS: Contents = { shown: 'the views', remedy: 'rebuild them' };

/** Converts a driver error to a fault: a damaged file needs the operator, any other error may be temporary. */
export const sqliteFault = (error: unknown, { shown, remedy } = VIEWS): Fault => {
  if (error instanceof Fault) return error;
  const reason = errorText(error);
  if (DAMAGED.test(reason)) return new DataDirectoryUnusable(`${shown} are damaged (${reason}): ${remedy}`, error);
  return new StoreUnavailable(`${shown} cannot be used: ${reason}`, error);
};

/** Runs synchronous driver calls and returns the result as a promise, with driver errors converted to faults. */
export const driverCall = <Result>(work: () => Result, contents = VIEWS): Promise<Result> => {
  try {
    return Promise.resolve(work());
  } catch (error) {
    return Promise.reject(sqliteFault(error, contents));
  }
};
