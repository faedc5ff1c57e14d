/** How a part of the process is; what is degraded is said, and does not keep calls away. */
export type CheckState = 'well' | 'degraded' | 'down';

/** What a health check says of one part of the process, or of what it works with. */
export type Check = {
  readonly name: string;
  readonly state: CheckState;
  /** In words for people, where it is not well. */
  readonly why?: string;
  /** How far behind the log it is, in milliseconds. */
  readonly lagMs?: number;
};

/** Whether calls should come: nothing is down. */
export const isReady = (checks: readonly Check[]): boolean => checks.every(({ state }) => state !== 'down');

/** What `/readyz` answers: `ready`, and each check under its name. */
export const readiness = (checks: readonly Check[]): Readonly<Record<string, unknown>> => ({
  ready: isReady(checks),
  checks: Object.fromEntries(checks.map(({ name, ...said }) => [name, said])),
});
