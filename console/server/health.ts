import type { UseQueryOptions } from '@tanstack/react-query';

import { failureOf, received } from './failure.js';
import { REFRESHED } from './queries.js';
import { serverAddress } from './root.js';

/** One line of the metrics: its name with its labels, and its value. */
export type Metric = { readonly name: string; readonly labels: string; readonly value: number };

const LINE = /^(\w+)(?:\{(.*)\})? (\S+)$/u;

const metricOf = (line: string): Metric | undefined => {
  const [, name, labels = '', value] = LINE.exec(line) ?? [];
  return name === undefined ? undefined : { name, labels, value: Number(value) };
};

const readMetrics = async (signal: AbortSignal): Promise<readonly Metric[]> => {
  const answer = await received(fetch(serverAddress('/metrics'), { signal }), signal);
  if (!answer.ok) throw await failureOf(answer);
  return (await received(answer.text(), signal)).split('\n').flatMap((line) => metricOf(line) ?? []);
};

/** The metrics of the process that serves the page, in the order in which it lists them. */
export const metricsQuery: UseQueryOptions<readonly Metric[]> = {
  queryKey: ['metrics'],
  queryFn: ({ signal }) => readMetrics(signal),
  ...REFRESHED,
};

/** The health check of a component. */
export type Check = {
  readonly name: string;
  readonly state: 'well' | 'degraded' | 'down';
  readonly why?: string;
  readonly lagMs?: number;
};

/** The health checks of a process, and whether it is ready for calls. */
export type Readiness = { readonly isReady: boolean; readonly checks: readonly Check[] };

const BAD_GATEWAY = 502;

type ReadyzAnswer = { readonly checks: Readonly<Record<string, Omit<Check, 'name'>>> };

const readReadiness = async (signal: AbortSignal): Promise<Readiness> => {
  const answer = await received(fetch(serverAddress('/readyz'), { signal }), signal);
  // A proxy in front of a server that is away answers 502 to 504 with a page of its own: the server is asked again.
  const body = answer.status >= BAD_GATEWAY ? received(answer.json(), signal) : answer.json();
  const { checks } = (await body) as ReadyzAnswer;
  return { isReady: answer.ok, checks: Object.entries(checks).map(([name, check]) => ({ name, ...check })) };
};

/** The readiness of the process that serves the page. */
export const readinessQuery: UseQueryOptions<Readiness> = {
  queryKey: ['readiness'],
  queryFn: ({ signal }) => readReadiness(signal),
  ...REFRESHED,
};
