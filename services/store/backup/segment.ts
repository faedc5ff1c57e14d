import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { RecordedEvent } from '../../kernel/event.js';
import type { Append } from '../append.js';
import { packAppends, unpackAppends } from '../log/append-batch.js';

const [compress, decompress] = [promisify(gzip), promisify(gunzip)];

/** Consecutive events of one stream become one append of up to this size; a single event may be larger. */
const MAX_RUN_BYTES = 500_000;

/** Upper bound of an event's size in an append: UTF-8 needs at most three bytes per UTF-16 code unit. */
const maxBytesOf = ({ id, type, metadata, data }: RecordedEvent): number =>
  id.length + 3 * (type.length + metadata.length) + data.length;

/** Converts events to appends that record them again at the same revisions and in the same order. */
const appendsOf = (events: readonly RecordedEvent[]): Append[] => {
  const runs: RecordedEvent[][] = [];
  let bytes = 0;
  for (const event of events) {
    const run = runs.at(-1);
    bytes += maxBytesOf(event);
    if (run?.[0]?.stream === event.stream && bytes <= MAX_RUN_BYTES) run.push(event);
    else {
      runs.push([event]);
      bytes = maxBytesOf(event);
    }
  }
  return runs.flatMap((run): Append[] => {
    const [first] = run;
    if (!first) return [];
    return [{ stream: first.stream, expected: first.revision === 0n ? 'no-stream' : first.revision - 1n, events: run }];
  });
};

/** Packs consecutive events of the log, compressed with gzip. */
export const packSegment = (events: readonly RecordedEvent[]): Promise<Uint8Array> =>
  compress(packAppends(appendsOf(events)), { level: 1 });

/** Unpacks the events of `packSegment` as appends. */
export const unpackSegment = async (packed: Uint8Array): Promise<readonly Append[]> =>
  unpackAppends(await decompress(packed));
