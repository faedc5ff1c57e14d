import type { NewEvent } from '../../kernel/event.js';
import type { Append } from '../append.js';
import type { Placement } from './append-batch.js';
import { type Database } from './schema.js';
import type { StreamHead } from './stream-heads.js';

/** With expected revision `any`, the ids of this many last events of a stream are searched. */
const KNOWN_IDS = 4_096;

type IdRow = [id: Uint8Array, position: number];

/**
 * Finds an earlier append of the same events.
 *
 * @returns its revision and position; `undefined` when nothing is recorded in its place; `null` for a conflict: other
 * events are recorded there, only some of these, or these in another order. The place is after the expected revision;
 * with `any`, it begins at the first of the ids that is found.
 */
export type FindRecordedIds = (append: Append, stream: StreamHead) => Placement | null | undefined;

const sameBytes = (a: Uint8Array, b: Uint8Array): boolean => Buffer.compare(a, b) === 0;

const keyOf = (id: Uint8Array): string => Buffer.from(id.buffer, id.byteOffset, id.length).toString('latin1');

/** Searches ids through the writer's connection, so that events inserted by its open transaction are found too. */
export const recordedIds = (db: Database): FindRecordedIds => {
  const idsFrom = db.prepare(
    'SELECT id, position FROM events WHERE stream = ? AND revision >= ? ORDER BY revision LIMIT ?',
    { returnArrays: true },
  );
  const idsAt = (stream: StreamHead, from: number, limit: number): IdRow[] =>
    idsFrom.all(stream.id, from, limit) as IdRow[];

  const placementAt = (events: readonly NewEvent[], stream: StreamHead, from: number): Placement | null => {
    const rows = idsAt(stream, from, events.length);
    const last = rows.at(-1);
    const isSame = rows.length === events.length && rows.every(([id], i) => sameBytes(id, events[i]?.id ?? id));
    return last && isSame ? { revision: from + rows.length - 1, position: last[1] } : null;
  };

  const placementAnywhere = (events: readonly NewEvent[], stream: StreamHead): Placement | null | undefined => {
    const wanted = new Set(events.map((event) => keyOf(event.id)));
    const start = Math.max(0, stream.revision + 1 - KNOWN_IDS);
    const found = idsAt(stream, start, KNOWN_IDS).findIndex(([id]) => wanted.has(keyOf(id)));
    return found < 0 ? undefined : placementAt(events, stream, start + found);
  };

  return ({ expected, events }, stream) => {
    if (expected === 'any') return placementAnywhere(events, stream);
    const from = expected === 'no-stream' ? 0 : Number(expected) + 1;
    return stream.revision < from ? undefined : placementAt(events, stream, from);
  };
};
