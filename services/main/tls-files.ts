import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import type { Tls } from '../gateway/exchange.js';
import type { Configuration } from '../config/configuration.js';
import { InvalidConfiguration } from '../config/operator-errors.js';

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const invalid = (key: string, why: string, cause: unknown): InvalidConfiguration =>
  new InvalidConfiguration(`tls.${key}: ${why}`, { cause });

const read = (key: string, file: string): Buffer => {
  try {
    return readFileSync(file);
  } catch (cause) {
    throw invalid(key, `cannot be read: ${reasonOf(cause)}`, cause);
  }
};

const assertUsable = (key: string, file: string, context: Parameters<typeof createSecureContext>[0]): void => {
  try {
    createSecureContext(context);
  } catch (cause) {
    const isOther = cause instanceof Error && 'code' in cause && cause.code === 'ERR_OSSL_X509_KEY_VALUES_MISMATCH';
    throw invalid(key, isOther ? `${file} is not the key of tls.cert_file` : `${file} cannot be used`, cause);
  }
};

/**
 * Reads the certificate, the key and the client authorities of TLS; `undefined` where TLS is not configured.
 *
 * @throws {InvalidConfiguration} naming the setting whose file is missing or not PEM, or whose key is of another pair.
 */
export const tlsOf = ({ tls }: Configuration): Tls | undefined => {
  const { cert_file: certFile, key_file: keyFile, client_ca_file: caFile } = tls;
  if (certFile === '') return undefined;
  const cert = read('cert_file', certFile);
  assertUsable('cert_file', certFile, { cert });
  const key = read('key_file', keyFile);
  assertUsable('key_file', keyFile, { cert, key });
  if (caFile === '') return { cert, key };
  const clientCa = read('client_ca_file', caFile);
  if (!clientCa.includes('-----BEGIN ')) throw invalid('client_ca_file', `${caFile} has no certificate`, undefined);
  assertUsable('client_ca_file', caFile, { ca: clientCa });
  return { cert, key, clientCa };
};
