/** One of the five fields of a cron expression. */
type FieldKind = {
  readonly unit: string;
  readonly least: number;
  readonly greatest: number;
  /** Names of the numbers from `least` on. */
  readonly names: readonly string[];
};

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
/** Sunday is 0 and 7, so that a range can end with it. */
const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];

const KINDS: readonly FieldKind[] = [
  { unit: 'minute', least: 0, greatest: 59, names: [] },
  { unit: 'hour', least: 0, greatest: 23, names: [] },
  { unit: 'day of the month', least: 1, greatest: 31, names: [] },
  { unit: 'month', least: 1, greatest: 12, names: MONTHS },
  { unit: 'day of the week', least: 0, greatest: 7, names: WEEKDAYS },
];

/** A part of a field, which is a list of parts: any value, a value or a range, each with a step or without. */
const PART = /^(?:[*?]|([0-9a-z]+)(?:-([0-9a-z]+))?)(?:\/(\d+))?$/iu;

const fieldsOf = (text: string): readonly string[] => text.trim().split(/\s+/u);

/**
 * The number that a text stands for, or `NaN`. The last index of a name is for the end of a range: Sunday is then 7.
 */
const numberOf = ({ least, names }: FieldKind, text: string, which: 'indexOf' | 'lastIndexOf'): number => {
  if (/^\d+$/u.test(text)) return Number(text);
  const index = names[which](text.toLowerCase());
  return index < 0 ? Number.NaN : least + index;
};

const rangeProblem = (kind: FieldKind, part: string, [from, to]: readonly [string, string]): string | undefined => {
  const first = numberOf(kind, from, 'indexOf');
  const last = from === to ? first : numberOf(kind, to, 'lastIndexOf');
  const { unit, least, greatest } = kind;
  if (Number.isNaN(first + last)) return `failed to parse [${part}] in the field of the ${unit}`;
  if (Math.min(first, last) < least || Math.max(first, last) > greatest)
    return `${part} is outside of ${least} to ${greatest} in the field of the ${unit}`;
  return first > last ? `beginning of range is beyond its end: ${part}` : undefined;
};

const partProblem = (kind: FieldKind, part: string): string | undefined => {
  const [whole, from, to = from, step] = PART.exec(part) ?? [];
  if (whole === undefined) return `failed to parse [${part}] in the field of the ${kind.unit}`;
  if (Number(step) === 0) return `step of range should be a positive number: ${part}`;
  return from === undefined || to === undefined ? undefined : rangeProblem(kind, part, [from, to]);
};

/**
 * Checks the fields of a cron expression: numbers and names, with lists, ranges and steps.
 *
 * @returns the problem; `undefined` when there is none.
 */
export const cronFieldsProblem = (text: string): string | undefined => {
  const fields = fieldsOf(text);
  if (fields.length !== KINDS.length)
    return `expected exactly ${KINDS.length} fields, found ${fields.length}: [${text}]`;
  for (const [index, kind] of KINDS.entries()) {
    for (const part of fields[index]?.split(',') ?? []) {
      const problem = partProblem(kind, part);
      if (problem !== undefined) return problem;
    }
  }
  return undefined;
};

/** The number of values of each field; Sunday counts once. */
const COUNTS = [60, 24, 31, 12, 7];

/**
 * The fields, rewritten so that `croner` reads them as clients mean them. By `?`, clients mean any time, and `croner`
 * the time at which it reads the text. It refuses a step above the number of values of a field, which leaves only the
 * first value, and takes `SUN-SUN` for the whole week.
 */
export const fieldsForCroner = (text: string): string =>
  fieldsOf(text.replaceAll('?', '*').replaceAll(/\bsun-sun\b/giu, '0-0'))
    .map((field, index) =>
      field.replaceAll(/\/(\d+)/gu, (_, step: string) => `/${Math.min(Number(step), COUNTS[index] ?? 1)}`),
    )
    .join(' ');
