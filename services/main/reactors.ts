import type { Logger } from 'pino';
import { type ExecutionAggregate, executionStream } from '../execution/aggregate.js';
import type { EventLog } from '../kernel/event-store.js';
import type { Reactor } from '../kernel/reactor.js';
import type { Sessions } from '../kernel/sessions.js';
import { type ExpiryOptions, expireTerminations, timeOutExecutions } from '../reactors/expire-terminations/reactor.js';
import { releaseSlots } from '../reactors/release-slots/reactor.js';
import type { Slots } from '../reactors/release-slots/take.js';
import { fileCheckpoint } from '../store/file-checkpoint.js';
import type { Configuration } from './configuration.js';
import { systemTimers } from './system-timers.js';

/** What reactors work with. */
export type ReactorServices = {
  readonly configuration: Pick<Configuration, 'abort' | 'execution'>;
  readonly directory: string;
  readonly store: EventLog;
  readonly sessions: Sessions;
  readonly executions: ExecutionAggregate;
  readonly slots: Slots;
  readonly logger: Logger;
};

/**
 * Starts what acts by itself on what is recorded. Any number of processes may do it on one log: commands and their ids
 * come from the events, so that what two do is done once.
 */
export const startReactors = ({
  configuration,
  directory,
  store: log,
  slots,
  logger,
  ...parts
}: ReactorServices): Reactor => {
  const { sessions, executions } = parts;
  const shared = (name: string) => ({
    log,
    checkpoint: fileCheckpoint({ directory, name, logId: log.logId }),
    timers: systemTimers,
    onFailure: (error: unknown) => logger.error({ err: error, reactor: name }, 'a reactor failed; it tries again'),
  });
  const handle: ExpiryOptions['handle'] = (stream, command, context) =>
    sessions.handle(executions, stream, command, context);
  const { timeout } = configuration.execution;
  const timeOuts =
    timeout === undefined ? [] : [timeOutExecutions({ ...shared('time-out-executions'), handle, afterMs: timeout })];
  const running = [
    expireTerminations({ ...shared('expire-terminations'), handle, afterMs: configuration.abort.timeout }),
    releaseSlots({ ...shared('release-slots'), slots, streamOf: executionStream }),
    ...timeOuts,
  ];
  return {
    ended: Promise.all(running.map(({ ended }) => ended)).then(() => undefined),
    close: async () => {
      await Promise.all(running.map((reactor) => reactor.close()));
    },
  };
};
