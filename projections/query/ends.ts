/** Characters that are kept at each end of a long text. */
const KEPT = 1_000;

/**
 * Shortens a text of more than 2,000 characters to its first and last 1,000, with `…` between: an error says at the
 * beginning what has failed, and a traceback at the end why.
 */
export const endsOf = (text: string): string =>
  text.length <= 2 * KEPT ? text : `${text.slice(0, KEPT)}…${text.slice(-KEPT)}`;
