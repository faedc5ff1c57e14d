let exitCode = 0;

const leave = (): void => process.exit(exitCode);

/**
 * Ends the process when the reader of its output leaves before the end, as `head` does. The exit code is that of the last
 * call.
 */
export const endWithReader = (code = 0): void => {
  exitCode = code;
  process.stdout.off('error', leave).on('error', leave);
};
