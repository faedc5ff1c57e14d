import { Readable } from 'node:stream';

import type { SendMailOptions } from 'nodemailer';

import type { AttemptOutcome } from '../../../notification/commands.js';
import type { Message } from '../message/message.js';
import { type Channel, reasonOf } from './channel.js';

/**
 * The message as mail; its Message-ID is the same in every attempt, so that a repetition can be recognised. The header
 * `x-flightlog-repeat` says that an earlier attempt may have arrived.
 */
export const mailOf = ({
  key,
  sender,
  subject,
  text,
  html,
  isRepeat,
}: Message): SendMailOptions & { readonly messageId: string } => ({
  from: sender,
  to: { name: '', address: key.recipient },
  subject,
  text,
  html,
  messageId: `<${key.id}@flightlog.invalid>`,
  headers: { 'auto-submitted': 'auto-generated', ...(isRepeat && { 'x-flightlog-repeat': 'true' }) },
  disableFileAccess: true,
  disableUrlAccess: true,
});

/** Security of a connection: by STARTTLS, which must work; by TLS from the start; or not at all. */
export type MailSecurity = 'starttls' | 'tls' | 'none';

export type MailOptions = {
  readonly host: string;
  readonly port: number;
  readonly security: MailSecurity;
  /** PEM of the authorities to trust; those that Node.js trusts where it is `undefined`. */
  readonly authorities: string | undefined;
  /** Without authentication where it is empty. */
  readonly username: string;
  readonly password: string;
  readonly maxConnections: number;
  /** Limits each wait by itself: for the connection, for the server's greeting, and for an answer. */
  readonly timeoutMs: number;
};

/** Notes in `sending` when the connection has read all of a message in order to send it. */
const noted = (content: () => NodeJS.ReadableStream, sending: { isComplete: boolean }) => (): Readable =>
  Readable.from(
    (async function* () {
      // Read only after the server has answered DATA, and to its end before the dot is sent.
      for await (const part of content()) yield part;
      sending.isComplete = true;
    })(),
    { objectMode: false },
  );

/** The mails that are being sent, by message id. */
type Sendings = ReadonlyMap<string, { isComplete: boolean }>;

/** The library is loaded only by a process that sends mail. */
const transportOf = async (options: MailOptions, sendings: Sendings) => {
  const { createTransport } = await import('nodemailer');
  const { host, port, security, authorities, username, password, maxConnections, timeoutMs } = options;
  const transport = createTransport({
    pool: true,
    host,
    port,
    secure: security === 'tls',
    requireTLS: security === 'starttls',
    ignoreTLS: security === 'none',
    maxConnections,
    // A message whose connection ends would be queued again by the pool, even after all of it was sent.
    maxRequeues: 0,
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    ...(authorities !== undefined && { tls: { ca: authorities } }),
    ...(username !== '' && { auth: { user: username, pass: password } }),
  });
  transport.use('stream', (mail, done) => {
    const sending = sendings.get(mail.data.messageId ?? '');
    const content = mail.message.createReadStream.bind(mail.message);
    if (sending) mail.message.createReadStream = noted(content, sending);
    done();
  });
  return transport;
};

type SmtpError = Error & { readonly responseCode?: number; readonly response?: string; readonly code?: string };

/** Codes of errors about the sender, the recipient or the mail; others are about the connection or the login. */
const ABOUT_THE_MAIL: ReadonlySet<unknown> = new Set(['EENVELOPE', 'EMESSAGE']);

/**
 * The outcome by an error of the transport. Answers above 499 about the mail are final. After other answers the mail
 * can be tried again: they are temporary, or about the connection or the login, which an operator can mend. Without an
 * answer, the server may have accepted mail that was read to its end; other mail can be tried again.
 */
const outcomeOfError = (error: SmtpError, isComplete: boolean): AttemptOutcome => {
  const { responseCode, response, code } = error;
  const reason = reasonOf(response ?? error);
  if (responseCode === undefined) return { kind: isComplete ? 'unknown' : 'failed', reason };
  return { kind: responseCode >= 500 && ABOUT_THE_MAIL.has(code) ? 'refused' : 'failed', reason };
};

/** Messages as mail, through one SMTP server, on connections that are used again. */
export const mailChannel = (options: MailOptions): Channel => {
  const sendings = new Map<string, { isComplete: boolean }>();
  const transport = transportOf(options, sendings);
  return {
    isMail: true,
    send: async (message, signal) => {
      const mail = mailOf(message);
      const sending = { isComplete: false };
      sendings.set(mail.messageId, sending);
      try {
        const { response } = await (await transport).sendMail({ ...mail, signal });
        return { kind: 'sent', answer: reasonOf(response) };
      } catch (error) {
        return outcomeOfError(error as SmtpError, sending.isComplete);
      } finally {
        sendings.delete(mail.messageId);
      }
    },
    close: () => void transport.then((opened) => opened.close()),
  };
};
