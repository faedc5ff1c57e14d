import type { Configuration } from './configuration.js';
import { assertAllowed } from './insecure.js';
import { openLogger } from './logger.js';
import { dutiesOf } from './roles.js';
import { type Running, startServer } from './server.js';
import { onStopSignals, unlessStopped } from './stop-signals.js';
import { startWorker, type Working } from './worker.js';

type Started = Working & Partial<Running>;

/** Says on standard output, in one line, that the process is ready and where. */
const announce = (roles: readonly string[], running: Started): void => {
  const { grpc, http, eventstore, data, logId, executions } = running;
  // What a process does not serve is not in the line.
  process.stdout.write(`${JSON.stringify({ ready: true, roles, grpc, http, eventstore, data, logId, executions })}\n`);
};

/**
 * Serves until it is told to stop, then finishes what is on its way.
 *
 * @throws {CannotGoOn} when the log or the views fail for good. Nothing is closed then: the log has what was answered.
 */
export const serve = async (configuration: Configuration): Promise<void> => {
  assertAllowed(configuration);
  const { role, log_level: level } = configuration;
  const logger = openLogger(level);
  const stopped = onStopSignals();
  const starting: Promise<Started> = dutiesOf(role).api
    ? startServer(configuration, logger)
    : startWorker(configuration, logger);
  const running = await unlessStopped(starting, stopped);
  announce(role, running);
  await Promise.race([stopped, running.failed]);
  logger.info('stopping');
  await running.close();
};
