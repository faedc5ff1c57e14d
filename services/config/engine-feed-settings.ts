import { z } from 'zod';
import { duration } from './setting-kinds.js';

/** The settings of the engine feed. */
export const engineFeed = z.strictObject({
  lease_duration: duration
    .prefault('30s')
    .refine((ms) => ms >= 1_000, 'must be 1s or longer')
    .describe('how long an engine of the feed that sends nothing keeps its executions'),
  project_weights: z
    .record(z.string(), z.coerce.number().positive())
    .default({})
    .describe('share of the turns of a project among those whose executions wait; 1 where it is not set'),
});
