import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { NewEvent, RecordedEvent } from '../../kernel/event.js';
import type { Append } from '../append.js';
import { packAppends, unpackAppends } from '../log/append-batch.js';

const [compress, decompress] = [promisify(gzip), promisify(gunzip)];

/** Consecutive events of one stream become one append of up to this size; a single event may be larger. */
const MAX_RUN_BYTES = 500_000;

/** Upper bound of an event's size in an append: UTF-8 needs at most three bytes per UTF-16 code unit. */
const maxBytesOf = ({ id, type, metadata, data }: NewEvent): number =>
  id.length + 3 * (type.length + metadata.length) + data.length;

/** An append of events whose first revision is known. */
const appendAt = (stream: string, revision: bigint, events: readonly NewEvent[]): Append => ({
  stream,
  expected: revision === 0n ? 'no-stream' : revision - 1n,
  events,
});

/** Splits an append into appends of up to `MAX_RUN_BYTES`, or of one larger event. */
const split = ({ stream, expected, events }: Append): Append[] => {
  const runs: NewEvent[][] = [];
  let bytes = 0;
  for (const event of events) {
    const run = runs.at(-1);
    bytes += maxBytesOf(event);
    if (run && bytes <= MAX_RUN_BYTES) run.push(event);
    else {
      runs.push([event]);
      bytes = maxBytesOf(event);
    }
  }
  let revision = typeof expected === 'bigint' ? expected + 1n : 0n;
  return runs.map((run) => {
    const append = appendAt(stream, revision, run);
    revision += BigInt(run.length);
    return append;
  });
};

/** Converts events to appends that record them again at the same revisions and in the same order. */
const appendsOf = (events: readonly RecordedEvent[]): Append[] => {
  const runs: RecordedEvent[][] = [];
  for (const event of events) {
    const run = runs.at(-1);
    if (run?.[0]?.stream === event.stream) run.push(event);
    else runs.push([event]);
  }
  return runs.flatMap((run) => {
    const [first] = run;
    return first ? split(appendAt(first.stream, first.revision, run)) : [];
  });
};

/** Packs consecutive events of the log, compressed with gzip. */
export const packSegment = (events: readonly RecordedEvent[]): Promise<Uint8Array> =>
  compress(packAppends(appendsOf(events)), { level: 1 });

/**
 * Unpacks the events of `packSegment` as appends that a log accepts; those of earlier releases may be too large, and
 * are split.
 */
export const unpackSegment = async (packed: Uint8Array): Promise<readonly Append[]> =>
  unpackAppends(await decompress(packed)).flatMap(split);
