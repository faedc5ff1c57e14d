import { asError } from '../kernel/error-text.js';

/**
 * Closes parts one after another, also those after one that fails.
 *
 * @throws the first failure, when all are closed.
 */
export const closeInOrder = async (parts: readonly ({ close(): unknown } | undefined)[]): Promise<void> => {
  const failures: Error[] = [];
  for (const part of parts) {
    try {
      await part?.close();
    } catch (error) {
      failures.push(asError(error));
    }
  }
  const [first] = failures;
  if (first) throw first;
};
