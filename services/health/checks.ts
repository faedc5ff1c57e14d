import { MAX_POSITION } from '../../projections/runtime/partitions.js';
import type { ReadStore } from '../../projections/runtime/read-store.js';
import type { Views } from '../../projections/runtime/views.js';
import type { Check, CheckState } from '../gateway/readiness.js';
import type { EventLog } from '../kernel/ports/event-store.js';
import { NEWEST_FORMAT, newerFormatText } from '../kernel/log-format.js';
import type { ParkedStreams } from '../kernel/log-readers/parked-streams.js';
import { headLag, type HeadLag } from './head-lag.js';
import { errorText } from '../kernel/error-text.js';

/** Above this lag the views are not well: a process that serves the interface is degraded, any other is not ready. */
const MAX_VIEWS_LAG_MS = 5_000;

/** The interval between two queries of the read store. */
const READ_EVERY_MS = 1_000;

/** The checks that are defined, in their order. */
export const presentChecks = (checks: readonly (Check | undefined)[]): readonly Check[] =>
  checks.filter((check) => check !== undefined);

/** The check is down when the log has a newer format than this release writes, because it must not write then. */
const formatCheck = (format: number): Check | undefined =>
  format <= NEWEST_FORMAT ? undefined : { name: 'log-format', state: 'down', why: newerFormatText(format) };

/** A log, which may be a copy of another. */
type PossibleCopy = Pick<EventLog, 'copyOf'>;

/**
 * The sentence that says what a copy of a log does not do, and how that ends; `undefined` for a log that is no copy.
 */
export const copyNotice = ({ copyOf }: PossibleCopy): string | undefined =>
  copyOf === undefined
    ? undefined
    : `this log is a copy of ${copyOf}: schedules do not fire and notifications are not sent until \`flightlog log take-over\``;

/** The check of a log that is a copy; it does not keep the process from being ready. */
const copyCheck = (log: PossibleCopy): Check | undefined => {
  const notice = copyNotice(log);
  return notice === undefined ? undefined : { name: 'log-copy', state: 'degraded', why: notice };
};

/** The checks of the log itself: its format, and that it is a copy of another log. */
export const logChecks = (
  log: PossibleCopy,
  { format }: { readonly format: () => number },
): readonly (Check | undefined)[] => [formatCheck(format()), copyCheck(log)];

/**
 * Health of a log subscriber, judged by its lag: `well` up to `maxMs`. Above it the state is `otherwise`, or `down` if
 * the log ends before the position that this process has read: a log that has lost its end must not be written to.
 */
export const lagCheck = (
  name: string,
  lag: HeadLag,
  { maxMs, otherwise }: { readonly maxMs: number; readonly otherwise: CheckState },
): Check => {
  const lagMs = Math.round(lag.ms());
  if (lagMs <= maxMs) return { name, state: 'well', lagMs };
  const problem = lag.problem();
  return {
    name,
    state: lag.endsEarly() ? 'down' : otherwise,
    why: problem ?? `more than ${maxMs} ms behind the log`,
    lagMs,
  };
};

/**
 * Health of the views, judged by their lag and by `problem`, the reason why they cannot be written, if any. Views that
 * are being built are not well either.
 */
export const viewsCheck = (
  lag: HeadLag,
  { problem, building }: { readonly problem?: string | undefined; readonly building: readonly string[] },
  otherwise: CheckState,
): Check => {
  const check = lagCheck('views', lag, { maxMs: MAX_VIEWS_LAG_MS, otherwise });
  if (problem !== undefined) return { ...check, state: otherwise, why: problem };
  if (check.state !== 'well' || building.length === 0) return check;
  return { ...check, state: otherwise, why: `being built from the log: ${building.join(', ')}` };
};

/** A log whose head could not be read for this long counts as unreadable. */
const MAX_LOG_SILENCE_MS = 5_000;

/**
 * Watches whether the log answers with its head. In the process that writes an embedded log, the head is in memory, and
 * this is always well.
 */
export const watchLog = (log: Pick<EventLog, 'head'>): { readonly check: () => Check; readonly close: () => void } => {
  const lag = headLag(log, () => MAX_POSITION); // only whether `head` answers counts
  return { check: () => lagCheck('log', lag, { maxMs: MAX_LOG_SILENCE_MS, otherwise: 'down' }), close: lag.close };
};

/** A check names at most this many streams. */
const MAX_NAMED = 3;

const counted = (condition: string, count: number, names: readonly string[]): string => {
  const some = names.slice(0, MAX_NAMED).join(', ');
  const list = names.length > MAX_NAMED ? `${some}, …` : some;
  return `streams that ${condition}: ${count}${list && ` (${list})`}`;
};

/**
 * Degraded while streams are parked, in the views (`inViews`) or because this process cannot read them (`inProcess`).
 * All other streams are served.
 */
export const parkedCheck = (
  inViews: { readonly count: number; readonly names?: readonly string[] },
  inProcess: Pick<ParkedStreams, 'all'>,
): Check => {
  const names = inProcess.all().map(({ stream }) => stream);
  const found = [
    ...(inViews.count > 0 ? [counted('the views have parked', inViews.count, inViews.names ?? [])] : []),
    ...(names.length > 0 ? [counted('this process cannot read', names.length, names)] : []),
  ];
  if (found.length === 0) return { name: 'parked', state: 'well' };
  return { name: 'parked', state: 'degraded', why: found.join('; ') };
};

/** Health of the views in a process that serves the interface. Views that are behind or unreachable only degrade it. */
export type ViewsWatch = {
  readonly checks: () => readonly Check[];
  /** The number of streams that the views have parked. */
  readonly parked: () => number;
  readonly close: () => Promise<void>;
};

/**
 * Watches the views and their read store. A process that serves the interface is ready without them: it takes commands,
 * and refuses the reads that need them.
 */
export const watchViews = (
  log: Pick<EventLog, 'head'>,
  {
    views,
    readStore,
    parked: inProcess,
  }: { readonly views: Views; readonly readStore: ReadStore; readonly parked: ParkedStreams },
): ViewsWatch => {
  const lag = headLag(log, () => views.position());
  let problem: string | undefined;
  let parked: readonly string[] = [];
  let readingParked = Promise.resolve();
  const readParked = async (): Promise<void> => {
    try {
      const streams = (await readStore.parked()).map(({ stream }) => stream); // cheap, and probes the read store
      parked = [...new Set(streams)];
      problem = undefined;
    } catch (error) {
      problem = errorText(error);
    }
  };
  let isReading = false;
  const timer = setInterval(() => {
    if (isReading) return;
    isReading = true;
    readingParked = readParked().finally(() => (isReading = false));
  }, READ_EVERY_MS);
  timer.unref();
  const store = (): Check =>
    problem === undefined
      ? { name: 'read-store', state: 'well' }
      : { name: 'read-store', state: 'degraded', why: problem };
  return {
    checks: () => [
      store(),
      viewsCheck(lag, { building: views.building() }, 'degraded'),
      parkedCheck({ count: parked.length, names: parked }, inProcess),
    ],
    parked: () => parked.length,
    close: async () => {
      clearInterval(timer);
      lag.close();
      await readingParked;
    },
  };
};
