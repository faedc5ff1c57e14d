import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

import type { ClientCertificate } from '../kernel/ports/authentication.js';

/** The fields of Node's `PeerCertificate` that are read. */
type PeerCertificate = {
  readonly subject: { readonly CN?: unknown };
  readonly subjectaltname?: string | undefined;
  readonly valid_to: string;
};

/**
 * One name of a certificate, as Node writes them: `DNS:a.example, URI:spiffe://b`. A value that could be mistaken for
 * several names is in quotes, as JSON.
 */
const NAME = /([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^",]*)(?:, |$)/uy;

const valueOf = (text: string): string => (text.startsWith('"') ? String(JSON.parse(text)) : text);

/** The alternative names of a certificate with their kinds; none when the text is not as expected. */
const namesIn = (text: string): readonly (readonly [kind: string, name: string])[] => {
  const names: (readonly [string, string])[] = [];
  NAME.lastIndex = 0;
  while (NAME.lastIndex < text.length) {
    const [, kind, value] = NAME.exec(text) ?? [];
    if (kind === undefined || value === undefined) return [];
    names.push([kind, valueOf(value)]);
  }
  return names;
};

/** Reads a certificate that the handshake has verified. */
export const clientCertificateOf = ({ subject, subjectaltname, valid_to: end }: PeerCertificate): ClientCertificate => {
  const names = namesIn(subjectaltname ?? '');
  const ofKind = (kind: string): readonly string[] => names.flatMap(([each, name]) => (each === kind ? [name] : []));
  const commonName = subject.CN; // several are an array
  return {
    commonName: typeof commonName === 'string' ? commonName : '',
    dnsNames: ofKind('DNS'),
    uris: ofKind('URI'),
    expiresAt: Date.parse(end),
  };
};

/**
 * The certificates that were read, by connection: to read one takes longer than everything else that a call does with
 * it.
 */
const known = new WeakMap<Socket, ClientCertificate>();

/** The client certificate of a connection; `undefined` without TLS, and without one of the configured authority. */
export const clientCertificateOn = (socket: Socket): ClientCertificate | undefined => {
  if (!(socket instanceof TLSSocket) || !socket.authorized) return undefined;
  const certificate = known.get(socket) ?? clientCertificateOf(socket.getPeerCertificate());
  known.set(socket, certificate);
  return certificate;
};
