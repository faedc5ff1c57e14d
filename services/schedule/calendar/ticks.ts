import { FixedRateUnit, type Schedule } from '../../../proto/gen/platformidl/admin/schedule_pb.js';
import { cronTicks, type Ticks } from './cron-ticks.js';
import { zoneOf } from './zone.js';

const FIRST_MS = Date.parse('0001-01-01T00:00:00Z');
const LAST_MS = Date.parse('9999-12-31T23:59:59.999Z');

/** True for an instant in milliseconds since 1970 of the years 1 to 9999, which a timestamp of protobuf can have. */
export const isTimestamp = (instantMs: number): boolean => instantMs >= FIRST_MS && instantMs <= LAST_MS;

const ZONE = /^(?:CRON_TZ|TZ)=(\S+)\s+/u;

/** The five fields of each descriptor, such as `@hourly`, and of each alias, such as `hourly` and `hours`. */
const FIELDS_OF: ReadonlyMap<string, string> = new Map(
  Object.entries({
    '0 0 1 1 *': ['@yearly', '@annually', 'yearly', 'annually', 'years'],
    '0 0 1 * *': ['@monthly', 'monthly', 'months'],
    '0 0 * * 0': ['@weekly', 'weekly', 'weeks'],
    '0 0 * * *': ['@daily', '@midnight', 'daily', 'days'],
    '0 * * * *': ['@hourly', 'hourly', 'hours'],
  }).flatMap(([fields, names]) => names.map((name) => [name, fields] as const)),
);

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

const GO_UNITS_MS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: SECOND_MS,
  m: MINUTE_MS,
  h: HOUR_MS,
};

const RATE_UNITS_MS: Readonly<Record<FixedRateUnit, number>> = {
  [FixedRateUnit.MINUTE]: MINUTE_MS,
  [FixedRateUnit.HOUR]: HOUR_MS,
  [FixedRateUnit.DAY]: 24 * HOUR_MS,
};

const NEVER: Ticks = { after: () => undefined };

/** A Go duration such as `1h30m`, in milliseconds. */
const goDurationMs = (text: string): number =>
  [...text.matchAll(/(\d+\.?\d*|\.\d+)(ns|us|µs|μs|ms|s|m|h)/gu)].reduce(
    (sum, [, value = '0', unit = 's']) => sum + Number(value) * (GO_UNITS_MS[unit] ?? 0),
    0,
  );

/** Whole seconds, as executions are named by the second; never less than one. */
const wholeSeconds = (ms: number): number => Math.max(1, Math.floor(ms / SECOND_MS)) * SECOND_MS;

/** Ticks at a fixed distance. The first one is one distance after the anchor, which is no tick itself. */
const everyMs = (distanceMs: number, anchorMs: number): Ticks => {
  const start = Math.floor(anchorMs / SECOND_MS) * SECOND_MS;
  const distance = wholeSeconds(distanceMs);
  return {
    after: (instantMs) => {
      const tick = start + Math.max(1, Math.floor((instantMs - start) / distance) + 1) * distance;
      return isTimestamp(tick) ? tick : undefined;
    },
  };
};

const cronText = (schedule: Schedule): string => {
  const { ScheduleExpression: expression } = schedule;
  // oxlint-disable-next-line typescript/no-deprecated -- clients in the field still send it
  if (expression.case === 'cronExpression') return expression.value;
  return expression.case === 'cronSchedule' ? expression.value.schedule : '';
};

const textTicks = (expression: string, anchorMs: number, defaultZone: string): Ticks => {
  const zone = ZONE.exec(expression);
  const text = expression.slice(zone?.[0].length ?? 0).trim();
  if (text === '') return NEVER;
  if (text.startsWith('@every ')) return everyMs(goDurationMs(text.slice('@every '.length)), anchorMs);
  return cronTicks(FIELDS_OF.get(text) ?? text, zoneOf(zone?.[1] ?? defaultZone));
};

/**
 * The ticks of a schedule; none for one that does not fire.
 *
 * @param anchorMs when the schedule was activated, in milliseconds since 1970: rates and `@every` count from there.
 * @param defaultZone the time zone of an expression that names none.
 * @throws {Error} for cron fields or a time zone that registration would refuse, such as those of an older release.
 */
export const ticksOf = (schedule: Schedule, anchorMs: number, defaultZone: string): Ticks => {
  const { ScheduleExpression: expression } = schedule;
  if (expression.case !== 'rate') return textTicks(cronText(schedule), anchorMs, defaultZone);
  const { value, unit } = expression.value;
  return value === 0 ? NEVER : everyMs(value * RATE_UNITS_MS[unit], anchorMs);
};

/**
 * The ticks of the schedule that was activated with a segment; none where the version has no schedule.
 *
 * @throws {Error} as {@link ticksOf}.
 */
export const segmentTicks = (
  { schedule, fromMs }: { readonly schedule: Schedule | undefined; readonly fromMs: number },
  defaultZone: string,
): Ticks => (schedule === undefined ? NEVER : ticksOf(schedule, fromMs, defaultZone));

/** At most `count` ticks after an instant, without those in `skips`, ascending; all in milliseconds since 1970. */
export const nextTicks = (
  ticks: Ticks,
  instantMs: number,
  count: number,
  skips: readonly number[] = [],
): readonly number[] => {
  const found: number[] = [];
  for (let tick = ticks.after(instantMs); tick !== undefined && found.length < count; tick = ticks.after(tick))
    if (!skips.includes(tick)) found.push(tick);
  return found;
};
