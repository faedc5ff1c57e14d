/** The code of an error, such as `ENOENT` of the file system; empty for errors without a code. */
export const fileErrorCode = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? '';

/**
 * Awaits the result of a file operation.
 *
 * @returns `undefined` when the file or folder does not exist.
 * @throws all other errors of the operation, as they are.
 */
export const ifExists = async <Result>(work: Promise<Result>): Promise<Result | undefined> => {
  try {
    return await work;
  } catch (error) {
    if (fileErrorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
};
