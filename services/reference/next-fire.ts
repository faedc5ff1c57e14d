import { activeSegment } from '../schedule/calendar/segments.js';
import { nextTicks, segmentTicks } from '../schedule/calendar/ticks.js';
import type { Activations } from './activations.js';

/** A version of a launch plan. */
type VersionId = {
  readonly project: string;
  readonly domain: string;
  readonly name: string;
  readonly version: string;
};

/**
 * Makes the function that tells when a version of a launch plan fires next, in milliseconds since 1970. It answers from
 * memory, so that a page of launch plans costs no reads: some milliseconds behind the log, and further behind while a
 * process that has just started folds what was recorded before. Its answer is `undefined` for a version that is not
 * active, has no schedule, or has one that never fires or that registration refuses today; also while the schedule is
 * paused, and while the project is not active.
 */
export const nextFire =
  (activations: Activations, { timezone, now }: { readonly timezone: string; readonly now: () => number }) =>
  (id: VersionId): number | undefined => {
    const active = activeSegment(activations.of(id));
    if (active?.schedule === undefined || active.version !== id.version) return undefined;
    const archival = activations.archived(id.project).at(-1);
    const { isPaused, skips } = activations.holds(id);
    if (isPaused || (archival !== undefined && archival.untilMs === undefined)) return undefined;
    try {
      return nextTicks(segmentTicks(active, timezone), Math.max(active.fromMs, now()), 1, skips)[0];
    } catch {
      return undefined; // an expression of an older release that registration refuses today
    }
  };
