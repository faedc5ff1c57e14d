import { setTimeout } from 'node:timers/promises';
import { readFileSync } from 'node:fs';
import type { Configuration } from '../config/configuration.js';
import type { Check, CheckState } from '../gateway/readiness.js';
import type { ParkedStreams } from '../kernel/log-readers/parked-streams.js';
import type { NewEvent } from '../kernel/event.js';
import { AppendTooLarge, RevisionConflict } from '../kernel/fault.js';
import type { Appended, EventLog, EventStore, ExpectedRevision } from '../kernel/ports/event-store.js';
import type { StreamName } from '../kernel/stream.js';
import type { ProcessMetrics, Sample } from '../metrics/process-metrics.js';
import type { OpenSessions } from '../sessions/sessions.js';
import type { WorkFigures } from '../reactors/frame/work-queue.js';
import type { GroupFigures } from '../streams/eventstore/groups/group-figures.js';
import { models } from './models.js';
import { version } from './version.js';

/** A refused append says nothing about the store: another process was first, or the events are too large. */
const outcomeOf = (error: unknown): 'refused' | 'failed' =>
  error instanceof RevisionConflict || error instanceof AppendTooLarge ? 'refused' : 'failed';

/** Wraps a store so that its appends are counted and timed. */
export const measuredAppends = <Store extends EventStore>(store: Store, metrics: ProcessMetrics): Store => ({
  ...store,
  append: (stream: StreamName, expected: ExpectedRevision, events: readonly NewEvent[]): Promise<Appended> => {
    const startedAt = performance.now();
    const appended = store.append(stream, expected, events);
    appended.then(
      () => metrics.appended('ok', performance.now() - startedAt),
      (error: unknown) => metrics.appended(outcomeOf(error), performance.now() - startedAt),
    );
    return appended;
  },
});

/** The services that gauges are read from; a service that the process does not run is absent. */
export type MetricSources = {
  readonly log: Pick<EventLog, 'head'>;
  readonly checks: () => readonly Check[];
  /** The streams that this process has parked outside the views, because it cannot read an event of them. */
  readonly parked?: Pick<ParkedStreams, 'all'>;
  /** The number of streams that the views have parked. */
  readonly parkedInViews?: (() => number) | undefined;
  /** The read models that are being built. */
  readonly building?: (() => readonly string[]) | undefined;
  readonly sessions?: Pick<OpenSessions, 'cached'>;
  /** The figures of the reactors that this process runs, by name. */
  readonly reactors?: (() => ReadonlyMap<string, WorkFigures>) | undefined;
  /** The figures of the 100 oldest consumer groups. */
  readonly groups?: () => Promise<readonly GroupFigures[]>;
};

const STATES: Readonly<Record<CheckState, number>> = { well: 0, degraded: 1, down: 2 };

/** Prometheus times out after 10 s by default; a log that does not answer must not keep it from the other metrics. */
const HEAD_WAIT_MS = 2_000;

const headOf = async (log: MetricSources['log']): Promise<readonly Sample[]> => {
  const head = log.head().catch(() => undefined);
  const position = await Promise.race([head, setTimeout(HEAD_WAIT_MS, undefined, { ref: false })]);
  return position === undefined ? [] : [{ value: Number(position) }];
};

const lagOf = (checks: readonly Check[], name: string): number | undefined => {
  const lagMs = checks.find((check) => check.name === name)?.lagMs;
  return lagMs === undefined ? undefined : lagMs / 1_000;
};

const some = (value: number | undefined): readonly Sample[] => (value === undefined ? [] : [{ value }]);

/** The number of threads of this process, from `/proc`; `undefined` where `/proc` does not give it. */
const threads = (): number | undefined => {
  try {
    const [, count] = /^Threads:\s+(\d+)/mu.exec(readFileSync('/proc/self/status', 'utf8')) ?? [];
    return count === undefined ? undefined : Number(count);
  } catch {
    return undefined;
  }
};

const parkedSamples = ({ parked, parkedInViews }: MetricSources): readonly Sample[] => [
  ...(parked ? [{ labels: { by: 'process' }, value: parked.all().length }] : []),
  ...(parkedInViews ? [{ labels: { by: 'views' }, value: parkedInViews() }] : []),
];

/**
 * Makes a function that reads the lag of each read model, in seconds. All have that of the views; one that is being
 * built has at least the time since this process first found it being built.
 */
export const viewLags = (
  { checks, building = () => [] }: Pick<MetricSources, 'checks' | 'building'>,
  now = () => performance.now(),
): (() => readonly Sample[]) => {
  let since: ReadonlyMap<string, number> = new Map();
  return () => {
    const atMs = now();
    since = new Map(building().map((name) => [name, since.get(name) ?? atMs]));
    const lag = lagOf(checks(), 'views');
    if (lag === undefined) return [];
    return models.map(({ collection: { name: model } }) => {
      const seenAt = since.get(model);
      return { labels: { model }, value: seenAt === undefined ? lag : Math.max(lag, (atMs - seenAt) / 1_000) };
    });
  };
};

const REACTOR_GAUGES = {
  reactorWaiting: ({ waiting }: WorkFigures) => waiting,
  reactorRetrying: ({ retrying }: WorkFigures) => retrying,
  reactorDead: ({ dead }: WorkFigures) => dead,
  reactorLag: ({ lagMs }: WorkFigures) => lagMs / 1_000,
} as const;

const measureReactors = (metrics: ProcessMetrics, { reactors = () => new Map() }: MetricSources): void => {
  for (const gauge of Object.keys(REACTOR_GAUGES) as (keyof typeof REACTOR_GAUGES)[])
    metrics.read(gauge, () =>
      [...reactors()].map(([reactor, figures]) => ({ labels: { reactor }, value: REACTOR_GAUGES[gauge](figures) })),
    );
};

const GROUP_GAUGES = {
  groupLag: ({ lag }: GroupFigures) => lag,
  groupInFlight: ({ inFlight }: GroupFigures) => inFlight,
  groupParked: ({ parked }: GroupFigures) => parked,
} as const;

const measureGroups = (metrics: ProcessMetrics, { groups }: MetricSources): void => {
  if (!groups) return;
  for (const gauge of Object.keys(GROUP_GAUGES) as (keyof typeof GROUP_GAUGES)[])
    metrics.read(gauge, async () =>
      (await groups()).map((figures) => {
        const { source: stream, group } = figures;
        return { labels: { stream, group }, value: GROUP_GAUGES[gauge](figures) };
      }),
    );
};

/** Registers the gauges of this process; they are read at each scrape. */
export const registerSources = (metrics: ProcessMetrics, { role }: Configuration, parts: MetricSources): void => {
  const { log, checks, sessions } = parts;
  metrics.read('build', () => [{ labels: { version, role: role.join(',') }, value: 1 }]);
  metrics.read('head', () => headOf(log));
  metrics.read('viewLag', viewLags(parts));
  metrics.read('exportLag', () => some(lagOf(checks(), 'export')));
  metrics.read('parked', () => parkedSamples(parts));
  metrics.read('checks', () => checks().map(({ name: check, state }) => ({ labels: { check }, value: STATES[state] })));
  measureReactors(metrics, parts);
  measureGroups(metrics, parts);
  metrics.read('threads', () => some(threads()));
  metrics.read('sessions', () => some(sessions?.cached().sessions));
  metrics.read('sessionBytes', () => some(sessions?.cached().bytes));
};
