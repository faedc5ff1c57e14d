/** Health of a component. A `degraded` component is reported, but the process stays ready. */
export type CheckState = 'well' | 'degraded' | 'down';

/** The health check result of one component of the process, or of a system that it depends on. */
export type Check = {
  readonly name: string;
  readonly state: CheckState;
  /** Explains a state other than `well`, for people. */
  readonly why?: string;
  /** Lag behind the log, in milliseconds. */
  readonly lagMs?: number;
};

/** True when no component is down, so that the process can take calls. */
export const isReady = (checks: readonly Check[]): boolean => checks.every(({ state }) => state !== 'down');

/** Builds the answer of `/readyz`: `ready`, and each check under its name. */
export const readiness = (checks: readonly Check[]): Readonly<Record<string, unknown>> => ({
  ready: isReady(checks),
  checks: Object.fromEntries(checks.map(({ name, ...state }) => [name, state])),
});
