import { DataDirectoryUnusable, Fault, StoreUnavailable } from '../../../services/kernel/fault.js';

const DAMAGED = /malformed|not a database|disk image/u;

/** The fault that an error of the driver is: damage calls for a rebuild, anything else may pass. */
export const faultOf = (error: unknown): Fault => {
  if (error instanceof Fault) return error;
  const why = error instanceof Error ? error.message : String(error);
  if (DAMAGED.test(why)) return new DataDirectoryUnusable(`the views are damaged (${why}): rebuild them`, error);
  return new StoreUnavailable(`the views cannot be used: ${why}`, error);
};

/** Runs what uses the driver, under the promises of the port. */
export const guarded = <Result>(work: () => Result): Promise<Result> => {
  try {
    return Promise.resolve(work());
  } catch (error) {
    return Promise.reject(faultOf(error));
  }
};
