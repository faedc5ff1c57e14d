import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { RecordedEvent } from '../../kernel/event.js';
import { type Append, packAppends, unpackAppends } from '../log/append-batch.js';

const [compress, decompress] = [promisify(gzip), promisify(gunzip)];

/** Events of one stream that follow each other are one append, up to this; one event alone may be larger. */
const MAX_RUN_BYTES = 500_000;

const bytesOf = ({ data, metadata, type }: RecordedEvent): number => data.length + 3 * metadata.length + type.length;

/** The appends that record the events again at the same revisions and in the same order. */
const appendsOf = (events: readonly RecordedEvent[]): Append[] => {
  const runs: RecordedEvent[][] = [];
  let bytes = 0;
  for (const event of events) {
    const run = runs.at(-1);
    bytes += bytesOf(event);
    if (run?.[0]?.stream === event.stream && bytes <= MAX_RUN_BYTES) run.push(event);
    else {
      runs.push([event]);
      bytes = bytesOf(event);
    }
  }
  return runs.flatMap((run): Append[] => {
    const [first] = run;
    if (!first) return [];
    return [{ stream: first.stream, expected: first.revision === 0n ? 'no-stream' : first.revision - 1n, events: run }];
  });
};

/** Packs events that follow each other in the log. */
export const packSegment = (events: readonly RecordedEvent[]): Promise<Uint8Array> =>
  compress(packAppends(appendsOf(events)), { level: 1 });

/** Reads what `packSegment` has packed. */
export const unpackSegment = async (packed: Uint8Array): Promise<readonly Append[]> =>
  unpackAppends(await decompress(packed));
