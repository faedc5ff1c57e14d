import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { OperatorError } from '../config/operator-errors.js';

/** Drops the echo of the terminal. */
const silent = (): Writable => new Writable({ write: (_chunk, _encoding, done) => done() });

const answerTo = (question: string, output: NodeJS.WritableStream): Promise<string> =>
  new Promise((resolve, reject) => {
    const lines = createInterface({ input: process.stdin, output, terminal: true });
    // Ctrl-C and Ctrl-D close the interface without an answer.
    lines.once('close', () => reject(new OperatorError('stopped: the question was not answered')));
    lines.question(question, (answer) => {
      resolve(answer);
      lines.close();
    });
  });

/**
 * Asks a question on standard error, and gives the line that the person types on the terminal.
 *
 * @throws {OperatorError} when the person types Ctrl-C or Ctrl-D.
 */
export const askOnTerminal = (question: string): Promise<string> => answerTo(question, process.stderr);

/** Does the same as {@link askOnTerminal}, and does not show the answer, which is a password. */
export const askForSecret = async (question: string): Promise<string> => {
  process.stderr.write(question);
  try {
    return await answerTo('', silent());
  } finally {
    process.stderr.write('\n');
  }
};
