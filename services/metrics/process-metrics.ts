import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';

import { counters, type Definition, gauges, histograms } from './catalog.js';
import { tallyIn } from './tally.js';

/** A request that has ended. */
export type EndedRequest = {
  readonly rpc: string;
  readonly transport: string;
  /** Its status, `OK` where it has succeeded. */
  readonly code: string;
  readonly tookMs: number;
  /** It was turned away because the process is overloaded. */
  readonly isShed: boolean;
};

/** A value, by the labels that it has. */
export type Sample = { readonly labels?: Readonly<Record<string, string>>; readonly value: number };

/** Reads a value when the metrics are asked for; nothing where there is none at the moment. */
export type ReadSamples = () => readonly Sample[] | Promise<readonly Sample[]>;

/** A gauge of the catalog that is read when the metrics are asked for. */
export type GaugeName = Exclude<keyof typeof gauges, 'inFlight'>;

/** The metrics of one process. */
export interface ProcessMetrics {
  readonly requests: {
    began(transport: string): void;
    ended(request: EndedRequest): void;
  };
  /** An append has become durable, or has failed. */
  appended(outcome: 'ok' | 'failed', tookMs: number): void;
  /** The embedded log has committed so many appends together. */
  readonly committed: (commit: { readonly appends: number; readonly syncMs: number }) => void;
  /** The event store has ended the live subscription, because events were left unread. */
  readonly subscriptionDropped: () => void;
  /** Says where a gauge is read; each has one source in a process. */
  read(gauge: GaugeName, samples: ReadSamples): void;
  /** All metrics in the text format of Prometheus. */
  text(): Promise<{ readonly mediaType: string; readonly body: string }>;
  /** Every metric that there is, whether it has a value or not. */
  described(): Promise<readonly { readonly name: string; readonly type: string; readonly help: string }[]>;
}

const MS = 1_000;
const NO_LABELS = (): Readonly<Record<string, string>> => ({});

const gaugesIn = (registry: Registry, sources: ReadonlyMap<GaugeName, ReadSamples>): void => {
  for (const [key, { labelNames, ...named }] of Object.entries<Definition>(gauges)) {
    if (key === 'inFlight') continue;
    const gauge: Gauge = new Gauge({
      ...named,
      labelNames: [...labelNames],
      registers: [registry],
      collect: async () => {
        const samples = (await sources.get(key as GaugeName)?.()) ?? [];
        gauge.reset();
        if (samples.length === 0 && labelNames.length === 0) gauge.remove(); // it would be 0 otherwise
        for (const { labels, value } of samples) gauge.set({ ...labels }, value);
      },
    });
  }
};

/** The hash of labels costs more than the rest of a count, so open requests are counted here and read when asked for. */
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

const counterIn = (registry: Registry, { labelNames, ...named }: Definition): Counter =>
  new Counter({ ...named, labelNames: [...labelNames], registers: [registry] });

/** Opens the metrics of this process, with those of the platform: event loop delay, heap, garbage collection. */
export const openMetrics = (): ProcessMetrics => {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const requests = tallyIn(registry, histograms.requests);
  const appends = tallyIn(registry, histograms.appends);
  const syncs = tallyIn(registry, histograms.syncs);
  const batches = tallyIn(registry, histograms.batches);
  const shed = counterIn(registry, counters.shed);
  const drops = counterIn(registry, counters.drops);
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
    subscriptionDropped: () => drops.inc(),
    read: (gauge, samples) => void sources.set(gauge, samples),
    text: async () => ({ mediaType: registry.contentType, body: await registry.metrics() }),
    described: async () => {
      const all = await registry.getMetricsAsJSON();
      return all.map(({ name, type, help }) => ({ name, type: String(type), help }));
    },
  };
};
