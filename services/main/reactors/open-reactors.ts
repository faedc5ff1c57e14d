import type { Logger } from 'pino';
import type { Configuration } from '../../config/configuration.js';
import type { Reactors } from '../../dead-letter/ports.js';
import { openCoordination } from '../coordination.js';
import { sharingOf } from '../views/current-views.js';
import type { Foundation } from '../foundation.js';
import { untilReachable, viewsKey } from '../views/read-stores.js';
import { type ReactorServices, type RunningReactors, startReactors } from './reactors.js';
import { reactorBoard } from './reactor-board.js';
import { forSetting } from '../../config/operator-errors.js';

type Parts = Pick<ReactorServices, 'executions' | 'slots' | 'launching' | 'logger'>;

/** The reactors of a process, which may run none of them. */
export type ProcessReactors = RunningReactors & {
  /** Lists the reactors of all processes; without leases, those of this process. */
  readonly board: Reactors;
  /** Starts the reactors of this process: all of them or, with leases, those that the leases assign to it. */
  readonly start: (parts: Parts) => Promise<void>;
};

/**
 * Opens the leases and checkpoints of reactors. The reactors themselves run from `start` on.
 *
 * @throws {OperatorError} when the store of the views cannot be used.
 */
export const openReactors = async (
  configuration: Configuration,
  foundation: Foundation,
  logger: Logger,
): Promise<ProcessReactors> => {
  const { log, sessions, payloads, metrics, source, parked } = foundation;
  const { format } = foundation.format;
  if (source.views.kind === 'mongodb') await untilReachable(source, log.store.logId, logger);
  const together = sharingOf(configuration, foundation);
  const coordination = await forSetting(viewsKey(source.views), () => openCoordination(source, together));
  const shared = { configuration, coordination, store: log.store, sessions, payloads, metrics, parked, format };
  let running: RunningReactors | undefined;
  let fail = (_: unknown): void => undefined;
  const ended = new Promise<never>((_, reject) => (fail = reject));
  ended.catch(() => undefined); // not unhandled: callers may await `ended` later
  const figures: RunningReactors['figures'] = () => running?.figures() ?? new Map();
  return {
    ended,
    figures,
    board: reactorBoard(coordination, log.store, figures),
    start: async (parts) => {
      running = await startReactors({ ...shared, countTicks: metrics.ticks, ...parts });
      running.ended.catch(fail);
    },
    close: async () => {
      await running?.close();
      await coordination.close();
    },
  };
};
