import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { projector } from '../../../projections/runtime/projector.js';
import type { ReadModel } from '../../../projections/runtime/read-model.js';
import type { ReadStore } from '../../../projections/runtime/read-store.js';
import { unprojectedEvents, type UnprojectedOptions } from '../../../projections/runtime/unprojected-events.js';
import { sqliteReadStore } from '../../../projections/store/sqlite/sqlite-read-store.js';
import type { RecordedEvent } from '../../../services/kernel/event.js';
import type { EventLog } from '../../../services/kernel/ports/event-store.js';
import { streamName } from '../../../services/kernel/stream.js';
import { counts, noPayloads, recorded, tallies, tallyCodec, totals, type Written } from './tallies.js';

/** Documents with the same keys as those of `counts`, as tasks and their descriptions have the same keys. */
const twins: ReadModel<{ count: number }> = {
  ...counts,
  collection: { ...counts.collection, name: 'twins' },
  encode: (_, { count }) => ({ fields: {}, response: Buffer.from(`twin ${count}`) }),
  decode: ({ response }) => ({ count: Number(Buffer.from(response).toString().slice(5)) }),
};
const models: readonly ReadModel<unknown>[] = [twins, tallies, counts, totals];
const s = streamName('tally', ['s']);

let store: ReadStore;
beforeEach(async () => {
  const directory = mkdtempSync(join(tmpdir(), 'flightlog-unprojected-'));
  store = sqliteReadStore({ directory, mode: 'read-write' });
  await store.prepare(models.map(({ collection }) => collection));
});
afterEach(() => store.close());

const codecs = new Map([['tally', tallyCodec]]);

/** Projects the first `count` events to the views. */
const project = async (events: readonly RecordedEvent[], count: number, logId = 'log'): Promise<void> => {
  const target = await projector({ readStore: store, logId, codecs, payloads: noPayloads, models, onPoison: 'park' });
  await target.take(events.slice(0, count), BigInt(count));
};

/** A log that gives its streams in pages, as the embedded log does; here a page has two events. */
const logOf = (events: readonly RecordedEvent[]): Pick<EventLog, 'logId' | 'readStream'> => ({
  logId: 'log',
  async *readStream(stream, { from = 0n, direction = 'forwards' } = {}) {
    const own = events.filter((event) => event.stream === stream && event.revision >= from);
    const ordered = direction === 'backwards' ? own.toReversed() : own;
    for (let start = 0; start < ordered.length; start += 2)
      yield await Promise.resolve(ordered.slice(start, start + 2));
  },
});

const unprojected = (events: readonly RecordedEvent[], more: Partial<UnprojectedOptions> = {}) =>
  unprojectedEvents({
    log: logOf(events),
    readStore: store,
    codecs,
    payloads: noPayloads,
    models,
    now: () => 0,
    limitMs: 1_000,
    ...more,
  });

type Asked = { readonly collection: string } & ({ readonly key: string } | { readonly under: string });

/** The documents that a read gets of the unprojected events of the stream s: key, position and text of each. */
const foldedFor = async (events: readonly RecordedEvent[], wanted: Asked, more = {}) => {
  const documents = await unprojected(events, more).fold({ stream: s, ...wanted });
  return documents.map(({ key, position, response }) => [key, position, Buffer.from(response).toString().trim()]);
};

