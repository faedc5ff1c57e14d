import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { SMTPServer } from 'smtp-server';

/** A mail that the server has received whole; `isAnswered` is false when it has not confirmed that. */
export type ReceivedMail = { readonly to: string; readonly content: string; readonly isAnswered: boolean };

type Refusal = Error & { responseCode?: number };

const refusal = (responseCode: number, text: string): Refusal => Object.assign(new Error(text), { responseCode });

/** The refusals of recipients, by the part of the address before the `@`. */
const REFUSALS: Readonly<Record<string, Refusal>> = {
  unknown: refusal(550, '5.1.1 no such user'),
  deferred: refusal(451, '4.3.0 try again later'),
};

/** A running SMTP server, and the mails that it has received. */
export type SmtpSink = {
  readonly port: number;
  readonly mails: readonly ReceivedMail[];
  /** Ends the server with all its connections. */
  readonly die: () => Promise<void>;
};

type SinkOptions = {
  /** A free one by default. */
  readonly port?: number;
  /** With a user, clients must authenticate. */
  readonly user?: string;
  readonly password?: string;
  /** With TLS from the first byte where it is `secure`, otherwise by STARTTLS. */
  readonly tls?: { readonly key: Buffer; readonly cert: Buffer; readonly secure: boolean };
};

/**
 * Starts an SMTP server. The recipient decides what it does: `unknown@` is refused permanently (550), `deferred@` is
 * refused for now (451), `stalled@` gets no answer to its RCPT, `silent@` none to its mail; after a mail to `dropped@`
 * all connections are broken, without an answer. Mail to every other recipient is taken.
 */
export const smtpSink = async ({ port = 0, user, password, tls }: SinkOptions = {}): Promise<SmtpSink> => {
  const mails: ReceivedMail[] = [];
  const sockets = new Map<string, Socket>();
  const server = new SMTPServer({
    authOptional: user === undefined,
    allowInsecureAuth: user !== undefined,
    disabledCommands: [...(user === undefined ? ['AUTH'] : []), ...(tls?.secure === false ? [] : ['STARTTLS'])],
    ...tls,
    onAuth: ({ username, password: given }, _, done) => {
      if (username === user && given === password) done(null, { user: username });
      else done(refusal(535, '5.7.8 authentication failed'));
    },
    onRcptTo: ({ address }, _, done) => {
      const [name = ''] = address.split('@');
      if (name !== 'stalled') done(REFUSALS[name] ?? null);
    },
    onData: (stream, session, done) => {
      const parts: Buffer[] = [];
      stream.on('data', (part: Buffer) => parts.push(part));
      stream.on('end', () => {
        const to = session.envelope.rcptTo[0]?.address ?? '';
        const isAnswered = !/^(?:dropped|silent)@/u.test(to);
        mails.push({ to, content: Buffer.concat(parts).toString(), isAnswered });
        if (isAnswered) done(null, '2.0.0 queued');
        else if (to.startsWith('dropped@')) for (const socket of sockets.values()) socket.destroy();
      });
    },
  });
  server.on('error', () => undefined); // a connection that its client resets
  server.server.on('connection', (socket: Socket) => {
    const key = `${socket.remotePort}`;
    sockets.set(key, socket);
    socket.on('close', () => sockets.delete(key));
  });
  server.listen(port, '127.0.0.1');
  await once(server.server, 'listening');
  return {
    port: (server.server.address() as AddressInfo).port,
    mails,
    die: async () => {
      for (const socket of sockets.values()) socket.destroy();
      await new Promise<void>((resolve) => {
        server.close(() => {
          resolve();
        });
      });
    },
  };
};
