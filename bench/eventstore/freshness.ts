import { join } from 'node:path';
import { startLogServer } from '../../test/support/processes/log-server.js';
import type { BenchOptions, Limited } from '../bench.js';
import { measureFreshness } from '../projections/freshness.js';

const EVENTS_PER_SECOND = 1_000;

/** Upper limit of the time from the answer to a create until a list shows the execution, at the 99th percentile. */
const P99_LIMIT_MS = 150;

/** The maximum number of events: half of them find the peak rate, half are sent at the rate above, for ten seconds. */
const MAX_EVENTS = 20_000;

/** Measures how soon lists show creates over a log server, beside 1,000 events a second. */
export const freshnessOverLogServer = async ({ disk, count }: BenchOptions): Promise<readonly Limited[]> => {
  const log = await startLogServer(join(disk.directory, 'freshness-log'));
  try {
    const { perSecond, samples, p50Ms, p99Ms } = await measureFreshness({
      disk,
      count: Math.min(count, MAX_EVENTS),
      name: 'freshness-over-log-server',
      args: ['--event-store', `esdb://${log.address}?tls=false`],
      eventsPerSecond: EVENTS_PER_SECOND,
    });
    return [
      { name: 'eventstore, events beside the lists', value: perSecond, unit: '/s' },
      { name: 'eventstore, creates that lists were read for', value: samples, unit: '' },
      { name: 'eventstore, freshness of a list, p50', value: p50Ms, unit: 'ms' },
      {
        name: 'eventstore, freshness of a list, p99',
        value: p99Ms,
        unit: 'ms',
        limit: { kind: 'most', value: P99_LIMIT_MS },
      },
    ];
  } finally {
    await log.stop();
  }
};
