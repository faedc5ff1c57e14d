import { QueryTooSlow } from '../../../services/kernel/fault.js';
import { ANY_CHARACTER, ANY_TEXT, patternTokens } from '../../query/filters/like-pattern.js';

/** Longest regular expression that MongoDB accepts, rounded down, in bytes. */
const MAX_BYTES = 32_000;

const ANY = String.raw`[\s\S]`;
/** Matches the end of the text only; `$` would also match before a line break at the end. */
const END = String.raw`(?![\s\S])`;

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/gu, String.raw`\$&`);

const bounded = (source: string): string => {
  if (Buffer.byteLength(source) > MAX_BYTES)
    throw new QueryTooSlow(`a filter value makes a regular expression of more than ${MAX_BYTES} bytes`);
  return source;
};

/**
 * A regular expression that finds a text anywhere.
 *
 * @throws {QueryTooSlow} when the text is too long for a regular expression of MongoDB.
 */
export const containing = (text: string): string => bounded(escaped(text));

/**
 * Converts a LIKE pattern to a regular expression. Each segment between two `%` is matched at its first occurrence,
 * without backtracking (atomic groups): this still finds every match, and its time does not grow with the number of
 * `%`.
 *
 * @throws {QueryTooSlow} when the pattern is too long for a regular expression of MongoDB.
 */
export const likeExpression = (pattern: string): string => {
  const segments = [''];
  // A pattern that ends in an incomplete escape gives no tokens.
  for (const token of patternTokens(pattern) ?? []) {
    if (token === ANY_TEXT) segments.push('');
    else segments.push(`${segments.pop() ?? ''}${token === ANY_CHARACTER ? ANY : escaped(token)}`);
  }
  const [first = '', ...rest] = segments;
  const last = rest.pop();
  const between = rest.filter(Boolean).map((segment) => `(?>${ANY}*?${segment})`);
  return bounded(`^${first}${between.join('')}${last === undefined ? '' : `${ANY}*${last}`}${END}`);
};
