import type { Brand } from './brand.js';
import { sha256Hex } from './encoding/hash.js';

/** The name of a stream: `<category>-<id>`, at most 512 bytes; different things never share one. */
export type StreamName = Brand<string, 'StreamName'>;

const MAX_BYTES = 512;
const UNRESERVED = /[^A-Za-z0-9._-]/gu;
const encoder = new TextEncoder();

const escape = (text: string): string =>
  text.replace(UNRESERVED, (char) =>
    Array.from(encoder.encode(char), (byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
  );

/**
 * Names the stream of a thing.
 *
 * Each part is percent-encoded but for `[A-Za-z0-9._-]`, and joined by colons. A name above 512 bytes has its last
 * part replaced by the part's SHA-256, marked with `~`, which no encoded part contains.
 */
export const streamName = (category: string, parts: readonly string[]): StreamName => {
  const name = `${category}-${parts.map(escape).join(':')}`;
  if (name.length <= MAX_BYTES) return name as StreamName;
  const head = parts.slice(0, -1).map(escape);
  const short = `${category}-${[...head, `~${sha256Hex(parts.at(-1) ?? '')}`].join(':')}`;
  return (short.length <= MAX_BYTES ? short : `${category}-~${sha256Hex(name)}`) as StreamName;
};

/** The parts that a stream is named by; one that has only its hash in the name, and any after it, is left out. */
export const partsOf = (stream: StreamName): readonly string[] => {
  const parts = stream.slice(categoryOf(stream).length + 1).split(':');
  return parts.filter((part) => !part.startsWith('~')).map(decodeURIComponent);
};

/** The category of a stream: what stands before the first dash. */
export const categoryOf = (stream: string): string => {
  const dash = stream.indexOf('-');
  return dash < 0 ? stream : stream.slice(0, dash);
};

/** Whether the first part that a stream is named by is this one: its project, in all streams of the control plane. */
export const isInScope = (stream: string, project: string): boolean =>
  stream.slice(categoryOf(stream).length + 1).split(':', 1)[0] === escape(project);
