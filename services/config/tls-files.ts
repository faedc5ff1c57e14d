import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createSecureContext } from 'node:tls';
import type { Logger } from 'pino';
import type { Configuration } from './configuration.js';
import { InvalidConfiguration } from './operator-errors.js';
import type { Tls, TlsSource } from '../kernel/ports/tls.js';
import { errorText } from '../kernel/error-text.js';

type Settings = Pick<Configuration, 'tls'>;

const invalid = (key: string, reason: string, cause: unknown): InvalidConfiguration =>
  new InvalidConfiguration(`tls.${key}: ${reason}`, { cause });

const assertUsable = (key: string, file: string, context: Parameters<typeof createSecureContext>[0]): void => {
  try {
    createSecureContext(context);
  } catch (cause) {
    const isOther = cause instanceof Error && 'code' in cause && cause.code === 'ERR_OSSL_X509_KEY_VALUES_MISMATCH';
    throw invalid(key, isOther ? `${file} is not the key of tls.cert_file` : `${file} cannot be used`, cause);
  }
};

const assertTls = ({ cert, key, clientCa }: Tls, { tls }: Settings): void => {
  assertUsable('cert_file', tls.cert_file, { cert });
  assertUsable('key_file', tls.key_file, { cert, key });
  if (!clientCa) return;
  const file = tls.client_ca_file;
  try {
    void new X509Certificate(clientCa);
  } catch (cause) {
    throw invalid('client_ca_file', `${file} has no certificate`, cause);
  }
  // Without an error, TLS would ignore a file in DER and refuse all callers.
  if (!clientCa.includes('-----BEGIN ')) throw invalid('client_ca_file', `${file} is not in PEM`, undefined);
  assertUsable('client_ca_file', file, { ca: clientCa });
};

const FILES = ['cert_file', 'key_file', 'client_ca_file'] as const;

/** The content of a setting's file; empty for a setting that is not set. */
const read = (key: (typeof FILES)[number], { tls }: Settings): Buffer => {
  if (tls[key] === '') return Buffer.alloc(0);
  try {
    return readFileSync(tls[key]);
  } catch (cause) {
    throw invalid(key, `cannot be read: ${errorText(cause)}`, cause);
  }
};

const tlsIn = ([cert, key, clientCa]: readonly Buffer[], { tls }: Settings): Tls => ({
  cert: cert ?? Buffer.alloc(0),
  key: key ?? Buffer.alloc(0),
  ...(tls.client_ca_file !== '' && clientCa && { clientCa }),
});

/**
 * Reads the certificate, the key and the client authorities of TLS; `undefined` where TLS is not configured.
 *
 * @throws {InvalidConfiguration} naming the setting whose file is missing or cannot be used, or whose key is of another pair.
 */
export const tlsOf = (configuration: Settings): Tls | undefined => {
  if (configuration.tls.cert_file === '') return undefined;
  const contents = FILES.map((key) => read(key, configuration));
  const tls = tlsIn(contents, configuration);
  assertTls(tls, configuration);
  return tls;
};

/** The contents of all files, in the order of their settings; rejects with the error of one that cannot be read. */
const readAgain = ({ tls }: Settings): Promise<readonly Buffer[]> =>
  Promise.all(FILES.map((key) => (tls[key] === '' ? Promise.resolve(Buffer.alloc(0)) : readFile(tls[key]))));

/** Certificates in files, which are read every 2 seconds, and used when they have changed. */
export type TlsFiles = TlsSource & { close(): void };

type Watching = {
  readonly logger: Pick<Logger, 'info' | 'error'>;
  /** Called when changed files were taken, and once for each problem for which they could not be used. */
  readonly onReload: (outcome: 'loaded' | 'failed') => void;
  readonly everyMs?: number;
};

/**
 * The time between two checks of the files, in milliseconds. They are compared by content: a renewal may replace a
 * folder that a link leads to.
 */
const EVERY_MS = 2_000;

const isSame = (some: readonly Buffer[], others: readonly Buffer[]): boolean =>
  some.every((content, index) => content.equals(others[index] ?? Buffer.alloc(0)));

/**
 * Opens the certificates of TLS, and takes changed files within seconds. Files that cannot be used change nothing, as
 * while a renewal has replaced the certificate and not yet the key.
 *
 * @returns `undefined` where TLS is not configured.
 * @throws {InvalidConfiguration} as {@link tlsOf} does.
 */
export const openTls = (
  configuration: Settings,
  { logger, onReload, everyMs = EVERY_MS }: Watching,
): TlsFiles | undefined => {
  const first = tlsOf(configuration);
  if (!first) return undefined;
  const listeners: ((tls: Tls) => void)[] = [];
  let current = first;
  let used: readonly Buffer[] = [current.cert, current.key, current.clientCa ?? Buffer.alloc(0)];
  let lastChanged: readonly Buffer[] = [];
  /** The text of the last error that was logged; empty while the contents of the files are in use. */
  let problem = '';

  const fail = (error: unknown): void => {
    if (errorText(error) === problem) return;
    problem = errorText(error);
    onReload('failed');
    logger.error({ err: error }, 'changed certificates of TLS cannot be used; the former ones stay in use');
  };

  const take = (contents: readonly Buffer[]): void => {
    const next = tlsIn(contents, configuration);
    assertTls(next, configuration);
    current = next;
    problem = '';
    for (const listener of listeners) listener(next);
    onReload('loaded');
    logger.info('changed certificates of TLS are in use for new connections');
  };

  const check = async (): Promise<void> => {
    const contents = await readAgain(configuration);
    if (isSame(contents, used)) {
      if (problem !== '') logger.info('the files of TLS are again those in use');
      problem = '';
      return;
    }
    const isSettled = isSame(contents, lastChanged);
    lastChanged = contents;
    try {
      take(contents);
    } catch (error) {
      if (isSettled) throw error; // before the second check, a renewal may have written only one of the files
      return;
    }
    used = contents;
  };

  /** True while a check runs. Of two at once, the one that read the files earlier could report a former state last. */
  let isChecking = false;
  const checkOnce = async (): Promise<void> => {
    if (isChecking) return;
    isChecking = true;
    await check().catch(fail);
    isChecking = false;
  };

  const timer = setInterval(() => void checkOnce(), everyMs).unref();
  return {
    get current() {
      return current;
    },
    onChange: (listener) => void listeners.push(listener),
    close: () => clearInterval(timer),
  };
};
