import type { StreamName } from '../../services/kernel/stream.js';

/** `/` stands in no stream name, so it parts the stream from the rest; `%` makes the escape one to one. */
const escape = (part: string): string => part.replace(/[%/]/gu, (char) => (char === '%' ? '%25' : '%2F'));

/** The key of one of the documents that a stream feeds; different parts never share one. */
export const documentKey = (stream: StreamName, ...parts: readonly string[]): string =>
  [stream, ...parts.map(escape)].join('/');
