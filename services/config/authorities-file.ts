import { readFileSync } from 'node:fs';
import { errorText } from '../kernel/error-text.js';
import { OperatorError } from './operator-errors.js';

/**
 * Reads the certificate authorities in the file that a setting names, in PEM.
 *
 * @throws {OperatorError} naming the setting, when the file cannot be read.
 */
export const authoritiesIn = (file: string, setting: string): string => {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new OperatorError(`${setting}: cannot be read: ${errorText(cause)}`, { cause });
  }
};
