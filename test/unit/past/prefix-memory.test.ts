import { describe, expect, it } from 'vitest';

import {
  type FilledStore,
  type FoldMemory,
  foldPrefix,
  type Prefix,
  type PrefixSources,
} from '../../../projections/runtime/prefix-fold.js';
import type { ReadModel } from '../../../projections/runtime/read-model.js';
import { temporaryReadStore } from '../../../projections/store/sqlite/temporary-read-store.js';
import type { RecordedEvent } from '../../../services/kernel/event.js';
import { StoreUnavailable, StreamParked } from '../../../services/kernel/fault.js';
import { streamName } from '../../../services/kernel/stream.js';
import { counts, metadata, recorded, tallies, tallyCodec, type Written } from '../projections-kernel/tallies.js';
import { logIn, noPayloads } from '../streams/history/recorded.js';

const models: readonly ReadModel<unknown>[] = [tallies, counts];
/** The stream of all events that are folded here. */
const s = streamName('tally', ['s']);

/** Opens stores for a fold; `steps` are the calls, those that read and write with the number of documents: `write 3`. */
type Steps = { steps: string[]; openStore: () => Promise<FilledStore> };

/** With `fails`, the steps for which it is true fail. */
const stores = (fails: (step: string) => boolean = () => false): Steps => {
  const steps: string[] = [];
  const step = (name: string): void => {
    steps.push(name);
    if (fails(name)) throw new StoreUnavailable(`cannot ${name}`);
  };
  const openStore = async (): Promise<FilledStore> => {
    step('open');
    const store = await temporaryReadStore(models);
    return {
      ...store,
      getMany: (collection, keys) => {
        step(`read ${keys.length}`);
        return store.getMany(collection, keys);
      },
      write: async (batch) => {
        step(`write ${batch.documents.length}`);
        expect(batch.checkpoints).toEqual([]);
        await store.write(batch);
      },
      finish: async () => {
        step('finish');
        await store.finish();
      },
      close: async () => {
        step('close');
        await store.close();
      },
    };
  };
  return { steps, openStore };
};

/** Folds a prefix of the stream `s`, with the default limits of memory where `memory` is not given. */
const fold = (
  events: readonly RecordedEvent[],
  { openStore }: Pick<Steps, 'openStore'>,
  memory?: Partial<FoldMemory>,
  more: Partial<Prefix> & Partial<PrefixSources> = {},
) => {
  const { until, isWanted, ...sources } = more;
  return foldPrefix(
    {
      log: logIn(events),
      payloads: noPayloads,
      codecs: new Map([['tally', tallyCodec]]),
      models,
      openStore,
      ...sources,
    },
    { stream: s, until, ...(isWanted && { isWanted }) },
    memory && { maxDocuments: 100, maxEventBytes: 1e6, cacheBytes: 0, heldEventBytes: 1e6, ...memory },
  );
};

/** Makes `count` events of the stream `s`. */
const written = (count: number, more: Partial<Written> = {}): RecordedEvent[] =>
  recorded(Array.from({ length: count }, () => ({ stream: 's', ...more })));

