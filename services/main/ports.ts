import { createServer } from 'node:net';

/** The process cannot start; the message is one line for the person who started it. */
export class CannotStart extends Error {}

const WHY: Readonly<Record<string, string>> = {
  EADDRINUSE: 'is in use',
  EACCES: 'needs privileges that this process does not have; choose one above 1023',
  EADDRNOTAVAIL: 'is on an address that this machine does not have',
};

/**
 * Makes sure that a port can be taken, before anything is written.
 *
 * @throws {CannotStart} when it cannot, with the reason.
 */
export const assertPortIsFree = (name: string, host: string, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', (error: NodeJS.ErrnoException) => {
      const why = WHY[error.code ?? ''] ?? `cannot be used: ${error.message}`;
      reject(new CannotStart(`${name} port ${host}:${port} ${why}`, { cause: error }));
    });
    probe.listen({ host, port, exclusive: true }, () => probe.close(() => resolve()));
  });
