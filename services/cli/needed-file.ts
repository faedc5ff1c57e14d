import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { OperatorError } from '../config/operator-errors.js';
import { errorText } from '../kernel/error-text.js';

/**
 * Reads a text file that a command needs.
 *
 * @param content the content of the file, for the message: `the secret of the client`.
 * @throws {OperatorError} naming the file, its content and the reason, when it cannot be read.
 */
export const neededText = (file: string, content: string): string => {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new OperatorError(`${file} cannot be read: it must have ${content} (${errorText(cause)})`, { cause });
  }
};

const hasCertificate = (text: string): boolean => {
  try {
    return new X509Certificate(text).raw.length > 0;
  } catch {
    return false;
  }
};

/**
 * Reads a file of certificates that a command trusts.
 *
 * @throws {OperatorError} naming the file, when it cannot be read or does not have a certificate in PEM.
 */
export const neededCertificates = (file: string): Buffer => {
  const text = neededText(file, 'certificates in PEM');
  if (!hasCertificate(text)) throw new OperatorError(`${file} has no certificate in PEM, which it must have`);
  return Buffer.from(text);
};
