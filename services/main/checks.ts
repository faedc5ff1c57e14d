import { BEYOND } from '../../projections/runtime/partitions.js';
import type { ReadStore } from '../../projections/runtime/read-store.js';
import type { Views } from '../../projections/runtime/views.js';
import type { Check, CheckState } from '../gateway/readiness.js';
import type { EventLog } from '../kernel/ports/event-store.js';
import type { ParkedStreams } from '../kernel/parked-streams.js';
import { headLag, type HeadLag } from './head-lag.js';

/** Views that are further behind are not what a load balancer, or a rollout, should count on. */
const MAX_VIEWS_LAG_MS = 5_000;

/** Between two questions to the read store. */
const ASK_EVERY_MS = 1_000;

/** The checks that there are. */
export const said = (checks: readonly (Check | undefined)[]): readonly Check[] =>
  checks.filter((check) => check !== undefined);

/** How somebody is who follows the log: well within so many milliseconds. */
export const lagCheck = (
  name: string,
  lag: HeadLag,
  { maxMs, otherwise }: { readonly maxMs: number; readonly otherwise: CheckState },
): Check => {
  const lagMs = Math.round(lag.ms());
  if (lagMs <= maxMs) return { name, state: 'well', lagMs };
  const trouble = lag.trouble();
  return { name, state: otherwise, why: trouble ?? `it is more than ${maxMs} ms behind the log`, lagMs };
};

/** How the views are: by how far they are behind, and by why they cannot be written. */
export const viewsCheck = (lag: HeadLag, trouble: string | undefined, otherwise: CheckState): Check => {
  const check = lagCheck('views', lag, { maxMs: MAX_VIEWS_LAG_MS, otherwise });
  return trouble === undefined ? check : { ...check, state: otherwise, why: trouble };
};

/** A log that has not said for so long where its head is cannot be read. */
const MAX_LOG_SILENCE_MS = 5_000;

/** Watches a log of this process's own: whether it can be read. */
export const watchLog = (log: Pick<EventLog, 'head'>): { readonly check: () => Check; readonly close: () => void } => {
  const lag = headLag(log, () => BEYOND); // what counts is that there is an answer
  return { check: () => lagCheck('log', lag, { maxMs: MAX_LOG_SILENCE_MS, otherwise: 'down' }), close: lag.close };
};

/** How many names of streams a check has room for. */
const MAX_NAMED = 3;

const counted = (what: string, count: number, names: readonly string[]): string => {
  const some = names.slice(0, MAX_NAMED).join(', ');
  const list = names.length > MAX_NAMED ? `${some}, …` : some;
  return `streams that ${what}: ${count}${list && ` (${list})`}`;
};

/** Parked streams, as the views have them and as this process has found them; all other streams are served. */
export const parkedCheck = (
  inViews: { readonly count: number; readonly names?: readonly string[] },
  here: Pick<ParkedStreams, 'all'>,
): Check => {
  const names = here.all().map(({ stream }) => stream);
  const found = [
    ...(inViews.count > 0 ? [counted('the views have set aside', inViews.count, inViews.names ?? [])] : []),
    ...(names.length > 0 ? [counted('this process cannot read', names.length, names)] : []),
  ];
  if (found.length === 0) return { name: 'parked', state: 'well' };
  return { name: 'parked', state: 'degraded', why: found.join('; ') };
};

/** What is said of the views by a process that serves without them what does not need them. */
export type ViewsWatch = {
  readonly checks: () => readonly Check[];
  /** How many streams the views have parked. */
  readonly parked: () => number;
  readonly close: () => Promise<void>;
};

/**
 * Watches the views and where they are kept. A process that serves the interface is ready without them: it takes
 * commands, and says of a read that needs them that they are not there.
 */
export const watchViews = (
  log: Pick<EventLog, 'head'>,
  {
    views,
    readStore,
    parked: here,
  }: { readonly views: Views; readonly readStore: ReadStore; readonly parked: ParkedStreams },
): ViewsWatch => {
  const lag = headLag(log, () => views.position());
  let trouble: string | undefined;
  let parked: readonly string[] = [];
  let asking = Promise.resolve();
  const ask = async (): Promise<void> => {
    try {
      parked = (await readStore.parked()).map(({ stream }) => stream); // cheap, and asked of where the views are
      trouble = undefined;
    } catch (error) {
      trouble = error instanceof Error ? error.message : String(error);
    }
  };
  let isAsking = false;
  const timer = setInterval(() => {
    if (isAsking) return;
    isAsking = true;
    asking = ask().finally(() => (isAsking = false));
  }, ASK_EVERY_MS);
  timer.unref();
  const store = (): Check =>
    trouble === undefined
      ? { name: 'read-store', state: 'well' }
      : { name: 'read-store', state: 'degraded', why: trouble };
  return {
    checks: () => [
      store(),
      viewsCheck(lag, undefined, 'degraded'),
      parkedCheck({ count: parked.length, names: parked }, here),
    ],
    parked: () => parked.length,
    close: async () => {
      clearInterval(timer);
      lag.close();
      await asking;
    },
  };
};
