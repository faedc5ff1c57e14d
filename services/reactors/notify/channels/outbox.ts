import { rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createFolder } from '../../../store/create-folder.js';
import { type Channel, reasonOf } from './channel.js';
import { mailOf } from './mail.js';

/** The library is loaded only by a process that writes mail. */
const transportOf = async () => {
  const { createTransport } = await import('nodemailer');
  return createTransport({ streamTransport: true, buffer: true, newline: 'windows' });
};

/**
 * Messages as files of mail in a folder, one for each, which mail programs open. Nothing leaves the machine.
 *
 * @param directory is created when the first message is written.
 */
export const outboxChannel = (directory: string): Channel => {
  const transport = transportOf();
  return {
    isMail: true,
    send: async (message) => {
      try {
        const { message: content } = await (await transport).sendMail(mailOf(message));
        await createFolder(directory);
        const file = join(directory, `${message.key.id}.eml`);
        await writeFile(`${file}.part`, content as Buffer);
        await rename(`${file}.part`, file);
        return { kind: 'sent', answer: `written to ${file}` };
      } catch (error) {
        return { kind: 'failed', reason: reasonOf(error) };
      }
    },
    close: () => undefined,
  };
};
