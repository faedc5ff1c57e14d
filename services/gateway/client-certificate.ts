import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

import { clientCertificateOf } from '../kernel/client-certificate.js';
import type { ClientCertificate } from '../kernel/ports/authentication.js';

/** Certificates by connection: reading one takes longer than all else that a call needs of it. */
const known = new WeakMap<Socket, ClientCertificate>();

/** The client certificate of a connection; `undefined` without TLS, and without one of the configured authority. */
export const clientCertificateOn = (socket: Socket): ClientCertificate | undefined => {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined;
  const certificate = known.get(socket) ?? clientCertificateOf(socket.getPeerCertificate());
  known.set(socket, certificate);
  return certificate;
};
