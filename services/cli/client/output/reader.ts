import { errorText } from '../../../kernel/error-text.js';

/** The exit code once the reader of the output has left; `undefined` for a command that then continues to its end. */
let exitCode: number | undefined;

const onLostOutput = (error: NodeJS.ErrnoException): void => {
  if (error.code !== 'EPIPE') {
    process.stderr.write(`flightlog: standard output cannot be written: ${errorText(error)}\n`);
    process.exit(1);
  }
  if (exitCode !== undefined) process.exit(exitCode);
};

const onLostMessages = (): void => undefined;

/**
 * Ends the process with code 1 when its output cannot be written, such as to a full disk. A reader that leaves before
 * the end ends no work, unless {@link endWithReader} was called: the rest of the output, and of the messages on
 * standard error, is dropped.
 */
export const handleLostOutput = (): void => {
  process.stdout.off('error', onLostOutput).on('error', onLostOutput);
  process.stderr.off('error', onLostMessages).on('error', onLostMessages);
};

/**
 * Ends the process when the reader of its output leaves before the end, as `head` does. The exit code is that of the
 * last call.
 */
export const endWithReader = (code = 0): void => {
  exitCode = code;
  handleLostOutput();
};
