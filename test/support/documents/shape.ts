/** A placeholder for a value, for the rest of an object or a list, or for any number of lines. */
const ELLIPSIS = '…';

/** The forms of values that differ from run to run: a real value needs only the form of the one shown. */
const FORMS = [/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z$/u, /^\d+(?:\.\d+)?s$/u];

/** True for equal texts, and for times and durations. */
const textFits = (shown: string, real: string): boolean =>
  shown === real || FORMS.some((form) => form.test(shown) && form.test(real));

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The first misfit in an object; `…` in the one shown stands for any further fields. */
const recordMisfit = (shown: Record<string, unknown>, real: unknown, path: string): string | undefined => {
  if (!isRecord(real)) return `${path} is no object`;
  const { [ELLIPSIS]: rest, ...keys } = shown;
  const unshown = Object.keys(real).filter((key) => !(key in keys));
  if (rest === undefined && unshown.length > 0) return `${path} does not show ${unshown.join(', ')}`;
  return Object.entries(keys)
    .map(([key, value]) => (key in real ? misfit(value, real[key], `${path}.${key}`) : `${path}.${key} is not there`))
    .find((each) => each !== undefined);
};

/** The first misfit in a list; `…` in the one shown stands for any further items. */
const listMisfit = (shown: readonly unknown[], real: unknown, path: string): string | undefined => {
  if (!Array.isArray(real)) return `${path} is no list`;
  const items = shown.filter((each) => each !== ELLIPSIS);
  const isWhole = items.length === shown.length;
  if (isWhole ? real.length !== items.length : real.length < items.length) return `${path} has ${real.length} items`;
  return items.map((each, index) => misfit(each, real[index], `${path}[${index}]`)).find((each) => each !== undefined);
};

/** True when a value that is no object or list fits the one shown: any number fits a number. */
const isAlike = (shown: unknown, real: unknown): boolean => {
  if (typeof shown === 'number') return typeof real === 'number';
  return typeof shown === 'string' && typeof real === 'string' ? textFits(shown, real) : shown === real;
};

/**
 * The path and reason where a JSON value differs from the one shown, whose numbers, times and durations are examples;
 * `undefined` when it does not.
 */
export const misfit = (shown: unknown, real: unknown, path = '$'): string | undefined => {
  if (shown === ELLIPSIS) return undefined;
  if (Array.isArray(shown)) return listMisfit(shown, real, path);
  if (isRecord(shown)) return recordMisfit(shown, real, path);
  return isAlike(shown, real) ? undefined : `${path} is ${JSON.stringify(real)}`;
};

/**
 * True when a text has the lines shown, in order, with other lines between them only where `…` is; lines may precede
 * and follow them.
 */
export const showsLines = (shown: string, real: string): boolean => {
  const pattern = shown
    .split('\n')
    .map((line) =>
      line === ELLIPSIS ? '(?:.*\\n)*' : `${line.replaceAll(/[.*+?^${}()|[\]\\/]/gu, String.raw`\$&`)}\\n`,
    )
    .join('');
  return new RegExp(`^${pattern}`, 'mu').test(`${real}\n`);
};
