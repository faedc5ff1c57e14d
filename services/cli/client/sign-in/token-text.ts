import { OperatorError } from '../../../config/operator-errors.js';

/**
 * Checks the text of a token, which is sent in a header, and removes the space around it.
 *
 * @param origin the file or command that the text comes from, for the message.
 * @throws {OperatorError} when the text is empty, or has another character than visible ASCII.
 */
export const tokenText = (text: string, origin: string): string => {
  const token = text.trim();
  if (/^[\x21-\x7e]+$/u.test(token)) return token;
  throw new OperatorError(`${origin} has no token: it must be one line of ASCII characters, without spaces`);
};
