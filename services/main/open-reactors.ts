import type { Configuration } from '../config/configuration.js';
import { openCoordination } from './coordination.js';
import { sharingOf } from './current-views.js';
import type { Foundation } from './foundation.js';
import { untilReachable, viewsKey } from './read-stores.js';
import { type ReactorServices, type RunningReactors, startReactors } from './reactors.js';
import { forSetting } from '../config/operator-errors.js';

type Parts = Pick<ReactorServices, 'executions' | 'slots' | 'launching' | 'logger'> & {
  readonly configuration: Configuration;
  readonly foundation: Foundation;
};

/** Starts the reactors of a process: all of them, or those that are assigned to it by leases. */
export const openReactors = async ({ configuration, foundation, ...parts }: Parts): Promise<RunningReactors> => {
  const { log, sessions, payloads, metrics, source, parked } = foundation;
  if (source.views.kind === 'mongodb') await untilReachable(source, log.store.logId, parts.logger);
  const together = sharingOf(configuration, foundation);
  const coordination = await forSetting(viewsKey(source.views), () => openCoordination(source, together));
  const { ticks: onTicks } = foundation.metrics;
  const shared = { configuration, coordination, store: log.store, sessions, payloads, metrics, parked, onTicks };
  const reactors = await startReactors({ ...shared, ...parts });
  return {
    ended: reactors.ended,
    figures: reactors.figures,
    close: async () => {
      await reactors.close();
      await coordination.close();
    },
  };
};
