import type { StreamName } from '../../services/kernel/stream.js';

/**
 * No stream name contains `/`, so it separates the stream from the rest; escaping `%` too keeps the mapping one-to-one.
 */
const escape = (part: string): string => part.replace(/[%/]/gu, (char) => (char === '%' ? '%25' : '%2F'));

/** Key of a document that a stream feeds; different streams or parts never share a key. */
export const documentKey = (stream: StreamName, ...parts: readonly string[]): string =>
  [stream, ...parts.map(escape)].join('/');
