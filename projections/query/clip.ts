const decoder = new TextDecoder();
const encoder = new TextEncoder();

const MAX_BYTES = 100;

/** Shortens an error's text to at most 100 bytes for lists; a character that would be cut is left out. */
export const clip = (text: string): string => {
  if (text.length <= MAX_BYTES / 3) return text;
  const bytes = encoder.encode(text);
  if (bytes.length <= MAX_BYTES) return text;
  let end = MAX_BYTES;
  while (((bytes[end] ?? 0) & 0xc0) === 0x80) end -= 1;
  return decoder.decode(bytes.subarray(0, end));
};

/**
 * The beginning of a text, at most `length` UTF-16 code units. A character that would be cut in half is left out: a
 * store would change the half, and the stored field would then differ from the folded one.
 */
export const beginningOf = (text: string, length: number): string =>
  text.slice(0, length).replace(/[\ud800-\udbff]$/u, '');

/** The end of a text, at most `length` UTF-16 code units, without half a character, as `beginningOf`. */
const endOf = (text: string, length: number): string => text.slice(-length).replace(/^[\udc00-\udfff]/u, '');

/** UTF-16 code units that are kept at each end of a long text. */
const KEPT = 1_000;

/**
 * Shortens a text of more than 2,000 UTF-16 code units to its first and last 1,000, with `…` between: an error says at
 * the beginning what has failed, and a traceback at the end why.
 */
export const endsOf = (text: string): string =>
  text.length <= 2 * KEPT ? text : `${beginningOf(text, KEPT)}…${endOf(text, KEPT)}`;
