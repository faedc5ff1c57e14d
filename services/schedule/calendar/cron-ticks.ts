import { Cron } from 'croner';
import { instantInGap, instantsOf, LARGEST_CHANGE_MS, type Zone } from './zone.js';

/** The ticks of a schedule. */
export interface Ticks {
  /** The first tick after an instant, both in milliseconds since 1970; `undefined` when there is none. */
  after(instantMs: number): number | undefined;
}

const HOUR_FIELD = 1;

/** Gives the local times that fields match, in order. The clock of the library is set to UTC and shows local time. */
const wallTimes = (fields: string) => {
  const cron = new Cron(fields, { paused: true, utcOffset: 0 });
  return (wallMs: number): number | undefined => cron.nextRun(new Date(wallMs))?.getTime();
};

/**
 * The ticks of five cron fields in a time zone. Where clocks change, it does as Vixie cron does: a schedule for every
 * hour follows elapsed time, so a local hour that occurs twice has its ticks twice, and one that is left out has none.
 * A schedule for chosen hours ticks once for each local time: at its first occurrence, and at the time by the old clock
 * when it is left out.
 */
export const cronTicks = (fields: string, zone: Zone): Ticks => {
  const nextWall = wallTimes(fields);
  const everyHour = fields.trim().split(/\s+/u)[HOUR_FIELD]?.startsWith('*') ?? false;

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
        zone.offsetAt(tick) === offset &&
        zone.offsetAt(tick + LARGEST_CHANGE_MS) === offset;
      return isPlain ? tick : searched(instantMs);
    },
  };
};