describe('the unprojected part of a stream', () => {
  const written: Written[] = [
    { stream: 's', parts: ['a', 'b'], amount: 1 },
    { stream: 't', amount: 100 },
    { stream: 's', amount: 2 },
    { stream: 's', parts: ['a', 'c'], amount: 4 },
  ];
  const events = recorded(written);

  it.each([
    ['counts', [[s, 4n, '3']]],
    ['twins', [[s, 4n, 'twin 3']]],
  ])(
    'is folded for the collection that is asked for, and for no other with the same key: %s',
    async (name, expected) => {
      await project(events, 1);
      expect(await foldedFor(events, { collection: name, key: s })).toEqual(expected);
    },
  );

  it('is folded over what the views have, and only its own events are decoded', async () => {
    await project(events, 3);
    tallyCodec.decoded = 0;
    expect(await foldedFor(events, { collection: 'tallies', key: `${s}/a` })).toEqual([[`${s}/a`, 4n, `${s}/a 7`]]);
    expect(tallyCodec.decoded).toBe(1);
  });

  it('is folded to the documents whose keys begin with a text', async () => {
    await project(events, 1);
    expect(await foldedFor(events, { collection: 'tallies', under: `${s}/` })).toEqual([
      [`${s}/a`, 4n, `${s}/a 7`],
      [`${s}/c`, 4n, `${s}/c 4`],
    ]);
    expect(await foldedFor(events, { collection: 'tallies', under: 'tally-t/' })).toEqual([]);
  });

  it('is empty where the views have the whole stream, and all of it where the views are of another log', async () => {
    await project(events, 4);
    expect(await foldedFor(events, { collection: 'counts', key: s })).toEqual([]);
    await store.clear();
    await project(recorded([{ stream: 't' }, { stream: 't' }, { stream: 't' }]), 3, 'another');
    expect(await foldedFor(events, { collection: 'counts', key: s })).toEqual([[s, 4n, '3']]);
  });

  it('is not written to the store, and is folded again by the next read', async () => {
    await project(events, 1);
    await foldedFor(events, { collection: 'counts', key: s });
    expect((await store.get(counts.collection, s))?.position).toBe(1n);
    expect(await foldedFor(events, { collection: 'counts', key: s })).toEqual([[s, 4n, '3']]);
  });

  it('of a parked stream begins where it was parked, also for documents that other streams feed', async () => {
    const future = recorded([
      { stream: 's', amount: 1 },
      { stream: 's', amount: 2, type: 'FromTheFuture' },
      { stream: 't', amount: 100 },
      { stream: 's', amount: 4 },
    ]);
    await project(future, 3);
    expect(await store.parked()).toMatchObject([{ stream: s, position: 2n }]);
    const upgraded = {
      codecs: new Map([
        ['tally', { ...tallyCodec, decode: (_: string, data: Uint8Array) => tallyCodec.decode('Added', data, 1) }],
      ]),
      models: models.map((model) => ({ ...model, follows: [...model.follows, 'FromTheFuture'] })),
    };
    expect(await foldedFor(future, { collection: 'counts', key: s }, upgraded)).toEqual([[s, 4n, '3']]);
    expect(await foldedFor(future, { collection: 'totals', key: 'total/a' }, upgraded)).toEqual([['total/a', 4n, '4']]);
  });

  it('of a parked stream does not begin where another stream or other views were parked', async () => {
    const future = recorded([
      { stream: 'r', type: 'FromTheFuture' },
      { stream: 's', amount: 2 },
      { stream: 's', amount: 4, type: 'FromTheFuture' },
      { stream: 's', amount: 8, type: 'Ignored' },
      { stream: 's', amount: 16 },
    ]);
    const checkpoints = [{ name: 'others', from: undefined, to: { logId: 'log', position: 1n } }];
    const parked = [{ views: 'others', stream: s, from: undefined, to: { position: 1n, reason: 'theirs' } }];
    await store.write({ documents: [], checkpoints, parked });
    await project(future, 5);
    expect(await store.parked()).toHaveLength(3);
    const decode = (_: string, data: Uint8Array) => tallyCodec.decode('Added', data, 1);
    const upgraded = {
      codecs: new Map([['tally', { ...tallyCodec, decode }]]),
      models: models.map((model) => ({ ...model, follows: [...model.follows, 'FromTheFuture'] })),
    };
    expect(await foldedFor(future, { collection: 'totals', key: 'total/a' }, upgraded)).toEqual([['total/a', 5n, '3']]);
  });

  it('is folded within the time limit, and no longer', async () => {
    await project(events, 1);
    /** A clock that begins at 0 and advances by `stepMs` with each read after the first. */
    const clock = (stepMs: number) => {
      let nowMs = -stepMs;
      return { now: () => (nowMs += stepMs) };
    };
    expect(await foldedFor(events, { collection: 'counts', key: s }, clock(1_000))).toHaveLength(1);
    await expect(foldedFor(events, { collection: 'counts', key: s }, clock(1_001))).rejects.toThrow(
      'takes more than 1000 ms',
    );
  });

  it.each([
    [
      'takes too long',
      {
        now: (() => {
          let nowMs = 0;
          return () => (nowMs += 1_100);
        })(),
      },
      {
        code: 'store-unavailable',
        message: expect.stringMatching(
          /^folding the events of tally-\S+ that are not projected yet takes more than 1000 ms$/u,
        ) as string,
      },
    ],
    [
      'cannot be read',
      {
        codecs: new Map([
          ['tally', { ...tallyCodec, decode: () => tallyCodec.decode('Corrupt', new Uint8Array(), 1) }],
        ]),
      },
      { code: 'stream-parked', stream: s, message: expect.stringContaining('the bytes are no tally') as string },
    ],
  ])('leads to a fault when it %s', async (_, more, reason) => {
    await project(events, 1);
    await expect(foldedFor(events, { collection: 'counts', key: s }, more)).rejects.toMatchObject(reason);
  });

  it('leads to a fault when more than 10,000 of its documents are asked for', async () => {
    const parts = Array.from({ length: 10_001 }, (_, at) => `p${at}`);
    const wide = recorded([{ stream: 's', parts }]);
    await expect(foldedFor(wide, { collection: 'tallies', under: `${s}/` })).rejects.toMatchObject({
      code: 'store-unavailable',
      message: expect.stringContaining('more than 10000 documents') as string,
    });
    expect(await foldedFor(wide, { collection: 'tallies', key: `${s}/p7` })).toHaveLength(1);
    const enough = recorded([{ stream: 's', parts: parts.slice(1) }]);
    expect(await foldedFor(enough, { collection: 'tallies', under: `${s}/` })).toHaveLength(10_000);
  });
});