describe('the memory of a folded prefix', () => {
  it('holds all documents where they fit, and opens no store before a query needs one', async () => {
    const events = written(3, { parts: ['a', 'b'] });
    const { steps, openStore } = stores();
    const folded = await fold(events, { openStore }, { heldEventBytes: 1e6 });
    expect([...folded.keys]).toEqual([
      ['tallies', new Set([`${s}/a`, `${s}/b`])],
      ['counts', new Set([s])],
    ]);
    expect([folded.position, folded.isFinal, steps]).toEqual([3n, false, []]);
    const sums = [...folded.held()!.get('tallies')!.values()].map((each) => folded.encoded(each).fields['sum']);
    expect(sums).toEqual([3, 3]);
    const [store, again] = await Promise.all([folded.toStore(), folded.toStore()]);
    expect(store).toBe(again);
    expect(await folded.toStore()).toBe(store);
    expect(folded.held()).toBeUndefined();
    expect(steps).toEqual(['open', 'write 3', 'finish']);
    expect((await store.get(tallies.collection, `${s}/a`))?.fields['sum']).toBe(3);
    await folded.close();
    expect(steps.at(-1)).toBe('close');

    const unused = stores();
    const closed = await fold(events, unused);
    await closed.close();
    expect(unused.steps).toEqual([]);
  });

  it('is given up for the store when the events of its documents have more bytes than `heldEventBytes`', async () => {
    // The events of each changed document count: here two documents for each event.
    const events = written(2);
    const pending = 2 * events.reduce((sum, { data }) => sum + data.length, 0);
    for (const [heldEventBytes, isHeld] of [
      [pending, true],
      [pending / 4, false],
    ] as const) {
      const { steps, openStore } = stores();
      const folded = await fold(events, { openStore }, { heldEventBytes });
      expect(folded.held() !== undefined).toBe(isHeld);
      expect(steps).toEqual(isHeld ? [] : ['open', 'write 2', 'finish']);
      const store = await folded.toStore();
      expect((await store.get(counts.collection, s))?.position).toBe(2n);
      expect([...folded.keys]).toEqual([
        ['tallies', new Set([`${s}/a`])],
        ['counts', new Set([s])],
      ]);
      await folded.close();
      expect(steps.at(-1)).toBe('close');
    }
  });

  it('is freed once more documents are changed than `maxDocuments`', async () => {
    const events = recorded(['a', 'b', 'c', 'd', 'a', 'a'].map((part) => ({ stream: 's', parts: [part] })));
    const { steps, openStore } = stores();
    // Pages of two events: the first two change two tallies each, the third none of them anew; and each the one count.
    const folded = await fold(events, { openStore }, { maxDocuments: 5 });
    expect(steps).toEqual([]);
    await folded.toStore();
    expect(steps).toEqual(['open', 'write 5', 'finish']);
    await folded.close();
    const few = stores();
    const spilt = await fold(events, few, { maxDocuments: 2 });
    // Nothing is read that was not written: no new tally, and the count once the page before is written.
    expect(few.steps).toEqual(['open', 'write 3', 'read 1', 'write 3', 'read 1', 'read 1', 'write 2', 'finish']);
    const store = await spilt.toStore();
    expect((await store.get(tallies.collection, `${s}/a`))?.fields['sum']).toBe(3);
    expect((await store.get(counts.collection, s))?.position).toBe(6n);
    await spilt.close();
  });

  it('is freed once the events have more bytes than `maxEventBytes`', async () => {
    const events = written(4);
    const { steps, openStore } = stores();
    const folded = await fold(events, { openStore }, { maxEventBytes: 0, cacheBytes: 1e6 });
    expect(steps).toEqual(['open', 'write 2', 'write 2', 'write 0', 'finish']);
    expect(folded.position).toBe(4n);
    await folded.close();
  });

  it('is enough for 3,000 documents by default', async () => {
    const parts = Array.from({ length: 3_000 }, (_, at) => `p${at}`);
    const { steps, openStore } = stores();
    const folded = await fold(written(2, { parts }), { openStore });
    expect([folded.held()?.get('tallies')?.size, steps]).toEqual([3_000, []]);
    await folded.close();
  });

  it('is kept when the store fails as it is filled, and can be written again', async () => {
    const failing = new Set(['open', 'write 2', 'finish']);
    const { steps, openStore } = stores((step) => failing.delete(step));
    const folded = await fold(written(1), { openStore }, {});
    for (const step of ['open', 'write 2', 'finish']) {
      await expect(folded.toStore()).rejects.toThrow(`cannot ${step}`);
      expect(folded.held()?.size).toBe(2);
    }
    const store = await folded.toStore();
    expect((await store.get(counts.collection, s))?.position).toBe(1n);
    await folded.close();
    const attempts = [['open'], ['open', 'write 2', 'close'], ['open', 'write 2', 'finish', 'close']];
    expect(steps).toEqual([...attempts.flat(), 'open', 'write 2', 'finish', 'close']);
  });

  it('has its store closed when the fold fails', async () => {
    const { steps, openStore } = stores();
    const events = [...written(2), ...written(4).slice(2)].map((event, at) =>
      at === 3 ? { ...event, type: 'Corrupt' } : event,
    );
    await expect(fold(events, { openStore }, { maxDocuments: 0 })).rejects.toThrow(StreamParked);
    expect(steps).toEqual(['open', 'write 2', 'read 1', 'read 1', 'close']);
  });
});

