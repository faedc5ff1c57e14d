import { connect, type ClientHttp2Session, type ClientHttp2Stream, type OutgoingHttpHeaders } from 'node:http2';
import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { hostAndPort, type NodeAddress } from '../address.js';
import { NodeUnreached } from '../eventstore-fault.js';
import { tlsOptions } from './node-credentials.js';
import type { NodeSettings } from './settings.js';

/** An HTTP/2 connection to one node for the calls that carry events. It is opened with the first call. */
export interface NodeSession {
  /**
   * Opens a call, which fails when the node cannot be reached.
   *
   * @throws {NodeUnreached} after `cut`.
   */
  open(headers: OutgoingHttpHeaders): ClientHttp2Stream;
  /** Takes no more calls, and breaks the connection soon after: open calls fail as if the node had ended. */
  cut(): void;
}

/** The bytes that a node may send of one call before it waits for the reader. The 64 KiB of HTTP/2 are few events. */
const WINDOW_BYTES = 1024 * 1024;

/**
 * With the default of 10 MB, a call whose answer arrives while more than that waits to be sent is reset. What waits is
 * bounded by the appends in flight.
 */
const MAX_SESSION_MB = 1_000_000;

const socketTo = ({ host, port }: NodeAddress, { tls: secureContext }: NodeSettings): Socket => {
  if (secureContext === undefined) return connectPlain({ host, port, noDelay: true });
  return connectTls({ port, ...tlsOptions(host, secureContext) }).setNoDelay(true);
};

/** Sends pings while calls are open, and breaks the connection when one is not answered in time. */
const keepAlive = (
  session: ClientHttp2Session,
  { intervalMs, timeoutMs }: NodeSettings['keepAlive'],
  hasCalls: () => boolean,
): void => {
  if (intervalMs === undefined) return;
  let overdue: NodeJS.Timeout | undefined;
  const ping = (): void => {
    if (!hasCalls() || overdue !== undefined || session.connecting || session.destroyed) return;
    const unanswered = (): void => session.destroy(new Error('Connection dropped: a ping was not answered'));
    if (timeoutMs !== undefined) overdue = setTimeout(unanswered, timeoutMs).unref();
    session.ping(() => {
      clearTimeout(overdue);
      overdue = undefined;
    });
  };
  const timer = setInterval(ping, intervalMs).unref();
  session.once('close', () => {
    clearInterval(timer);
    clearTimeout(overdue);
  });
};

/**
 * Makes the session of a node; it connects with its first call.
 *
 * @param node a host and port; with TLS, the certificate must be for the host.
 */
export const nodeSession = (node: NodeAddress, settings: NodeSettings): NodeSession => {
  let present: ClientHttp2Session | undefined;
  let isCut = false;
  let openCalls = 0;

  const connected = (): ClientHttp2Session => {
    const scheme = settings.tls === undefined ? 'http' : 'https';
    const session = connect(`${scheme}://${hostAndPort(node)}`, {
      createConnection: () => socketTo(node, settings),
      settings: { initialWindowSize: WINDOW_BYTES, enablePush: false },
      maxSessionMemory: MAX_SESSION_MB,
    });
    session.on('error', () => undefined); // its calls fail with the error
    session.once('connect', () => session.destroyed || session.setLocalWindowSize(4 * WINDOW_BYTES));
    keepAlive(session, settings.keepAlive, () => openCalls > 0);
    return session;
  };

  return {
    open: (headers) => {
      if (isCut) throw new NodeUnreached(new Error('the node was abandoned'));
      if (present === undefined || present.closed || present.destroyed) present = connected();
      const stream = present.request(headers);
      openCalls += 1;
      stream.once('close', () => (openCalls -= 1));
      return stream;
    },
    cut: () => {
      isCut = true;
      // The end of a call may cut its own connection. Node ends the process, or corrupts its memory, when a session is
      // destroyed in a callback of the bytes that it is receiving (nodejs/node issue 38964).
      setImmediate(() => present?.destroy(new Error('Connection dropped: the node was abandoned')));
    },
  };
};
