/** The message of an error, or the text of whatever else was thrown. */
export const errorText = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** The error that was thrown; whatever else was thrown becomes an error with its text. */
export const asError = (thrown: unknown): Error => (thrown instanceof Error ? thrown : new Error(String(thrown)));
