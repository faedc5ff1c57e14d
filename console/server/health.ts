import { failureOf } from './failure.js';
import { serverAddress } from './root.js';

/** One line of the metrics: its name with its labels, and its value. */
export type Metric = { readonly name: string; readonly labels: string; readonly value: number };

const LINE = /^(\w+)(?:\{(.*)\})? (\S+)$/u;

const metricOf = (line: string): Metric | undefined => {
  const [, name, labels = '', value] = LINE.exec(line) ?? [];
  return name === undefined ? undefined : { name, labels, value: Number(value) };
};

/** Reads the metrics of this process, in the format of Prometheus. */
export const readMetrics = async (signal: AbortSignal): Promise<readonly Metric[]> => {
  const answer = await fetch(serverAddress('/metrics'), { signal });
  if (!answer.ok) throw await failureOf(answer);
  return (await answer.text()).split('\n').flatMap((line) => metricOf(line) ?? []);
};

/** The readiness of the server, with its checks as JSON text. */
export type Readiness = { readonly isReady: boolean; readonly text: string };

/** Reads whether the server is ready for calls, and what is down when it is not. */
export const readReadiness = async (signal: AbortSignal): Promise<Readiness> => {
  const answer = await fetch(serverAddress('/readyz'), { signal });
  return { isReady: answer.ok, text: JSON.stringify(await answer.json(), null, 2) };
};
