import { until } from './until.js';

/** What `/readyz` answers. */
export type Readiness = {
  readonly ready: boolean;
  readonly checks: Readonly<
    Record<string, { readonly state: string; readonly why?: string; readonly lagMs?: number } | undefined>
  >;
};

/** Asks a process, by its URL, whether it is ready. */
export const readiness = async (http: string): Promise<Readiness> => {
  const answer = await fetch(`${http}/readyz`);
  const body = (await answer.json()) as Readiness;
  if (body.ready !== (answer.status === 200)) throw new Error(`${answer.status} with ${JSON.stringify(body)}`);
  return body;
};

/** Asks until a check is in a state. */
export const untilCheck = (http: string, name: string, state: string): Promise<Readiness> =>
  until(
    () => readiness(http),
    ({ checks }) => checks[name]?.state === state,
  );
