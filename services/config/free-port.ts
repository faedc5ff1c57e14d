import { createServer } from 'node:net';
import { OperatorError } from './operator-errors.js';

/** The reason of a port that another process has. */
export const IN_USE = 'is in use';

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: IN_USE,
  EACCES: 'needs privileges that this process does not have; choose one above 1023',
  EADDRNOTAVAIL: 'is on an address that no interface of this machine has',
  ENOTFOUND: 'is on a host that is not known',
};

/** The reason why a port cannot be listened on, as the end of a sentence, and the error with which that failed. */
export type PortProblem = { readonly reason: string; readonly cause: Error };

/** Checks that a port can be listened on, by listening on it for a moment; returns `undefined` when it can. */
export const portProblem = (host: string, port: number): Promise<PortProblem | undefined> =>
  new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', (cause: NodeJS.ErrnoException) =>
      resolve({ reason: REASONS[cause.code ?? ''] ?? `cannot be used: ${cause.message}`, cause }),
    );
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve(undefined)));
  });

/**
 * Checks that a port can be listened on, by listening on it for a moment.
 *
 * @throws {OperatorError} when it cannot, with the reason.
 */
export const assertPortIsFree = async (name: string, host: string, port: number): Promise<void> => {
  const problem = await portProblem(host, port);
  if (problem) throw new OperatorError(`${name} port ${host}:${port} ${problem.reason}`, { cause: problem.cause });
};
