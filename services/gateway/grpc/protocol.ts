import type { Socket } from 'node:net';

/** Handlers of connections by protocol. The bytes by which the protocol was detected are still unread. */
export type ProtocolHandlers = Readonly<Record<'http2' | 'http1', (socket: Socket) => void>>;

// HTTP/2 clients begin with these bytes, HTTP/1.1 requests never: https://www.rfc-editor.org/rfc/rfc9113#section-3.4
const HTTP2_BEGINS = Buffer.from('PRI');

/**
 * Passes a connection to the handler of its protocol, once its first bytes have arrived. A connection that stays silent
 * for `limitMs` is closed, and so is one of HTTP/1.1 that is still open then.
 */
export const detectProtocol = (socket: Socket, { http2, http1 }: ProtocolHandlers, limitMs: number): void => {
  const late = setTimeout(() => socket.destroy(), limitMs);
  socket.once('close', () => clearTimeout(late));
  const look = (): void => {
    const bytes = socket.read(HTTP2_BEGINS.length) as Buffer | null;
    if (bytes === null) return; // fewer bytes have arrived
    socket.off('readable', look);
    socket.unshift(bytes);
    if (bytes.equals(HTTP2_BEGINS)) {
      clearTimeout(late);
      http2(socket);
    } else http1(socket);
  };
  socket.on('readable', look);
};
