/** The message of an error, or the text of whatever else was thrown. */
export const errorText = (error: unknown): string => (error instanceof Error ? error.message : String(error));
