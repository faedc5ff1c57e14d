import type { Bench } from '../bench.js';
import { adapter } from './adapter.js';
import { freshnessOverLogServer } from './freshness.js';
import { overLogServer } from './over-log-server.js';
import { wholeLog } from './whole-log.js';

/** The cost of a log in an event store: events, creates, work on the whole log, the adapter, freshness of lists. */
export const eventstore: Bench = {
  name: 'eventstore',
  target: 0.8,
  run: async (options) => {
    const { figures, log } = await overLogServer(options);
    return [
      ...figures,
      ...(await wholeLog(options, log)),
      ...(await adapter(options)),
      ...(await freshnessOverLogServer(options)),
    ];
  },
};
