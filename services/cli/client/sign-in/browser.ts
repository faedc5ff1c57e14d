import { spawn } from 'node:child_process';
import { createServer, type RequestListener } from 'node:http';
import { OperatorError } from '../../../config/operator-errors.js';

/** The longest time until the browser returns: a person may have to find a password first. */
const SIGN_IN_MS = 300_000;

/** The port of an address that names none. */
const HTTP_PORT = 80;

const LOOPBACK: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];

/** Refuses an address that other machines could reach, or that is not served by plain HTTP. */
const assertLoopback = ({ href, protocol, hostname }: URL): void => {
  if (protocol !== 'http:' || !LOOPBACK.includes(hostname))
    throw new OperatorError(
      `${href}: is not an http address of this machine, where the browser could return to: sign in by authType DeviceFlow`,
    );
};

/**
 * Answers requests to the address that the browser returns to. Other pages and programs of this machine can send
 * requests there, too: only the one with the path of `redirectUri` and the `state` of this sign-in counts.
 */
const answerTo =
  (redirectUri: URL, state: string, returned: (address: URL) => void): RequestListener =>
  ({ url = '/' }, response) => {
    const address = URL.canParse(url, redirectUri.origin) ? new URL(url, redirectUri.origin) : undefined;
    const isReturn = address?.pathname === redirectUri.pathname && address.searchParams.get('state') === state;
    response.writeHead(isReturn ? 200 : 404, { 'content-type': 'text/plain; charset=utf-8' });
    response.end(isReturn ? 'This page can be closed: the command in the terminal goes on.\n' : 'Not Found\n', () => {
      if (isReturn) returned(address);
    });
  };

const cannotListen = ({ origin }: URL, cause: NodeJS.ErrnoException): OperatorError => {
  const remedy = cause.code === 'EADDRINUSE' ? 'stop the program that uses the port, or ' : '';
  return new OperatorError(
    `${origin}: ${cause.message}: the browser returns there after signing in; ${remedy}sign in by authType DeviceFlow`,
    { cause },
  );
};

/**
 * Serves the address that the browser returns to, until it does.
 *
 * @param state what the return of this sign-in carries.
 * @param listening called once the address is served: the browser may be sent to the issuer then.
 * @returns the address with what the issuer has added.
 * @throws {OperatorError} when the address is not of this machine or cannot be served, or the browser does not return
 *   within five minutes.
 */
export const returnFromBrowser = async (redirectUri: URL, state: string, listening: () => void): Promise<URL> => {
  assertLoopback(redirectUri);
  const server = createServer();
  let timer: NodeJS.Timeout | undefined;
  try {
    return await new Promise((resolve, reject) => {
      const late = new OperatorError('the sign-in took longer than five minutes; run the command again');
      timer = setTimeout(() => reject(late), SIGN_IN_MS);
      server.on('error', (cause) => reject(cannotListen(redirectUri, cause)));
      server.on('request', answerTo(redirectUri, state, resolve));
      server.listen(Number(redirectUri.port || HTTP_PORT), redirectUri.hostname.replace(/^\[|\]$/gu, ''), listening);
    });
  } finally {
    clearTimeout(timer);
    server.close();
    server.closeAllConnections(); // browsers keep connections on which they have sent nothing
  }
};

const OPENERS: Readonly<Partial<Record<NodeJS.Platform, string>>> = { darwin: 'open', linux: 'xdg-open' };

/** Opens an address in the browser of the person, when there is a terminal and a program that does it. */
export const openInBrowser = ({ href, protocol }: URL): void => {
  const opener = OPENERS[process.platform];
  if (opener === undefined || !process.stderr.isTTY || !['http:', 'https:'].includes(protocol)) return;
  const child = spawn(opener, [href], { detached: true, stdio: 'ignore' });
  child.on('error', () => undefined); // the address was printed, too
  child.unref();
};
