import { Counter, Gauge, type Registry } from 'prom-client';
import { counters, type MetricDefinition, gauges, histograms } from './catalog.js';
import { keyedHistogram } from './keyed-histogram.js';
import { openRegistry } from './node-metrics.js';

/** A completed request. */
export type EndedRequest = {
  readonly rpc: string;
  readonly transport: string;
  /** The gRPC status name; `OK` on success. */
  readonly code: string;
  readonly tookMs: number;
  /** The process refused the request because it is overloaded. */
  readonly isShed: boolean;
};

/** A value with its labels. */
export type Sample = { readonly labels?: Readonly<Record<string, string>>; readonly value: number };

/** Reads the values of a gauge when the metrics are scraped; empty when there is none at the moment. */
export type ReadSamples = () => readonly Sample[] | Promise<readonly Sample[]>;

/** The key of a gauge whose values another part of the process supplies; `inFlight` is counted here. */
export type GaugeName = Exclude<keyof typeof gauges, 'inFlight'>;

/** The metrics of one process. */
export interface ProcessMetrics {
  readonly requests: {
    began(transport: string): void;
    ended(request: EndedRequest): void;
  };
  /** Records that an append has become durable, was refused or has failed. */
  appended(outcome: 'ok' | 'refused' | 'failed', tookMs: number): void;
  /** Records a commit of the embedded log: the number of appends in it, and its duration, sync included. */
  readonly committed: (commit: { readonly appends: number; readonly syncMs: number }) => void;
  /** Records that the live subscription to an event store has ended, because events were left unread. */
  readonly subscriptionDropped: () => void;
  /** Begins the counts of a channel of notifications at 0, before its first attempt. */
  readonly channelOpened: (channel: string) => void;
  /** Records the outcome of an attempt to send a notification, or of a notification without an attempt. */
  readonly notified: (channel: string, outcome: string) => void;
  /** Counts ticks of schedules with one outcome; skipped ones with one `reason`, too. */
  readonly ticks: (outcome: 'fired' | 'skipped' | 'failed', count: number, reason?: string) => void;
  /** Counts entries of the audit trail that could not be kept. */
  readonly auditDropped: (count: number) => void;
  /** Counts changes of the certificates of TLS. */
  readonly tlsReloaded: (outcome: 'loaded' | 'failed') => void;
  /** Sets the source of a gauge; each gauge has one source in a process. */
  read(gauge: GaugeName, samples: ReadSamples): void;
  /** Renders all metrics in the text format of Prometheus. */
  text(): Promise<{ readonly mediaType: string; readonly body: string }>;
  /** Lists all metrics, also those without a value. */
  described(): Promise<readonly { readonly name: string; readonly type: string; readonly help: string }[]>;
}

const MS = 1_000;
const NO_LABELS = (): Readonly<Record<string, string>> => ({});

const gaugesIn = (registry: Registry, sources: ReadonlyMap<GaugeName, ReadSamples>): void => {
  for (const [key, { labelNames, ...named }] of Object.entries<MetricDefinition>(gauges)) {
    if (key === 'inFlight') continue;
    const gauge: Gauge = new Gauge({
      ...named,
      labelNames: [...labelNames],
      registers: [registry],
      collect: async () => {
        const samples = (await sources.get(key as GaugeName)?.()) ?? [];
        gauge.reset();
        if (samples.length === 0 && labelNames.length === 0) gauge.remove(); // otherwise it would be exposed as 0
        for (const { labels, value } of samples) gauge.set({ ...labels }, value);
      },
    });
  }
};

/** Counts open requests in a map that is read on a scrape, because a gauge hashes its labels at every count. */
const inFlightIn = (registry: Registry): Map<string, number> => {
  const open = new Map<string, number>();
  const { labelNames, ...named } = gauges.inFlight;
  const gauge: Gauge = new Gauge({
    ...named,
    labelNames: [...labelNames],
    registers: [registry],
    collect: () => {
      for (const [transport, count] of open) gauge.set({ transport }, count);
    },
  });
  return open;
};

const counterIn = (registry: Registry, { labelNames, ...named }: MetricDefinition): Counter =>
  new Counter({ ...named, labelNames: [...labelNames], registers: [registry] });

/**
 * Exposes counts of 0 for these labels. Alerts watch how much a count increases, and Prometheus sees no increase in a
 * count that appears with its first failure.
 */
const beginAtZero = (counter: Counter, labels: readonly Readonly<Record<string, string>>[]): void => {
  for (const each of labels) counter.inc({ ...each }, 0);
};

const TICKS = [
  { outcome: 'failed' },
  ...['missed', 'too-old', 'queue-full'].map((reason) => ({ outcome: 'skipped', reason })),
];
const ATTEMPTS = ['sent', 'failed', 'refused', 'unknown', 'given-up', 'digested'];

/** Opens the metrics of this process, with those of Node: event loop delay, heap, garbage collection. */
export const openMetrics = (): ProcessMetrics => {
  const registry = openRegistry();
  const requests = keyedHistogram(registry, histograms.requests);
  const appends = keyedHistogram(registry, histograms.appends);
  const syncs = keyedHistogram(registry, histograms.syncs);
  const batches = keyedHistogram(registry, histograms.batches);
  const shed = counterIn(registry, counters.shed);
  const notifications = counterIn(registry, counters.notifications);
  const drops = counterIn(registry, counters.drops);
  const auditDropped = counterIn(registry, counters.auditDropped);
  const tlsReloads = counterIn(registry, counters.tlsReloads);
  const ticks = counterIn(registry, counters.ticks);
  beginAtZero(ticks, TICKS);
  beginAtZero(tlsReloads, [{ outcome: 'failed' }]);
  const open = inFlightIn(registry);
  const sources = new Map<GaugeName, ReadSamples>();
  gaugesIn(registry, sources);
  return {
    requests: {
      began: (transport) => void open.set(transport, (open.get(transport) ?? 0) + 1),
      ended: ({ rpc, transport, code, tookMs, isShed }) => {
        open.set(transport, (open.get(transport) ?? 0) - 1);
        requests.observe(rpc + transport + code, tookMs / MS, () => ({ rpc, transport, code }));
        if (isShed) shed.inc({ rpc, transport });
      },
    },
    appended: (outcome, tookMs) => appends.observe(outcome, tookMs / MS, () => ({ outcome })),
    committed: (commit) => {
      syncs.observe('', commit.syncMs / MS, NO_LABELS);
      batches.observe('', commit.appends, NO_LABELS);
    },
    channelOpened: (channel) =>
      beginAtZero(
        notifications,
        ATTEMPTS.map((outcome) => ({ channel, outcome })),
      ),
    notified: (channel, outcome) => notifications.inc({ channel, outcome }),
    subscriptionDropped: () => drops.inc(),
    ticks: (outcome, count, reason) => ticks.inc({ outcome, ...(reason !== undefined && { reason }) }, count),
    auditDropped: (count) => auditDropped.inc(count),
    tlsReloaded: (outcome) => tlsReloads.inc({ outcome }),
    read: (gauge, samples) => void sources.set(gauge, samples),
    text: async () => ({ mediaType: registry.contentType, body: await registry.metrics() }),
    described: async () => {
      const all = await registry.getMetricsAsJSON();
      return all.map(({ name, type, help }) => ({ name, type: String(type), help }));
    },
  };
};
