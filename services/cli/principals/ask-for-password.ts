import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { OperatorError } from '../../config/operator-errors.js';

/** Drops the echo of the terminal: the password would be read over the shoulder. */
const silent = (): Writable => new Writable({ write: (_chunk, _encoding, done) => done() });

const typed = async (question: string): Promise<string> => {
  process.stderr.write(question);
  const lines = createInterface({ input: process.stdin, output: silent(), terminal: true });
  try {
    return await lines.question('');
  } finally {
    lines.close();
    process.stderr.write('\n');
  }
};

const firstLine = async (): Promise<string> => {
  for await (const line of createInterface({ input: process.stdin })) return line;
  throw new OperatorError('no password: it must be the first line of standard input');
};

/**
 * Asks for a new password, twice; without a terminal, takes the first line of standard input.
 *
 * @throws {OperatorError} when both differ, or when there is none.
 */
export const askForPassword = async (): Promise<string> => {
  if (!process.stdin.isTTY) return firstLine();
  const password = await typed('Password: ');
  if ((await typed('The same again: ')) !== password) throw new OperatorError('the two passwords differ');
  return password;
};
