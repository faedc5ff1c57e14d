import type { LaunchPlanName } from '../../../../services/kernel/identifier.js';
import {
  berlin,
  DAY,
  daily,
  every,
  hourly,
  leapDay,
  MINUTE,
  type ModelSchedule,
  monthly,
  type Policy,
  weekly,
} from './model.js';

export type Size = { readonly plans: number; readonly days: number; readonly kills: number };

/** An act of a person, and when. */
export type Act =
  | { readonly atMs: number; readonly plan: LaunchPlanName; readonly version: string; readonly schedule: ModelSchedule }
  | { readonly atMs: number; readonly plan: LaunchPlanName; readonly version: undefined }
  | { readonly atMs: number; readonly project: string; readonly isArchived: boolean };

/** A process is killed after `steps` steps from a time on, and another process starts about `downMs` later. */
export type Kill = { readonly atMs: number; readonly steps: number; readonly downMs: number };

/** Numbers from 0 up to 1 (mulberry32). */
const numbers = (seed: number) => {
  let state = seed | 0;
  return (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
};

const PROJECTS = ['p0', 'p1', 'p2'];

/**
 * A story made from a seed. Cron ticks are at full minutes, executions end at half minutes, processes start at the 15th
 * second and people act between the 31st and the 44th: so no result depends on a few milliseconds.
 */
export const storyOf = (seed: number, startMs: number, { plans: count, days, kills: killCount }: Size) => {
  const random = numbers(seed);
  /** A whole number from 0 up to and without `max`. */
  const below = (max: number): number => Math.floor(random() * max);
  const oneOf = <Choice>(choices: readonly Choice[]): Choice => choices[below(choices.length)]!;
  const minuteMs = (): number => startMs + below(days * 24 * 60) * MINUTE;
  /** The time at which a person acts. */
  const actMs = (): number => minuteMs() + (31 + below(14)) * 1_000;

  /** A plan that fires each hour has most of the ticks: of many plans, about twelve do. */
  const isHourly = (): boolean => below(Math.max(8, count / 12)) === 0;
  const schedule = (): ModelSchedule => (isHourly() ? hourly(5 * below(12)) : rarer());
  const rarer = (): ModelSchedule =>
    oneOf([
      () => daily(below(24), 15 * below(4)),
      () => daily(below(24), 15 * below(4)),
      () => weekly(below(7), below(24)),
      () => monthly(1 + below(31), below(24)),
      () => leapDay(below(24)),
      () => berlin(4 + below(20), 15 * below(4)),
      () => every(60 * (1 + below(40))),
    ])();
  const policy = (): Policy => ({
    catchUp: {
      policy: oneOf(['all', 'last', 'none'] as const),
      max: 1 + below(20),
      maxAgeMs: oneOf([2 * 60 * MINUTE, DAY, 7 * DAY]),
    },
    overlap: oneOf(['allow', 'skip', 'queue'] as const),
    takes: oneOf([1, 20, 50, 90]),
  });

  const plans = Array.from({ length: count }, (_, index): LaunchPlanName => {
    return { project: PROJECTS[index % PROJECTS.length]!, domain: 'd', name: `plan-${index}` };
  });
  const policies = new Map(plans.map(({ name }) => [name, policy()]));
  const first = plans.map((plan): Act => ({ atMs: startMs + 31_000, plan, version: 'v0', schedule: schedule() }));
  const later = plans.flatMap((plan) =>
    Array.from({ length: 1 + below(4) }, (_, index): Act => {
      const atMs = actMs();
      return below(3) === 0
        ? { atMs, plan, version: undefined }
        : { atMs, plan, version: `v${index + 1}`, schedule: schedule() };
    }),
  );
  // A process decides the ticks of an archived project when the project is restored, the model as the ticks come.
  const lastMs = startMs + days * DAY - MINUTE + 44_000;
  const archivals = PROJECTS.flatMap((project) =>
    Array.from({ length: Math.ceil(days / 60) }, (): Act[] => {
      const atMs = actMs();
      return [
        { atMs, project, isArchived: true },
        { atMs: Math.min(atMs + below(4 * 24 * 60) * MINUTE, lastMs), project, isArchived: false },
      ];
    }).flat(),
  );
  const acts = [...first, ...later, ...archivals].sort((a, b) => a.atMs - b.atMs);
  const kills = Array.from({ length: killCount }, (): Kill => {
    return { atMs: minuteMs(), steps: below(20), downMs: oneOf([1, 2, 30, 180, 1_440, 4_320]) * MINUTE };
  }).sort((a, b) => a.atMs - b.atMs);
  return { plans, policies, acts, kills };
};

export type Story = ReturnType<typeof storyOf>;
