import { sha256Hex } from './encoding/hash.js';

declare const brand: unique symbol;

/** A nominal type, so that two kinds of the same base type cannot be mixed up. */
type Brand<Value, Name extends string> = Value & { readonly [brand]: Name };

/** The name of a stream: `<category>-<id>`, at most 512 bytes; different subjects never share a name. */
export type StreamName = Brand<string, 'StreamName'>;

const MAX_BYTES = 512;
const UNRESERVED = /[^A-Za-z0-9._-]/gu;
const encoder = new TextEncoder();

const escape = (text: string): string =>
  text.replace(UNRESERVED, (char) =>
    Array.from(encoder.encode(char), (byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join(''),
  );

/**
 * Builds the name of a stream.
 *
 * Each component is percent-encoded except for `[A-Za-z0-9._-]`; components are joined by colons. In a name above 512
 * bytes the last component is replaced by its SHA-256, marked with `~`, which no encoded component contains. If that is
 * still too long, the id is `~` and the SHA-256 of the whole name.
 */
export const streamName = (category: string, components: readonly string[]): StreamName => {
  const name = `${category}-${components.map(escape).join(':')}`;
  if (name.length <= MAX_BYTES) return name as StreamName;
  const head = components.slice(0, -1).map(escape);
  const short = `${category}-${[...head, `~${sha256Hex(components.at(-1) ?? '')}`].join(':')}`;
  return (short.length <= MAX_BYTES ? short : `${category}-~${sha256Hex(name)}`) as StreamName;
};

/**
 * The decoded components of a stream's name, without those that the name has only as a hash. Empty for a name whose
 * components cannot be decoded: another program has given it.
 */
export const componentsOf = (stream: StreamName): readonly string[] => {
  const components = stream.slice(categoryOf(stream).length + 1).split(':');
  try {
    return components.filter((component) => !component.startsWith('~')).map(decodeURIComponent);
  } catch {
    return [];
  }
};

/** The category of a stream: the text before the first dash. */
export const categoryOf = (stream: string): string => {
  const dash = stream.indexOf('-');
  return dash < 0 ? stream : stream.slice(0, dash);
};

/**
 * True when the first component of the stream's name is `project`. In streams of the control plane that belong to no
 * project, such as those of principals, this component is empty, except in `log-format`.
 */
export const isInProject = (stream: string, project: string): boolean =>
  stream.slice(categoryOf(stream).length + 1).split(':', 1)[0] === escape(project);
