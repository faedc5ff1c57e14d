import type { StreamName } from '../../services/kernel/stream.js';

/**
 * No stream name of a control plane contains `/`, so it separates the stream from the rest; escaping `%` too keeps the
 * mapping one-to-one.
 */
const escape = (part: string): string =>
  part.includes('%') || part.includes('/') ? part.replaceAll('%', '%25').replaceAll('/', '%2F') : part;

/** Key of a document that a stream feeds; different streams or parts never share a key. */
export const documentKey = (stream: StreamName, ...parts: readonly string[]): string =>
  [stream, ...parts.map(escape)].join('/');

/** The stream of a document's key. */
export const streamOfKey = (key: string): StreamName => key.split('/', 1)[0] as StreamName;
