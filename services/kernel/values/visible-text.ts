import { invalid } from '../rpc.js';

// Control characters, ends of lines, and the marks that turn the direction of text around.
const INVISIBLE = String.raw`[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]`;

const invisible = new RegExp(INVISIBLE, 'u');
const allInvisible = new RegExp(INVISIBLE, 'gu');

/** Replaces each control character, end of a line and mark of text direction by a space, so the length stays. */
export const visible = (text: string): string => text.replace(allInvisible, ' ');

/** True when {@link assertVisible} takes the text. */
export const isVisible = (text: string): boolean => !invisible.test(text);

/**
 * Checks that a name to be recorded has none of the characters that {@link visible} replaces.
 *
 * @throws {RpcError} INVALID_ARGUMENT naming the field, for a control character, an end of a line, or a mark that
 * changes the direction of text (U+202A to U+202E, U+2066 to U+2069).
 */
export const assertVisible = (field: string, text: string): void => {
  if (!isVisible(text)) throw invalid(field, 'control characters are not allowed');
};
