import { announce } from './announcement.js';
import type { Configuration } from '../config/configuration.js';
import { assertAllowed } from './insecure.js';
import { openLogger } from '../main/logger.js';
import { dutiesOf } from '../config/roles.js';
import { type Running, startServer } from '../main/server.js';
import { onStopSignals, unlessStopped } from './stop-signals.js';
import { startWorker, type RunningWorker } from '../main/worker.js';

type Started = RunningWorker & Partial<Running>;

/** The flags of `serve` that are not settings. */
export type ServeFlags = { readonly json: boolean };

/**
 * Serves until a stop signal, then finishes the calls in flight.
 *
 * @throws {InvalidConfiguration} when a file that the configuration names cannot be used.
 * @throws {Fault} when a store fails during the start.
 * @throws {OperatorError} when the configuration is not allowed, a setting cannot be used, or a component of the
 *   process has failed permanently, such as the log, the views, or the export to Kafka. After such a failure nothing is
 *   closed, because the log has every command that was answered.
 */
export const serve = async (configuration: Configuration, flags: ServeFlags): Promise<void> => {
  assertAllowed(configuration);
  const { role, log_level: level } = configuration;
  const logger = openLogger(level);
  const stopped = onStopSignals();
  const starting: Promise<Started> = dutiesOf(role).api
    ? startServer(configuration, logger)
    : startWorker(configuration, logger);
  const running = await unlessStopped(starting, stopped);
  announce(flags, configuration, running);
  await Promise.race([stopped, running.failed]);
  logger.info('stopping');
  await running.close();
};
