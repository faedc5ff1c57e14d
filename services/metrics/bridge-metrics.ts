import { Counter, Gauge } from 'prom-client';
import { bridgeCatalog, type MetricDefinition } from './catalog.js';
import { keyedHistogram } from './keyed-histogram.js';
import { openRegistry } from './node-metrics.js';

/** An ended call of the API server of a cluster. */
export type ClusterCall = {
  readonly cluster: string;
  readonly call: string;
  readonly outcome: 'ok' | 'refused' | 'away';
  readonly tookMs: number;
};

/** The metrics of a bridge, with those of its process. */
export interface BridgeMetrics {
  /** Records that the bridge has joined the work stream of the control plane, or has lost it. */
  joined(isJoined: boolean): void;
  /** True while the bridge has joined. */
  isJoined(): boolean;
  /** Sets the function that gives the number of executions by the aim of the control plane (`run`, `abort`, `over`). */
  counts(read: () => Readonly<Record<string, number>>): void;
  /** Records a call of an API server. */
  called(call: ClusterCall): void;
  /** Counts a failed list or watch of the objects of a cluster. */
  watchFailed(cluster: string): void;
  /** Counts a failed step for an execution. */
  stepFailed(): void;
  /** Counts a rejected launch: `others` when another engine may take it, otherwise the code of its error. */
  rejected(reason: string): void;
  /** Adds the bytes of a closure or of inputs that were stored outside of their object. */
  offloaded(bytes: number): void;
  /** Renders all metrics in the text format of Prometheus. */
  text(): Promise<{ readonly mediaType: string; readonly body: string }>;
}

const MS = 1_000;

/** Opens the metrics of a bridge. */
export const openBridgeMetrics = (): BridgeMetrics => {
  const registry = openRegistry();
  const named = ({ labelNames, name, help }: MetricDefinition) => ({
    ...{ name, help, labelNames: [...labelNames], registers: [registry] },
  });
  const calls = keyedHistogram(registry, bridgeCatalog.calls);
  const watchFailures = new Counter(named(bridgeCatalog.watchFailures));
  const stepFailures = new Counter(named(bridgeCatalog.stepFailures));
  const rejected = new Counter(named(bridgeCatalog.rejected));
  const offloaded = new Counter(named(bridgeCatalog.offloaded));
  let readCounts = (): Readonly<Record<string, number>> => ({});
  let isJoined = false;
  const joined: Gauge = new Gauge({ ...named(bridgeCatalog.joined), collect: () => joined.set(isJoined ? 1 : 0) });
  const executions: Gauge = new Gauge({
    ...named(bridgeCatalog.executions),
    collect: () => {
      for (const [aim, count] of Object.entries(readCounts())) executions.set({ aim }, count);
    },
  });
  return {
    joined: (now) => {
      isJoined = now;
    },
    isJoined: () => isJoined,
    counts: (read) => {
      readCounts = read;
    },
    called: ({ cluster, call, outcome, tookMs }) =>
      calls.observe(`${cluster} ${call} ${outcome}`, tookMs / MS, () => ({ cluster, call, outcome })),
    watchFailed: (cluster) => watchFailures.inc({ cluster }),
    stepFailed: () => stepFailures.inc(),
    rejected: (reason) => rejected.inc({ why: reason }),
    offloaded: (bytes) => offloaded.inc(bytes),
    text: async () => ({ mediaType: registry.contentType, body: await registry.metrics() }),
  };
};
