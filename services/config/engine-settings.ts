import * as z from 'zod';
import { flag, id, integer, timeLimit, weight } from './setting-kinds.js';

/** The settings of the engine feed. */
export const engineFeed = z.strictObject({
  lease_duration: timeLimit
    .prefault('30s')
    .refine((ms) => ms >= 1_000, 'must be 1s or longer')
    .describe(
      'shortest time without a message after which an engine that gets its work in a stream (the engine feed) loses the leases of its executions',
    ),
  project_weights: z
    .record(z.string(), weight)
    .default({})
    .describe('weight of a project when several have executions in the queue, by project; by default 1'),
});

const taskType = z.union(
  [
    id.transform((name) => ({ name })),
    z.strictObject({ name: id, version: integer(2 ** 31 - 1, 'must be a whole number, 0 or more').optional() }),
  ],
  { error: 'must be the name of a task type, or a mapping of name and version' },
);

const agent = z.strictObject({
  name: id,
  endpoint: z.string().regex(/^\S+:\d+$/u, { error: 'must be HOST:PORT' }),
  tls: flag.default(false),
  package: z.enum(['flyteidl', 'platformidl'], { error: 'must be flyteidl or platformidl' }).default('flyteidl'),
  timeout: timeLimit.prefault('10s'),
  stream_timeout: timeLimit.prefault('10m'),
  task_types: z.array(taskType).default([]),
});

/**
 * The agents that run tasks, each with the task types that it runs. A type without a version stands for all of its
 * versions. The first agent without types runs all the others.
 */
export const agents = z.array(agent);
