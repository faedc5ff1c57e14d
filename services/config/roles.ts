import * as z from 'zod';

/** The roles that a process can have. */
export const ROLES = ['all', 'api', 'projector', 'reactor', 'log'] as const;

export type Role = (typeof ROLES)[number];

/** The duties of the control plane that a process has; a log server has none. */
export type Duties = {
  /** Serves the interface. */
  readonly api: boolean;
  /** Projects the log to the views. */
  readonly projector: boolean;
  /** Runs the reactors, and exports the log to Kafka. */
  readonly reactor: boolean;
};

const elementsOf = (text: string): readonly string[] => text.split(',').map((part) => part.trim());

/** Splits at commas, also inside the elements of a list: a repeated flag is a list whose elements may have commas. */
const listed = (value: unknown): unknown => {
  if (typeof value === 'string') return elementsOf(value);
  if (!Array.isArray(value)) return value;
  return value.flatMap((each: unknown): readonly unknown[] => (typeof each === 'string' ? elementsOf(each) : [each]));
};

const role = z.enum(ROLES, {
  error: ({ input }) => `must be one of ${ROLES.join(', ')}, not ${JSON.stringify(input)}`,
});

/** The configured roles: one, a list, or several separated by commas. */
export const roles = z
  .preprocess(listed, z.array(role).min(1, { error: 'must not be empty' }))
  .transform((given): readonly Role[] => [...new Set(given)])
  .refine((given) => given.length === 1 || !given.some((each) => each === 'all' || each === 'log'), {
    error: 'all and log cannot be combined with other roles',
  });

/** True when the process needs no other process beside it: it has all roles, or it is a log server. */
export const isStandalone = (given: readonly Role[]): boolean => given.includes('all') || given.includes('log');

/** The duties of a process with these roles. */
export const dutiesOf = (given: readonly Role[]): Duties => {
  const does = (role: Role): boolean => given.includes('all') || given.includes(role);
  return { api: does('api'), projector: does('projector'), reactor: does('reactor') };
};
