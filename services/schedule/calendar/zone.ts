const MS = 1_000;
const MINUTE_MS = 60 * MS;
const HOUR_MS = 60 * MINUTE_MS;

/** A time zone: its offset from UTC in milliseconds at an instant, in milliseconds since 1970. */
export type Zone = { readonly offsetAt: (instantMs: number) => number };

const OFFSET = /GMT(?:([+-])(\d\d):(\d\d)(?::(\d\d))?)?$/u;

const UTC: Zone = { offsetAt: () => 0 };

const QUARTER_MS = 15 * MINUTE_MS;
const MAX_REMEMBERED = 1_000;

/**
 * Caches the offset of each quarter of an hour: the formatter takes some microseconds for each instant. A quarter in
 * which clocks are set is not cached: some zones have set theirs at a minute past the hour.
 */
const remembered = ({ offsetAt }: Zone): Zone => {
  const offsets = new Map<number, number>();
  return {
    offsetAt: (instantMs) => {
      const quarter = Math.floor(instantMs / QUARTER_MS);
      const known = offsets.get(quarter);
      if (known !== undefined) return known;
      const offset = offsetAt(quarter * QUARTER_MS);
      if (offset !== offsetAt((quarter + 1) * QUARTER_MS - 1)) return offsetAt(instantMs);
      if (offsets.size >= MAX_REMEMBERED) offsets.clear();
      offsets.set(quarter, offset);
      return offset;
    },
  };
};

const formattedZone = (name: string): Zone => {
  const format = new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset' });
  if (format.resolvedOptions().timeZone === 'UTC') return UTC;
  return remembered({
    offsetAt: (instantMs) => {
      const [, sign = '+', hours = '0', minutes = '0', seconds = '0'] = OFFSET.exec(format.format(instantMs)) ?? [];
      const size = Number(hours) * HOUR_MS + Number(minutes) * MINUTE_MS + Number(seconds) * MS;
      return sign === '-' ? -size : size;
    },
  });
};

const zones = new Map<string, Zone>();
const MAX_ZONES = 200;

/**
 * Finds a zone by its name. Zones are cached, because making one takes about a third of a millisecond.
 *
 * @throws {RangeError} for a name that is not in the time zone database.
 */
export const zoneOf = (name: string): Zone => {
  const known = zones.get(name);
  if (known) return known;
  if (zones.size >= MAX_ZONES) zones.clear();
  const zone = formattedZone(name);
  zones.set(name, zone);
  return zone;
};

/**
 * Longest time by which clocks are set forward or back. A zone that skips a whole day, because it crosses the date
 * line, is not supported.
 */
export const LARGEST_CHANGE_MS = 4 * HOUR_MS;

/** The offsets before and after a change of clocks near a local time; both are equal when there is no change. */
const offsetsAround = (zone: Zone, wallMs: number): readonly [before: number, after: number] => {
  const near = wallMs - zone.offsetAt(wallMs);
  return [zone.offsetAt(near - LARGEST_CHANGE_MS), zone.offsetAt(near + LARGEST_CHANGE_MS)];
};

/**
 * The instants at which clocks show a local time, ascending: one; two when clocks set back show it twice; none when
 * clocks set forward skip it.
 *
 * @param wallMs the local time, as milliseconds since 1970 on a clock that shows it.
 */
export const instantsOf = (zone: Zone, wallMs: number): readonly number[] => {
  const instants = [...new Set(offsetsAround(zone, wallMs))].map((offset) => wallMs - offset);
  return instants.filter((instant) => instant + zone.offsetAt(instant) === wallMs).sort((a, b) => a - b);
};

/** The instant of a local time that clocks set forward skip, by the offset before the change: 02:30 becomes 03:30. */
export const instantInGap = (zone: Zone, wallMs: number): number => wallMs - offsetsAround(zone, wallMs)[0];
