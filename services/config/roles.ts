import { z } from 'zod';

/** What a process can do. */
export const ROLES = ['all', 'api', 'projector', 'reactor', 'log'] as const;

export type Role = (typeof ROLES)[number];

/** What of the control plane a process does; a log server does nothing of it. */
export type Duties = {
  /** Serves the interface. */
  readonly api: boolean;
  /** Keeps the views up with the log. */
  readonly projector: boolean;
  /** Acts by itself on what is recorded, and publishes it. */
  readonly reactor: boolean;
};

const partsOf = (text: string): readonly string[] => text.split(',').map((part) => part.trim());

/** Commas stand for more elements, in an element too: a flag is repeatable, and a list then. */
const listed = (value: unknown): unknown => {
  if (typeof value === 'string') return partsOf(value);
  if (!Array.isArray(value)) return value;
  return value.flatMap((each: unknown): readonly unknown[] => (typeof each === 'string' ? partsOf(each) : [each]));
};

const role = z.enum(ROLES, {
  error: ({ input }) => `must be one of ${ROLES.join(', ')}, not ${JSON.stringify(input)}`,
});

/** Roles as they are configured: one, a list, or several with commas between. */
export const roles = z
  .preprocess(listed, z.array(role).min(1, { error: 'must not be empty' }))
  .transform((given): readonly Role[] => [...new Set(given)])
  .refine((given) => given.length === 1 || !given.some((each) => each === 'all' || each === 'log'), {
    error: 'all and log stand alone',
  });

/** Whether all that there is of a control plane is in this process, or may be. */
export const isWhole = (given: readonly Role[]): boolean => given.includes('all') || given.includes('log');

/** What a process of these roles does. */
export const dutiesOf = (given: readonly Role[]): Duties => {
  const does = (role: Role): boolean => given.includes('all') || given.includes(role);
  return { api: does('api'), projector: does('projector'), reactor: does('reactor') };
};
