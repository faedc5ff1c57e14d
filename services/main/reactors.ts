import type { Logger } from 'pino';
import type { ExecutionAggregate } from '../execution/aggregate.js';
import type { EventLog } from '../kernel/event-store.js';
import type { Sessions } from '../kernel/sessions.js';
import { type ExpireTerminations, expireTerminations } from '../reactors/expire-terminations/reactor.js';
import { systemTimers } from '../reactors/expire-terminations/timers.js';
import type { Configuration } from './configuration.js';

/** What reactors work with. */
export type ReactorServices = {
  readonly configuration: Pick<Configuration, 'abort'>;
  readonly store: EventLog;
  readonly sessions: Sessions;
  readonly executions: ExecutionAggregate;
  readonly logger: Logger;
};

/**
 * Starts what acts by itself on what is recorded. Any number of processes may do it on one log: commands and their ids
 * come from the events, so that what two do is done once.
 */
export const startReactors = ({
  configuration,
  store,
  sessions,
  executions,
  logger,
}: ReactorServices): ExpireTerminations =>
  expireTerminations({
    log: store,
    expire: (stream, command, context) => sessions.handle(executions, stream, command, context),
    afterMs: configuration.abort.timeout,
    timers: systemTimers,
    onFailure: (error) => logger.error({ err: error }, 'a termination could not be ended; it is tried again'),
  });
