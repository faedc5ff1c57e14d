import type { Configuration } from './configuration.js';
import { openLogger } from './logger.js';
import { CannotStart } from './ports.js';
import { type Running, startServer } from './server.js';
import { onStopSignals } from './stop-signals.js';

const LOOPBACK = /^(?:127\.\d+\.\d+\.\d+|::1|localhost)$/u;

/**
 * Authentication is not built, so serving without saying so is refused; and what has none stays on this machine.
 *
 * @throws {CannotStart} with the flag that would allow it.
 */
const assertAllowed = ({ insecure, allow_insecure_remote, host }: Configuration): void => {
  if (!insecure) {
    throw new CannotStart('there is no authentication yet: start with --insecure to serve without it, on this machine');
  }
  if (!LOOPBACK.test(host) && !allow_insecure_remote) {
    throw new CannotStart(`--insecure on ${host} would let anybody in: add --allow-insecure-remote if that is meant`);
  }
};

/** Says on standard output, in one line, that the server is ready and where. */
const announce = ({ grpc, http, data, logId, executions }: Running): void => {
  process.stdout.write(`${JSON.stringify({ ready: true, grpc, http, data, logId, executions })}\n`);
};

/** Serves until it is told to stop. */
export const serve = async (configuration: Configuration): Promise<void> => {
  assertAllowed(configuration);
  const logger = openLogger(configuration.log_level);
  const server = await startServer(configuration, logger);
  announce(server);
  await onStopSignals();
  await server.close();
};
