import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { errorText } from '../kernel/error-text.js';
import { OperatorError } from './operator-errors.js';

const read = (file: string, setting: string): string => {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new OperatorError(`${setting}: cannot be read: ${errorText(cause)}`, { cause });
  }
};

/**
 * Reads the certificate authorities in the file that a setting names, in PEM.
 *
 * @throws {OperatorError} naming the setting, when the file cannot be read, or has no certificate: with such a file TLS
 *   trusts no server.
 */
export const authoritiesIn = (file: string, setting: string): string => {
  const authorities = read(file, setting);
  try {
    void new X509Certificate(authorities);
  } catch (cause) {
    throw new OperatorError(`${setting}: ${file} has no certificate in PEM: ${errorText(cause)}`, { cause });
  }
  return authorities;
};
