import type { EventCodec } from '../../../services/kernel/aggregate.js';
import type { RecordedEvent } from '../../../services/kernel/event.js';
import { CorruptEvent, UnknownEvent } from '../../../services/kernel/fault.js';
import type { Content, PayloadStore } from '../../../services/kernel/ports/payload-store.js';
import { streamName } from '../../../services/kernel/stream.js';
import type { ReadModel } from '../../../projections/runtime/read-model.js';
import type { StoredDocument } from '../../../projections/runtime/read-store.js';

/** A small domain for tests of projections: tallies, with one document for each part of a tally. */
export type TallyEvent = { parts: string[]; amount: number; note?: Content };

/** A document: the sum of the amounts, and the positions of the events that it was folded from. */
export type Tally = { sum: number; seen: string[]; note?: string };

/** A codec that cannot decode the types `Corrupt` and `FromTheFuture`; `decoded` counts what it was asked to decode. */
export const tallyCodec: EventCodec<TallyEvent> & { decoded: number } = {
  decoded: 0,
  encode: (event) => ({ type: 'Added', data: Buffer.from(JSON.stringify(event)) }),
  decode: (type, data) => {
    tallyCodec.decoded += 1;
    if (type === 'Corrupt') throw new CorruptEvent('the bytes are no tally');
    if (type === 'FromTheFuture') throw new UnknownEvent(`no event ${type} is known`);
    return JSON.parse(Buffer.from(data).toString()) as TallyEvent;
  },
  contents: ({ note }) => (note ? [note] : []),
};

const textOf = (note: Content | undefined): string | undefined =>
  note?.content.case === 'inline' ? Buffer.from(note.content.value).toString() : undefined;

const decode = ({ foldState }: StoredDocument): Tally => JSON.parse(Buffer.from(foldState!).toString()) as Tally;

/**
 * Folds in place, as read models may. `Refused` fails half-way through, and `Odd` produces a document that cannot be
 * stored.
 */
export const tallies: ReadModel<Tally> = {
  collection: { name: 'tallies', version: 1, fields: { sum: 'integer' }, indexes: [['sum']] },
  follows: ['Added', 'Refused', 'Odd', 'Corrupt'],
  touches: ({ stream, body }) => (body as TallyEvent).parts.map((part) => `${stream}/${part}`),
  fold: (document, event) => {
    const { amount, note } = event.body as TallyEvent;
    const tally = document ?? { sum: 0, seen: [] };
    tally.sum = event.type === 'Odd' ? NaN : tally.sum + amount;
    if (event.type === 'Refused') throw new Error('this tally is refused');
    tally.seen.push(event.position.toString());
    const text = textOf(note);
    if (text !== undefined) tally.note = text;
    return tally;
  },
  encode: (key, tally) => {
    if (Number.isNaN(tally.sum)) throw new Error('no such sum');
    return {
      fields: { sum: tally.sum },
      response: Buffer.from(`${key} ${tally.sum} ${tally.note ?? ''}`),
      foldState: Buffer.from(JSON.stringify(tally)),
    };
  },
  decode,
};

/** A second model on the same events: the number of events of each stream. */
export const counts: ReadModel<{ count: number }> = {
  collection: { name: 'counts', version: 1, fields: {}, indexes: [] },
  follows: ['Added', 'Refused', 'Odd', 'Corrupt'],
  touches: ({ stream }) => [stream],
  fold: (document) => ({ count: (document?.count ?? 0) + 1 }),
  encode: (_, { count }) => ({ fields: {}, response: Buffer.from(String(count)) }),
  decode: ({ response }) => ({ count: Number(Buffer.from(response).toString()) }),
};

/** A third model: the sum over all streams for each part, so that several streams write to one document. */
export const totals: ReadModel<{ sum: number; events: number }> = {
  collection: { name: 'totals', version: 1, fields: { sum: 'integer' }, indexes: [] },
  follows: ['Added', 'Refused', 'Corrupt'],
  isFedByOneStream: false,
  touches: ({ body }) => (body as TallyEvent).parts.map((part) => `total/${part}`),
  fold: (document, { type, body }) => {
    if (type === 'Refused') throw new Error('this tally is refused');
    const total = document ?? { sum: 0, events: 0 };
    total.events += 1;
    total.sum = type === 'Odd' ? NaN : total.sum + (body as TallyEvent).amount;
    return total;
  },
  encode: (_, { sum, events }) => {
    if (Number.isNaN(sum)) throw new Error('no such sum');
    return { fields: { sum }, response: Buffer.from(String(events)) };
  },
  decode: ({ fields, response }) => ({ sum: Number(fields['sum']), events: Number(Buffer.from(response).toString()) }),
};

export const noPayloads: PayloadStore = {
  put: () => Promise.reject(new Error('nothing is put here')),
  get: () => Promise.resolve(undefined),
  close: () => Promise.resolve(),
};

/** The fields of an event that a test may give; the others have defaults. */
export type Written = { readonly stream: string; readonly type?: string } & Partial<TallyEvent>;

/** The metadata of an event, as a log stores them. */
export const metadata = (recordedAtMs = 1_000): string =>
  JSON.stringify({ recordedAtMs, actor: '', commandId: 'c', schema: 1 });

/** The events as a log records them, with consecutive positions from 1. */
export const recorded = (written: readonly Written[]): RecordedEvent[] => {
  const revisions = new Map<string, bigint>();
  return written.map(({ stream, type = 'Added', ...body }, index) => {
    const revision = revisions.get(stream) ?? 0n;
    revisions.set(stream, revision + 1n);
    const { data } = tallyCodec.encode({ parts: ['a'], amount: 1, ...body });
    const name = streamName('tally', [stream]);
    const id = Buffer.alloc(16, index);
    return { id, type, data, metadata: metadata(), stream: name, revision, position: BigInt(index + 1) };
  });
};
