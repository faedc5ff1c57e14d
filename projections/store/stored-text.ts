import type { Condition, FieldType, FieldValue, Query } from '../runtime/read-store.js';

// The SQLite driver ends a text at its first NUL, and clients may send one, so NUL is escaped. The escape is one-to-one
// and preserves the order.
const NUL = '\u0000';
const MARK = '\u0001';

/** Escapes a text for storage. */
export const storedText = (text: string): string =>
  text.includes(NUL) || text.includes(MARK) ? text.replaceAll(MARK, `${MARK}1`).replaceAll(NUL, `${MARK}0`) : text;

/** Reverses `storedText`. */
export const originalText = (stored: string): string =>
  stored.includes(MARK) ? stored.replaceAll(`${MARK}0`, NUL).replaceAll(`${MARK}1`, MARK) : stored;

/** Escapes a value for storage. */
const storedValue = (value: FieldValue): FieldValue => (typeof value === 'string' ? storedText(value) : value);

/** Converts a stored value back. */
export const originalValue = (stored: FieldValue): FieldValue =>
  typeof stored === 'string' ? originalText(stored) : stored;

/** Escapes the texts of encoded pairs. */
const storedPairs = (pairs: string): string =>
  JSON.stringify((JSON.parse(pairs) as string[][]).map((pair) => pair.map(storedText)));

const originalPairs = (stored: string): string =>
  JSON.stringify((JSON.parse(stored) as string[][]).map((pair) => pair.map(originalText)));

/** Converts the value of a field of this type to its stored form. */
export const storedField = (type: FieldType | undefined, value: FieldValue): FieldValue =>
  type === 'pairs' && typeof value === 'string' ? storedPairs(value) : storedValue(value);

/** Converts a stored value of a field of this type back. */
export const originalField = (type: FieldType | undefined, stored: FieldValue): FieldValue =>
  type === 'pairs' && typeof stored === 'string' ? originalPairs(stored) : originalValue(stored);

const storedCondition = (condition: Condition): Condition => {
  if (condition.is === 'contains') return { ...condition, value: storedText(condition.value) };
  if ('texts' in condition) return { ...condition, texts: condition.texts.map(storedText) };
  if ('pattern' in condition) return { ...condition, pattern: storedText(condition.pattern) };
  if ('where' in condition) return { ...condition, where: condition.where.map(storedCondition) };
  if ('values' in condition) return { ...condition, values: condition.values.map(storedValue) };
  return { ...condition, value: storedValue(condition.value) };
};

/** Converts the values of a query to their stored form. */
export const storedQuery = (query: Query): Query => ({
  ...query,
  where: query.where.map(storedCondition),
  ...(query.after && { after: { value: storedValue(query.after.value), key: storedText(query.after.key) } }),
});
