import * as z from 'zod';
import { count, duration, oneOrMore, timezone } from './setting-kinds.js';

/** The policies for ticks that were missed. */
const CATCH_UP = ['all', 'last', 'none'] as const;

/** The policies for a tick while the execution of the tick before it runs. */
const OVERLAP = ['allow', 'skip', 'queue'] as const;

/** The settings of schedules. */
export const schedules = z.strictObject({
  timezone: timezone.default('UTC').describe('time zone of cron expressions that name none'),
  catch_up: z
    .enum(CATCH_UP, { error: `must be one of ${CATCH_UP.join(', ')}` })
    .default('all')
    .describe('missed ticks of a schedule that are started later: `all`, `last` or `none`'),
  catch_up_max: count
    .default(100)
    .describe('most missed ticks of one launch plan that are started later; never more than 1,000'),
  catch_up_max_age: duration.prefault('24h').describe('age from which a missed tick is dropped'),
  max_starts_per_second: oneOrMore
    .default(20)
    .describe('missed ticks that are started in a second, over all launch plans'),
  overlap: z
    .enum(OVERLAP, { error: `must be one of ${OVERLAP.join(', ')}` })
    .default('allow')
    .describe('what happens to a tick while the execution of the tick before it runs: `allow`, `skip` or `queue`'),
  give_up_after: duration
    .prefault('1h')
    .describe('time for which a failing launch of a tick is retried before it is recorded as failed'),
});
