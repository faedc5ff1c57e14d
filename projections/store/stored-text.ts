import type { Condition, FieldType, FieldValue, Query } from '../runtime/read-store.js';

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
const storedValue = (value: FieldValue): FieldValue => (typeof value === 'string' ? storedText(value) : value);

/** The value that stands in the file in this form. */
export const originalValue = (stored: FieldValue): FieldValue =>
  typeof stored === 'string' ? originalText(stored) : stored;

/** The stored form of the texts in pairs. */
const storedPairs = (pairs: string): string =>
  JSON.stringify((JSON.parse(pairs) as string[][]).map((pair) => pair.map(storedText)));

const originalPairs = (stored: string): string =>
  JSON.stringify((JSON.parse(stored) as string[][]).map((pair) => pair.map(originalText)));

/** The value of a field of this type as it stands in the file. */
export const storedField = (type: FieldType | undefined, value: FieldValue): FieldValue =>
  type === 'pairs' && typeof value === 'string' ? storedPairs(value) : storedValue(value);

/** The value of a field of this type that stands in the file in this form. */
export const originalField = (type: FieldType | undefined, stored: FieldValue): FieldValue =>
  type === 'pairs' && typeof stored === 'string' ? originalPairs(stored) : originalValue(stored);

const storedCondition = (condition: Condition): Condition => {
  if (condition.is === 'contains') return { ...condition, value: storedText(condition.value) };
  if ('parts' in condition) return { ...condition, parts: condition.parts.map(storedText) };
  if ('pattern' in condition) return { ...condition, pattern: storedText(condition.pattern) };
  if ('where' in condition) return { ...condition, where: condition.where.map(storedCondition) };
  if ('values' in condition) return { ...condition, values: condition.values.map(storedValue) };
  return { ...condition, value: storedValue(condition.value) };
};

/** A query for values as they stand in the file. */
export const storedQuery = (query: Query): Query => ({
  ...query,
  where: query.where.map(storedCondition),
  ...(query.after && { after: { value: storedValue(query.after.value), key: storedText(query.after.key) } }),
});
