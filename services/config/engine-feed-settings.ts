import * as z from 'zod';
import { duration } from './setting-kinds.js';

/** The settings of the engine feed. */
export const engineFeed = z.strictObject({
  lease_duration: duration
    .prefault('30s')
    .refine((ms) => ms >= 1_000, 'must be 1s or longer')
    .describe('time without a message after which an engine of the feed loses the leases of its executions'),
  project_weights: z
    .record(z.string(), z.coerce.number().positive())
    .default({})
    .describe('weight of a project when several have executions in the queue, by project; by default 1'),
});
