import type { Configuration } from './configuration.js';
import { assertAllowed } from './insecure.js';
import { openLogger } from './logger.js';
import { type Running, startServer } from './server.js';
import { onStopSignals } from './stop-signals.js';

/** Says on standard output, in one line, that the server is ready and where. */
const announce = ({ grpc, http, eventstore, data, logId, executions }: Running): void => {
  const line = { ready: true, grpc, http, ...(eventstore !== undefined && { eventstore }), data, logId, executions };
  process.stdout.write(`${JSON.stringify(line)}\n`);
};

/**
 * Serves until it is told to stop, then finishes what is on its way.
 *
 * @throws {CannotGoOn} when the log or the views fail for good. Nothing is closed then: the log has what was answered.
 */
export const serve = async (configuration: Configuration): Promise<void> => {
  assertAllowed(configuration);
  const logger = openLogger(configuration.log_level);
  const server = await startServer(configuration, logger);
  const stopped = onStopSignals();
  announce(server);
  await Promise.race([stopped, server.failed]);
  logger.info('stopping');
  await server.close();
};
