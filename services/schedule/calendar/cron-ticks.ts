import { CronPattern } from 'croner';
import { fieldsForCroner } from '../../kernel/values/cron-fields.js';
import { instantInGap, instantsOf, LARGEST_CHANGE_MS, type Zone } from './zone.js';

export interface Ticks {
  /** The first tick after an instant, both in milliseconds since 1970; `undefined` when there is none. */
  after(instantMs: number): number | undefined;
}

const HOUR_FIELD = 1;
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** The longest time between two ticks: 29 February is missing in 2100. */
const LONGEST_MS = 8 * 366 * DAY_MS;

/** The times of a day that fields match, in milliseconds, ascending. */
const timesOfDay = ({ hour, minute }: CronPattern): readonly number[] =>
  hour.flatMap((isHour, h) => minute.flatMap((isMinute, m) => (isHour && isMinute ? [(h * 60 + m) * MINUTE_MS] : [])));

// For `robfig/cron` a step of 1 changes nothing: `*/1` is `*`. For the library it is a restriction.
const isAny = (field: string | undefined): boolean =>
  field?.split(',').some((each) => /^\*(?:\/1)?$/u.test(each)) ?? false;

/**
 * Makes the check whether five fields match a date. Of day of month and day of week both must match where one of them
 * is any day; otherwise one that matches is enough.
 */
const dayCheck = (fields: string, { day, dayOfWeek }: CronPattern): ((date: Date) => boolean) => {
  const [, , dayOfMonth, , weekday] = fields.split(' ');
  const mustBothMatch = isAny(dayOfMonth) || isAny(weekday);
  return (date) => {
    const isDate = day[date.getUTCDate() - 1] !== 0;
    const isWeekday = dayOfWeek[date.getUTCDay()] !== 0;
    return mustBothMatch ? isDate && isWeekday : isDate || isWeekday;
  };
};

/**
 * Gives the first local time that fields match after another one, as milliseconds since 1970 on a clock that shows it.
 * The library reads the fields and does not search: after a month that has no 30th, its search misses the 1st.
 */
const wallTimes = (fields: string) => {
  const pattern = new CronPattern(fields);
  const times = timesOfDay(pattern);
  const isDay = dayCheck(fields, pattern);
  return (wallMs: number): number | undefined => {
    const date = new Date(Math.floor(wallMs / DAY_MS) * DAY_MS);
    const lastMs = wallMs + LONGEST_MS;
    while (date.getTime() <= lastMs) {
      const time = isDay(date) && times.find((each) => date.getTime() + each > wallMs);
      if (pattern.month[date.getUTCMonth()] === 0) date.setUTCMonth(date.getUTCMonth() + 1, 1);
      else if (time === undefined || time === false) date.setUTCDate(date.getUTCDate() + 1);
      else return date.getTime() + time;
    }
    return undefined;
  };
};

/**
 * The ticks of five cron fields in a time zone. Where clocks change, the hour field decides: if it begins with `*`, a
 * matching local hour that occurs twice has its ticks twice, and one that is left out has none. Otherwise a schedule
 * ticks once for each local time: at its first occurrence, and at the time by the old clock when it is left out. ADR 50
 * says how Vixie cron differs.
 */
export const cronTicks = (text: string, zone: Zone): Ticks => {
  const fields = fieldsForCroner(text);
  const nextWall = wallTimes(fields);
  const everyHour = fields.split(' ')[HOUR_FIELD]?.startsWith('*') ?? false;

  const ticksAt = (wallMs: number): readonly number[] => {
    const instants = instantsOf(zone, wallMs);
    if (everyHour) return instants;
    return instants.length === 0 ? [instantInGap(zone, wallMs)] : instants.slice(0, 1);
  };

  /** Looks at all local times around a change of clocks, because their instants are not in their order. */
  const searched = (instantMs: number): number | undefined => {
    let best: number | undefined;
    let wall = nextWall(instantMs + zone.offsetAt(instantMs) - 2 * LARGEST_CHANGE_MS);
    while (wall !== undefined && (best === undefined || wall <= best + zone.offsetAt(best) + LARGEST_CHANGE_MS)) {
      for (const tick of ticksAt(wall)) if (tick > instantMs && (best === undefined || tick < best)) best = tick;
      wall = nextWall(wall);
    }
    return best;
  };

  return {
    after: (instantMs) => {
      const offset = zone.offsetAt(instantMs);
      const wall = nextWall(instantMs + offset);
      if (wall === undefined) return undefined;
      const tick = wall - offset;
      const isPlain =
        zone.offsetAt(instantMs - LARGEST_CHANGE_MS) === offset &&
        zone.offsetAt(instantMs + LARGEST_CHANGE_MS) === offset &&
        zone.offsetAt(tick) === offset &&
        zone.offsetAt(tick + LARGEST_CHANGE_MS) === offset;
      return isPlain ? tick : searched(instantMs);
    },
  };
};
