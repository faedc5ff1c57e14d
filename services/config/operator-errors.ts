import { Fault } from '../kernel/fault.js';

/** The process cannot start or go on; the message is one line for the person who started it. */
export class CannotGoOn extends Error {}

/** The configuration is not valid; the message has a line for each key. */
export class InvalidConfiguration extends Error {}

/**
 * Does what a setting asks for. A fault of it is told with the key of the setting before it.
 *
 * @throws {CannotGoOn} in place of a fault.
 */
export const forSetting = async <Result>(key: string, work: () => Promise<Result>): Promise<Result> => {
  try {
    return await work();
  } catch (error) {
    throw error instanceof Fault ? new CannotGoOn(`${key}: ${error.message}`, { cause: error }) : error;
  }
};

/** What the person who started the process is told of its end: no stack, where the message says it all. */
export const toldOf = (error: unknown): string => {
  const isTold = error instanceof CannotGoOn || error instanceof InvalidConfiguration || error instanceof Fault;
  const text = isTold ? error.message : error instanceof Error ? (error.stack ?? error.message) : String(error);
  return text.replaceAll(/^/gmu, 'flightlog: ');
};

/** Rejects with a {@link CannotGoOn} as soon as one of the parts of a process fails, however the others end. */
export const firstFailure = (parts: readonly Promise<unknown>[]): Promise<never> => {
  const first = new Promise<never>((_, reject) => {
    const fail = (cause: unknown): void => {
      const why = cause instanceof Error ? cause.message : String(cause);
      reject(new CannotGoOn(`cannot go on: ${why}`, { cause }));
    };
    for (const part of parts) part.catch(fail);
  });
  first.catch(() => undefined); // whoever watches it later hears of it all the same
  return first;
};
