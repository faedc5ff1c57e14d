import type { Reactor } from '../kernel/reactor.js';
import type { Configuration } from './configuration.js';
import { openCoordination } from './coordination.js';
import { togethernessOf } from './current-views.js';
import type { Foundation } from './foundation.js';
import { untilReachable } from './read-stores.js';
import { type ReactorServices, startReactors } from './reactors.js';

type Parts = Pick<ReactorServices, 'executions' | 'slots' | 'logger'> & {
  readonly configuration: Configuration;
  readonly foundation: Foundation;
};

/** Starts the reactors of a process, by itself or together with others. */
export const openReactors = async ({ configuration, foundation, ...parts }: Parts): Promise<Reactor> => {
  const { log, sessions, source } = foundation;
  if (source.views.kind === 'mongodb') await untilReachable(source, parts.logger);
  const coordination = await openCoordination(source, togethernessOf(configuration, foundation));
  const reactors = await startReactors({ configuration, coordination, store: log.store, sessions, ...parts });
  return {
    ended: reactors.ended,
    close: async () => {
      await reactors.close();
      await coordination.close();
    },
  };
};
