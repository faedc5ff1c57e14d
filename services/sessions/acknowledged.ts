import type { Acknowledged } from '../kernel/ports/sessions.js';
import { RecencyMap } from '../kernel/recency-map.js';
import type { StreamName } from '../kernel/stream.js';

const MAX_STREAMS = 20_000;

/**
 * The start of a stream name up to its second colon, for example `execution-flytesnacks:development:`; without a second
 * colon, up to the dash.
 */
export const prefixOf = (stream: string): string => {
  const second = stream.indexOf(':', stream.indexOf(':') + 1);
  return stream.slice(0, (second < 0 ? stream.indexOf('-') : second) + 1);
};

/** The category of a prefix, with its dash: the prefix of streams whose names are hashed, because they are too long. */
const categoryPrefixOf = (prefix: string): string => prefix.slice(0, prefix.indexOf('-') + 1);

const laterOf = (a: bigint | undefined, b: bigint | undefined): bigint | undefined =>
  a === undefined || (b !== undefined && b > a) ? b : a;

/**
 * Remembers the acknowledged positions of the `MAX_STREAMS` last written streams, and of every prefix that
 * {@link prefixOf} gives.
 */
export const rememberAcknowledged = (): Acknowledged & {
  note(stream: StreamName, prefix: string, at: bigint): void;
} => {
  const streams = new RecencyMap<StreamName, bigint>();
  const prefixes = new Map<string, bigint>();
  return {
    ofStream: (stream) => streams.get(stream),
    ofPrefix: (prefix) => laterOf(prefixes.get(prefix), prefixes.get(categoryPrefixOf(prefix))),
    streamUnder: (prefix) => {
      for (const stream of streams.keys()) if (stream.startsWith(prefix)) return stream;
      return undefined;
    },
    note: (stream, prefix, at) => {
      if (at > (prefixes.get(prefix) ?? 0n)) prefixes.set(prefix, at);
      streams.set(stream, at);
      const oldest = streams.size > MAX_STREAMS ? streams.oldest() : undefined;
      if (oldest) streams.delete(oldest.key);
    },
  };
};
