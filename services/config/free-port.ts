import { createServer } from 'node:net';
import { OperatorError } from './operator-errors.js';

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is in use',
  EACCES: 'needs privileges that this process does not have; choose one above 1023',
  EADDRNOTAVAIL: 'is on an address that no interface of this machine has',
  ENOTFOUND: 'is on a host that is not known',
};

/**
 * Checks that a port can be listened on, by listening on it for a moment. Called before anything is written.
 *
 * @throws {OperatorError} when it cannot, with the reason.
 */
export const assertPortIsFree = (name: string, host: string, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', (error: NodeJS.ErrnoException) => {
      const reason = REASONS[error.code ?? ''] ?? `cannot be used: ${error.message}`;
      reject(new OperatorError(`${name} port ${host}:${port} ${reason}`, { cause: error }));
    });
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve()));
  });
