import type { Condition, FieldValue } from '../../runtime/read-store.js';
import { ANY_CHARACTER, ANY_TEXT, type PatternToken, patternTokens } from './like-pattern.js';

type Fields = Readonly<Record<string, FieldValue>>;

/** Below, equal to or above 0, in the order of the stores: text by its bytes in UTF-8. */
const order = (a: string | number, b: string | number): number => {
  if (a === b) return 0;
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  return Buffer.compare(Buffer.from(String(a)), Buffer.from(String(b)));
};

/** Below, equal to or above 0, in the order of the stores: empty values are the smallest. */
export const compareValues = (a: FieldValue, b: FieldValue): number => {
  if (a === null || b === null) return Number(a !== null) - Number(b !== null);
  return order(a, b);
};

const COMPARED: Readonly<Record<string, (order: number) => boolean>> = {
  '=': (by) => by === 0,
  '<>': (by) => by !== 0,
  '<': (by) => by < 0,
  '<=': (by) => by <= 0,
  '>': (by) => by > 0,
  '>=': (by) => by >= 0,
};

const isMatched = (characters: readonly string[], tokens: readonly PatternToken[]): boolean => {
  // After a mismatch only the last sign for any text can take more: at most length times length steps.
  let [at, token, anyText, retryAt] = [0, 0, -1, 0];
  while (at < characters.length) {
    const expected = tokens[token];
    if (expected === ANY_TEXT) [anyText, retryAt, token] = [token, at, token + 1];
    else if (expected === ANY_CHARACTER || (expected !== undefined && expected === characters[at]))
      [at, token] = [at + 1, token + 1];
    else if (anyText >= 0) [retryAt, at, token] = [retryAt + 1, retryAt + 1, anyText + 1];
    else return false;
  }
  return tokens.slice(token).every((rest) => rest === ANY_TEXT);
};

const hasPair = (value: string, where: readonly Condition[]): boolean =>
  (JSON.parse(value) as readonly (readonly [string, string])[]).some(([key, pairValue]) =>
    where.every((each) => satisfies({ key, value: pairValue }, each)),
  );

const textSatisfies = (text: string, condition: Condition): boolean => {
  if ('where' in condition) return hasPair(text, condition.where);
  if ('texts' in condition) return condition.texts.every((each) => text.includes(each));
  if ('pattern' in condition)
    return isMatched(Array.from(text), patternTokens(condition.pattern) ?? []) === (condition.is === 'like');
  return 'value' in condition && text.includes(String(condition.value));
};

/**
 * Tells whether the fields of a document satisfy a condition, as a store would.
 *
 * @throws {Error} for a condition on documents of another collection.
 */
export const satisfies = (fields: Fields, condition: Condition): boolean => {
  const value = fields[condition.field] ?? null;
  if ('collection' in condition) throw new Error('a condition on documents of another collection needs a store');
  if (value === null) return condition.is === '=' && condition.value === null;
  if ('values' in condition) return condition.values.includes(value) === (condition.is === 'in');
  if (!('value' in condition) || condition.is === 'contains') return textSatisfies(String(value), condition);
  if (condition.value === null) return condition.is === '<>';
  return COMPARED[condition.is]?.(order(value, condition.value)) === true;
};
