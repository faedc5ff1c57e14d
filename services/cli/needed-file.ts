import { readFileSync } from 'node:fs';
import { OperatorError } from '../config/operator-errors.js';

/**
 * Reads a text file that a command needs.
 *
 * @param content the content of the file, for the message: `the secret of the client`.
 * @throws {OperatorError} naming the file and its content, when it cannot be read.
 */
export const neededText = (file: string, content: string): string => {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new OperatorError(`${file} cannot be read: it must have ${content}`, { cause });
  }
};
