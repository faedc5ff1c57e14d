import type { CatchUp, Overlap } from './due.js';

/** The settings of schedules that a launch plan may change by annotations. */
export type ScheduleSettings = { readonly catchUp: CatchUp; readonly overlap: Overlap };

const ANNOTATIONS = {
  policy: 'flightlog.io/schedule-catch-up',
  max: 'flightlog.io/schedule-catch-up-max',
  maxAge: 'flightlog.io/schedule-catch-up-max-age',
  overlap: 'flightlog.io/schedule-overlap',
} as const;

const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

const durationMs = (text: string | undefined): number | undefined => {
  const [, value, unit = ''] = /^(\d+)(ms|s|m|h|d)$/u.exec(text ?? '') ?? [];
  const size = UNITS_MS[unit];
  return value === undefined || size === undefined ? undefined : Number(value) * size;
};

const wholeNumber = (text: string | undefined): number | undefined =>
  text !== undefined && /^\d{1,9}$/u.test(text) ? Number(text) : undefined;

const oneOf = <Choice extends string>(choices: readonly Choice[], text: string | undefined): Choice | undefined =>
  choices.find((choice) => choice === text);

/**
 * The settings with the annotations of a launch plan applied. An invalid value is ignored. A duration is a whole number
 * with a unit: `500ms`, `30s`, `90m`, `24h` or `7d`.
 */
export const withAnnotations = (
  { catchUp, overlap }: ScheduleSettings,
  annotations: Readonly<Record<string, string>>,
): ScheduleSettings => ({
  catchUp: {
    policy: oneOf(['all', 'last', 'none'], annotations[ANNOTATIONS.policy]) ?? catchUp.policy,
    max: wholeNumber(annotations[ANNOTATIONS.max]) ?? catchUp.max,
    maxAgeMs: durationMs(annotations[ANNOTATIONS.maxAge]) ?? catchUp.maxAgeMs,
  },
  overlap: oneOf(['allow', 'skip', 'queue'], annotations[ANNOTATIONS.overlap]) ?? overlap,
});
