import { until } from '../until.js';

/** The answer of `/readyz`. */
export type Readiness = {
  readonly ready: boolean;
  readonly checks: Readonly<
    Record<string, { readonly state: string; readonly why?: string; readonly lagMs?: number } | undefined>
  >;
};

/**
 * Reads the readiness of a process at a URL.
 *
 * @throws {Error} when the HTTP status of the answer contradicts its `ready`.
 */
export const readiness = async (http: string): Promise<Readiness> => {
  const answer = await fetch(`${http}/readyz`);
  const body = (await answer.json()) as Readiness;
  if (body.ready !== (answer.status === 200)) throw new Error(`${answer.status} with ${JSON.stringify(body)}`);
  return body;
};

/** Polls until a check is in a state. */
export const untilCheck = (http: string, name: string, state: string): Promise<Readiness> =>
  until(
    () => readiness(http),
    ({ checks }) => checks[name]?.state === state,
  );
