import type { FieldValue, Query } from '../kernel/read-store.js';

// The binding ends a text at its first NUL, and what clients send may hold one: so none is given to it. The escape is
// one to one and keeps the order.
const NUL = '\u0000';
const MARK = '\u0001';

/** A text as it stands in the file. */
export const storedText = (text: string): string =>
  text.includes(NUL) || text.includes(MARK) ? text.replaceAll(MARK, `${MARK}1`).replaceAll(NUL, `${MARK}0`) : text;

/** The text that stands in the file in this form. */
export const originalText = (stored: string): string =>
  stored.includes(MARK) ? stored.replaceAll(`${MARK}0`, NUL).replaceAll(`${MARK}1`, MARK) : stored;

/** A value as it stands in the file. */
export const storedValue = (value: FieldValue): FieldValue => (typeof value === 'string' ? storedText(value) : value);

/** The value that stands in the file in this form. */
export const originalValue = (stored: FieldValue): FieldValue =>
  typeof stored === 'string' ? originalText(stored) : stored;

/** A query for values as they stand in the file. */
export const storedQuery = (query: Query): Query => ({
  ...query,
  where: query.where.map((condition) => {
    if (condition.is === 'contains') return { ...condition, value: storedText(condition.value) };
    if ('values' in condition) return { ...condition, values: condition.values.map(storedValue) };
    return { ...condition, value: storedValue(condition.value) };
  }),
  ...(query.after && { after: { value: storedValue(query.after.value), key: storedText(query.after.key) } }),
});
