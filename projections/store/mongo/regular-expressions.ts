import { QueryTooSlow } from '../../../services/kernel/fault.js';
import { ANY_CHARACTER, ANY_TEXT, patternParts } from '../../query/like-pattern.js';

/** The server takes none that are longer, in bytes. */
const MAX_BYTES = 32_000;

const ANY = String.raw`[\s\S]`;
/** A dollar would stand before a line break at the end as well. */
const END = String.raw`(?![\s\S])`;

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/gu, String.raw`\$&`);

const bounded = (source: string): string => {
  if (Buffer.byteLength(source) > MAX_BYTES) throw new QueryTooSlow(`a pattern of more than ${MAX_BYTES} bytes`);
  return source;
};

/** The expression for a text that stands somewhere. */
export const containing = (text: string): string => bounded(escaped(text));

/**
 * The expression for a pattern. What lies between two signs for any text is taken where it is found first, and never
 * looked for again: that finds all that there is, in a time that does not grow with the number of signs.
 */
export const like = (pattern: string): string => {
  const segments = [''];
  for (const part of patternParts(pattern) ?? []) {
    if (part === ANY_TEXT) segments.push('');
    else segments.push(`${segments.pop() ?? ''}${part === ANY_CHARACTER ? ANY : escaped(part)}`);
  }
  const [first = '', ...rest] = segments;
  const last = rest.pop();
  const between = rest.filter(Boolean).map((segment) => `(?>${ANY}*?${segment})`);
  return bounded(`^${first}${between.join('')}${last === undefined ? '' : `${ANY}*${last}`}${END}`);
};
