import type { SendMailOptions } from 'nodemailer';

import type { Message } from '../message/message.js';

/** The message as mail; its Message-ID is the same in every attempt, so that a repetition can be recognised. */
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
