import { Fault } from '../kernel/fault.js';
import { errorText } from '../kernel/error-text.js';

/** The process cannot start or continue; the message is for the operator, mostly of one line. */
export class OperatorError extends Error {}

/** The configuration is not valid; the message has a line for each problem, which names its key, variable or file. */
export class InvalidConfiguration extends Error {}

/**
 * Runs work that depends on a setting or a flag, and puts its key before the message of a fault.
 *
 * @throws {OperatorError} in place of a fault; other errors are thrown as they are.
 */
export const forSetting = async <Result>(key: string, work: () => Promise<Result>): Promise<Result> => {
  try {
    return await work();
  } catch (error) {
    throw error instanceof Fault ? new OperatorError(`${key}: ${error.message}`, { cause: error }) : error;
  }
};

/** The text for the operator about the error that ended the process; with a stack only for an unexpected error. */
export const operatorText = (error: unknown): string => {
  const isExpected = error instanceof OperatorError || error instanceof InvalidConfiguration || error instanceof Fault;
  const text = isExpected ? error.message : error instanceof Error ? (error.stack ?? error.message) : String(error);
  return text.replaceAll(/^/gmu, 'flightlog: ');
};

/** Rejects with an {@link OperatorError} when the first of the promises rejects; one that resolves has no effect. */
export const firstFailure = (promises: readonly Promise<unknown>[]): Promise<never> => {
  const first = new Promise<never>((_, reject) => {
    const fail = (cause: unknown): void => {
      const reason = errorText(cause);
      reject(new OperatorError(`stopped by a failure: ${reason}`, { cause }));
    };
    for (const each of promises) each.catch(fail);
  });
  first.catch(() => undefined); // not unhandled: callers may await it later
  return first;
};