describe('a prefix that cannot be folded', () => {
  it.each([
    ['Corrupt', 'the bytes are no tally'],
    ['Refused', 'it cannot be folded'],
  ])('is parked, and does not say the text of a bug, which is for the log: %s', async (type, reason) => {
    const { openStore } = stores();
    const error = await fold(written(1, { type }), { openStore }).catch((each: unknown) => each);
    expect(error).toBeInstanceOf(StreamParked);
    const message = `stream ${s} is parked at position 1: ${reason}`;
    expect(error).toMatchObject({ stream: s, position: 1n, message, cause: { cause: expect.any(Error) as Error } });
  });

  it('is parked for an event that cannot be read, also when none of its documents is wanted', async () => {
    const { openStore } = stores();
    await expect(fold(written(1, { type: 'Corrupt' }), { openStore }, {}, { isWanted: () => false })).rejects.toThrow(
      'the bytes are no tally',
    );
    const unwanted = await fold(written(2), { openStore }, {}, { isWanted: () => false });
    expect([unwanted.position, unwanted.held()?.size]).toEqual([2n, 0]);
  });

  it('is parked where a document cannot be encoded: when it is asked for, or written', async () => {
    const { steps, openStore } = stores();
    const odd = written(1, { type: 'Odd' });
    const folded = await fold(odd, { openStore }, {});
    const [document] = folded.held()!.get('tallies')!.values();
    expect(() => folded.encoded(document!)).toThrow(StreamParked);
    await expect(folded.toStore()).rejects.toThrow(StreamParked);
    expect(steps).toEqual(['open', 'close']);
    await expect(fold(odd, { openStore }, { maxDocuments: 0 })).rejects.toThrow(StreamParked);
  });

  it('fails with the error of its log or of its model unchanged', async () => {
    const away = new TypeError('away');
    const { openStore } = stores();
    const log = {
      readStream: () => {
        throw away;
      },
    };
    await expect(fold([], { openStore }, {}, { log })).rejects.toBe(away);
    const folded = await fold(written(1), { openStore }, {});
    const [document] = folded.held()!.get('tallies')!.values();
    const encode = (): never => {
      throw new StoreUnavailable('no memory');
    };
    expect(() => folded.encoded({ ...document!, model: { ...document!.model, encode } })).toThrow('no memory');
  });
});

describe('the end of a prefix', () => {
  const events = written(5).map((event, at) => ({ ...event, metadata: metadata(1_000 * (at + 1)) }));

  it.each([
    ['none', undefined, 5n, false],
    ['position 0', { position: 0n }, 0n, true],
    ['position 1', { position: 1n }, 1n, true],
    ['position 2', { position: 2n }, 2n, true],
    ['position 4', { position: 4n }, 4n, true],
    ['position 5', { position: 5n }, 5n, false],
    ['the time 999', { timeMs: 999 }, 0n, true],
    ['the time 3_000', { timeMs: 3_000 }, 3n, true],
    ['the time 3_999', { timeMs: 3_999 }, 3n, true],
    ['the time 5_000', { timeMs: 5_000 }, 5n, false],
  ])('with the limit %s is found', async (_, until, position, isFinal) => {
    const { openStore } = stores();
    const folded = await fold(events, { openStore }, {}, { until });
    expect([folded.position, folded.isFinal]).toEqual([position, isFinal]);
    const count = folded.held()?.get('counts')?.get(s);
    expect(count?.document).toEqual(position === 0n ? undefined : { count: Number(position) });
  });

  it('is position 0 where the stream has no events, and may be an event that no view follows', async () => {
    const { openStore } = stores();
    expect(await fold([], { openStore }, {}, { until: { position: 2n } })).toMatchObject({
      position: 0n,
      isFinal: false,
    });
    const others = recorded([
      { stream: 's', parts: ['a', 'b'] },
      { stream: 's', type: 'Other' },
    ]);
    const isWanted = (collection: string, key: string): boolean => collection === 'tallies' && key.endsWith('/b');
    const folded = await fold(others, { openStore }, {}, { isWanted });
    expect(folded.position).toBe(2n);
    expect([...folded.keys].map(([name, keys]) => [name, [...keys]])).toEqual([['tallies', ['tally-s/b']]]);
  });

  it('ends the reading of the log at the first event after it', async () => {
    const { openStore } = stores();
    let read = 0;
    const log = {
      async *readStream() {
        for (const event of events) {
          read += 1;
          yield await Promise.resolve([event]);
        }
      },
    };
    await fold(events, { openStore }, {}, { until: { position: 2n }, log });
    expect(read).toBe(3);
  });
});
