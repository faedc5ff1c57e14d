import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type {
  EventFilter,
  EventLog,
  EventStore,
  LogPage,
  ReadLogBackwardsOptions,
  ReadStreamOptions,
} from '../../services/kernel/ports/event-store.js';
import { MAX_APPEND_BYTES } from '../../services/kernel/ports/event-store.js';
import { type NewEvent, type RecordedEvent } from '../../services/kernel/event.js';
import { AppendTooLarge, RevisionConflict, StoreUnavailable } from '../../services/kernel/fault.js';
import { sha256 } from '../../services/kernel/encoding/hash.js';
import { streamName, type StreamName } from '../../services/kernel/stream.js';

/** A store on a log of its own or a shared one; `reopen` opens the same log again after the store was closed. */
export type OpenStore = { readonly store: EventStore; readonly reopen: () => Promise<EventStore> };

const encoder = new TextEncoder();

/** An event whose id is derived from its text, as the ids of recorded events are derived from their command. */
const event = (text: string, type = 'ExecutionCreated'): NewEvent => ({
  id: sha256(text).subarray(0, 16),
  type,
  data: encoder.encode(text),
  metadata: JSON.stringify({ recordedAtMs: 1, actor: 'someone', commandId: text, schema: 1 }),
});

const events = (count: number, type?: string): NewEvent[] =>
  Array.from({ length: count }, () => event(randomUUID(), type));

/** The fields of an event, with bytes as lists of numbers, to be compared. */
const plain = ({ id, type, data, metadata }: NewEvent) => ({
  id: [...id],
  type,
  data: [...data],
  metadata,
});

const textOf = ({ data }: NewEvent): string => new TextDecoder().decode(data);

const collect = async <Item>(items: AsyncIterable<Item>): Promise<Item[]> => {
  const found: Item[] = [];
  for await (const item of items) found.push(item);
  return found;
};

const streamOf = async (log: EventLog, stream: StreamName, options?: ReadStreamOptions): Promise<RecordedEvent[]> =>
  (await collect(log.readStream(stream, options))).flat();

const logAfter = async (log: EventLog, after: bigint, filter?: EventFilter, limit?: number): Promise<LogPage[]> =>
  collect(log.readLog({ after, ...(filter && { filter }), ...(limit !== undefined && { limit }) }));

const eventsOf = (pages: readonly LogPage[]): RecordedEvent[] => pages.flatMap((page) => page.events);

const isAscending = (positions: readonly bigint[]): boolean =>
  positions.every((p, i) => i === 0 || p > positions[i - 1]!);

/**
 * More events than two full pages have: a full page has 200. Reads with a filter, or backwards, may have larger pages.
 */
const THREE_PAGES = 450;

/** Collects the pages of a subscription; `until` resolves when a condition on them holds. */
const collector = () => {
  const pages: { page: LogPage; isLive: boolean }[] = [];
  let check: () => void = () => undefined;
  const seen = (): RecordedEvent[] => eventsOf(pages.map(({ page }) => page));
  const until = (isThere: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      check = () => isThere() && resolve();
      check();
    });
  const onPage = (page: LogPage, isLive: boolean): void => {
    pages.push({ page, isLive });
    check();
  };
  return { pages, seen, until, onPage };
};

/** The contract of every adapter of the event-store port. */
export const eventStoreContract = (name: string, open: () => Promise<OpenStore>): void => {
  describe(`${name} as an event store`, () => {
    let store: EventStore;
    let reopen: OpenStore['reopen'];
    let category: string;
    let stream: StreamName;
    /** The position of the last event before the test; other tests may have written to the same log. */
    let start: bigint;

    /** A stream of the test's category; `stream` is the one with the id `a`. */
    const streamNamed = (id: string): StreamName => streamName(category, [id]);

    beforeEach(async () => {
      ({ store, reopen } = await open());
      category = `c${randomUUID().replaceAll('-', '')}`;
      stream = streamNamed('a');
      start = await store.head();
    });

    afterEach(() => store.close());

    describe('appending', () => {
      it('places the first event of a stream at revision 0, after everything that was there', async () => {
        const { revision, position } = await store.append(stream, 'no-stream', events(1));
        expect(revision).toBe(0n);
        expect(position).toBeGreaterThan(start);
      });

      it('answers the revision and the position of the last event of an append', async () => {
        const first = await store.append(stream, 'no-stream', events(3));
        const second = await store.append(stream, 2n, events(2));
        expect([first.revision, second.revision]).toEqual([2n, 4n]);
        const recorded = await streamOf(store, stream);
        expect([recorded[2]!.position, recorded[4]!.position]).toEqual([first.position, second.position]);
      });

      it('records every field as it was given', async () => {
        const sent: NewEvent = {
          id: Uint8Array.from({ length: 16 }, (_, i) => 255 - i),
          type: 'NodePhaseReported',
          data: Uint8Array.from({ length: 256 }, (_, i) => i),
          metadata: JSON.stringify({ recordedAtMs: 1, actor: 'Zoë 🛫', commandId: '', schema: 1 }),
        };
        const { position } = await store.append(stream, 'any', [sent]);
        const [recorded] = await streamOf(store, stream);
        expect(plain(recorded!)).toEqual(plain(sent));
        expect(recorded).toMatchObject({ stream, revision: 0n, position });
      });

      it('takes an event without data', async () => {
        await store.append(stream, 'no-stream', [{ ...event('empty'), data: new Uint8Array() }]);
        expect((await streamOf(store, stream))[0]!.data).toHaveLength(0);
      });

      it('does not keep the caller from using its buffers again', async () => {
        const data = Uint8Array.of(1, 2, 3);
        const appended = store.append(stream, 'no-stream', [{ ...event('buffer'), data }]);
        await appended;
        data.fill(9);
        expect([...(await streamOf(store, stream))[0]!.data]).toEqual([1, 2, 3]);
      });

      it('appends at any revision when none is expected', async () => {
        await store.append(stream, 'any', events(1));
        expect((await store.append(stream, 'any', events(2))).revision).toBe(2n);
      });

      it.each([
        ['no stream where there is one', 'no-stream'],
        ['a revision before the last one', 0n],
        ['a revision after the last one', 2n],
      ] as const)('refuses an append that expects %s', async (_, expected) => {
        await store.append(stream, 'no-stream', events(2));
        const refused = store.append(stream, expected, events(1));
        await expect(refused).rejects.toBeInstanceOf(RevisionConflict);
        await expect(refused).rejects.toMatchObject({ code: 'revision-conflict' });
        expect(await streamOf(store, stream)).toHaveLength(2);
      });

      it('refuses an append that expects a revision of a stream that does not exist', async () => {
        await expect(store.append(stream, 0n, events(1))).rejects.toBeInstanceOf(RevisionConflict);
        expect(await streamOf(store, stream)).toEqual([]);
      });

      it('records none of the events of an append that it refuses', async () => {
        await store.append(stream, 'no-stream', events(1));
        await expect(store.append(stream, 'no-stream', events(5))).rejects.toBeInstanceOf(RevisionConflict);
        expect(await streamOf(store, stream)).toHaveLength(1);
      });

      it('accepts one of many concurrent appends to a stream, and refuses the others as conflicts', async () => {
        const tries = Array.from({ length: 20 }, () => store.append(stream, 'no-stream', events(1)));
        const toOtherStreams = Array.from({ length: 20 }, (_, i) =>
          store.append(streamNamed(`b${i}`), 'no-stream', events(1)),
        );
        const outcomes = await Promise.allSettled(tries);
        expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
        for (const outcome of outcomes)
          if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(RevisionConflict);
        for (const { revision } of await Promise.all(toOtherStreams)) expect(revision).toBe(0n);
        expect(await streamOf(store, stream)).toHaveLength(1);
      });

      it('keeps the order of appends that are sent one after another without waiting', async () => {
        const sent = events(50);
        await Promise.all(sent.map((one, i) => store.append(stream, i === 0 ? 'no-stream' : BigInt(i - 1), [one])));
        const recorded = await streamOf(store, stream);
        expect(recorded.map(textOf)).toEqual(sent.map(textOf));
        expect(recorded.map(({ revision }) => revision)).toEqual(sent.map((_, i) => BigInt(i)));
        expect(isAscending(recorded.map(({ position }) => position))).toBe(true);
      });

      it('takes 1,000,000 bytes and refuses one more', async () => {
        const frame = event('large');
        const rest = MAX_APPEND_BYTES - frame.id.length - frame.type.length - frame.metadata.length;
        await store.append(stream, 'no-stream', [{ ...frame, data: new Uint8Array(rest) }]);
        const tooLarge = store.append(stream, 0n, [{ ...frame, data: new Uint8Array(rest + 1) }]);
        await expect(tooLarge).rejects.toBeInstanceOf(AppendTooLarge);
        await expect(tooLarge).rejects.toMatchObject({ code: 'append-too-large' });
        expect(await streamOf(store, stream)).toHaveLength(1);
      });

      it('counts the bytes of all events of one append together', async () => {
        const together = events(3).map((one) => ({ ...one, data: new Uint8Array(MAX_APPEND_BYTES * 0.4) }));
        await expect(store.append(stream, 'no-stream', together)).rejects.toBeInstanceOf(AppendTooLarge);
      });

      it('refuses a NUL in the name of a stream, in a type and in metadata, which SQLite would cut there', async () => {
        const [one] = events(1);
        const named = `${stream}\0x` as StreamName;
        await expect(store.append(named, 'any', [one!])).rejects.toBeInstanceOf(RangeError);
        await expect(store.append(stream, 'any', [{ ...one!, type: 'a\0b' }])).rejects.toBeInstanceOf(RangeError);
        await expect(store.append(stream, 'any', [{ ...one!, metadata: '{}\0' }])).rejects.toBeInstanceOf(RangeError);
        expect(await streamOf(store, stream)).toEqual([]);
      });

      it('fails with StoreUnavailable once it is closed', async () => {
        await store.close();
        await expect(store.append(stream, 'no-stream', events(1))).rejects.toBeInstanceOf(StoreUnavailable);
      });
    });

    describe('an append that is sent again', () => {
      it.each([['no-stream'], ['any']] as const)(
        'is a success at its first position, expecting %s',
        async (expected) => {
          const sent = events(3);
          const first = await store.append(stream, expected, sent);
          expect(await store.append(stream, expected, sent)).toEqual(first);
          expect(await streamOf(store, stream)).toHaveLength(3);
        },
      );

      it('is a success when others have followed', async () => {
        await store.append(stream, 'no-stream', events(1));
        const sent = events(2);
        const first = await store.append(stream, 0n, sent);
        await store.append(stream, 2n, events(4));
        expect(await store.append(stream, 0n, sent)).toEqual(first);
        expect(await store.append(stream, 'any', sent)).toEqual(first);
        expect(await streamOf(store, stream)).toHaveLength(7);
      });

      it('is a success while the first append is still in flight', async () => {
        const sent = events(2);
        const [first, second] = await Promise.all([
          store.append(stream, 'no-stream', sent),
          store.append(stream, 'no-stream', sent),
        ]);
        expect(second).toEqual(first);
        expect(await streamOf(store, stream)).toHaveLength(2);
      });

      it('is a success at its first position after the store was opened again', async () => {
        const sent = events(2);
        const first = await store.append(stream, 'no-stream', sent);
        await store.close();
        store = await reopen();
        expect(await store.append(stream, 'no-stream', sent)).toEqual(first);
      });

      it('is a conflict when only a part of it is the same', async () => {
        const [one, two, three] = events(3) as [NewEvent, NewEvent, NewEvent];
        await store.append(stream, 'no-stream', [one, two]);
        for (const again of [
          [one, three],
          [one, two, three],
          [three, two],
        ])
          await expect(store.append(stream, 'no-stream', again)).rejects.toBeInstanceOf(RevisionConflict);
        await expect(store.append(stream, 'any', [one, three])).rejects.toBeInstanceOf(RevisionConflict);
        expect(await streamOf(store, stream)).toHaveLength(2);
      });

      it('is a conflict when it expects another revision', async () => {
        const sent = events(1);
        await store.append(stream, 'no-stream', sent);
        await store.append(stream, 0n, events(2));
        await expect(store.append(stream, 0n, sent)).rejects.toBeInstanceOf(RevisionConflict);
      });

      it('is recorded a second time on another stream', async () => {
        const sent = events(1);
        const first = await store.append(stream, 'no-stream', sent);
        const second = await store.append(streamNamed('b'), 'no-stream', sent);
        expect(second.position).toBeGreaterThan(first.position);
      });
    });

    describe('reading a stream', () => {
      const sent = Array.from({ length: THREE_PAGES }, (_, i) => event(`event ${i}`));

      it('finds nothing when there is no stream', async () => {
        expect(await streamOf(store, stream)).toEqual([]);
        expect(await streamOf(store, stream, { direction: 'backwards' })).toEqual([]);
      });

      it.each<[string, ReadStreamOptions, string[]]>([
        ['forwards from the first', { limit: 2 }, ['event 0', 'event 1']],
        ['forwards from a revision', { from: 447n }, ['event 447', 'event 448', 'event 449']],
        ['backwards from the last', { direction: 'backwards', limit: 2 }, ['event 449', 'event 448']],
        ['backwards from a revision', { direction: 'backwards', from: 1n }, ['event 1', 'event 0']],
        ['from beyond its end, and finds nothing', { from: 450n }, []],
      ])('goes %s', async (_, options, texts) => {
        await store.append(stream, 'no-stream', sent);
        expect((await streamOf(store, stream, options)).map(textOf)).toEqual(texts);
      });

      it.each(['forwards', 'backwards'] as const)('reads all pages %s', async (direction) => {
        await store.append(stream, 'no-stream', sent);
        const texts = (await streamOf(store, stream, { direction })).map(textOf);
        const inOrder = direction === 'forwards' ? texts : texts.reverse();
        expect(inOrder).toEqual(sent.map(textOf));
        expect(await streamOf(store, stream, { direction, limit: 301 })).toHaveLength(301);
      });

      it('distinguishes streams whose names begin alike', async () => {
        await store.append(streamNamed('x'), 'no-stream', [event('x')]);
        await store.append(streamNamed('x:y'), 'no-stream', [event('xy')]);
        expect((await streamOf(store, streamNamed('x'))).map(textOf)).toEqual(['x']);
      });
    });

    describe('reading the log', () => {
      const fill = async (): Promise<void> => {
        await store.append(streamNamed('a'), 'no-stream', [
          event('a0', 'TaskCreated'),
          event('a1', 'NodePhaseReported'),
        ]);
        await store.append(streamNamed('b'), 'no-stream', [event('b0', 'TaskCreated')]);
        await store.append(streamName(`${category}x`, ['c']), 'no-stream', [event('c0', 'TaskCreated')]);
        await store.append(streamNamed('a'), 1n, [event('a2', 'NodePhaseReported')]);
      };

      it('has the events of all streams in the order of their positions', async () => {
        await fill();
        const pages = await logAfter(store, start);
        const found = eventsOf(pages);
        expect(found.map(textOf)).toEqual(['a0', 'a1', 'b0', 'c0', 'a2']);
        expect(isAscending(found.map(({ position }) => position))).toBe(true);
        expect(found.map(({ revision }) => revision)).toEqual([0n, 1n, 0n, 0n, 2n]);
        expect(found[3]).toMatchObject({ stream: `${category}x-c`, type: 'TaskCreated' });
        expect(pages.at(-1)!.position).toBe(await store.head());
      });

      it('resumes after a position', async () => {
        await fill();
        const found = eventsOf(await logAfter(store, start));
        expect(eventsOf(await logAfter(store, found[2]!.position)).map(textOf)).toEqual(['c0', 'a2']);
        expect(await logAfter(store, await store.head())).toEqual([]);
      });

      it('begins with the event at a position if asked to, and not after it', async () => {
        await fill();
        const [, second, third] = eventsOf(await logAfter(store, start));
        const fromSecond = { after: second!.position, isInclusive: true };
        expect(eventsOf(await collect(store.readLog({ ...fromSecond, limit: 2 }))).map(textOf)).toEqual(['a1', 'b0']);
        const types = ['TaskCreated'];
        const filtered = { after: third!.position, isInclusive: true, filter: { categories: [category], types } };
        expect(eventsOf(await collect(store.readLog(filtered))).map(textOf)).toEqual(['b0']);
        const seen: string[] = [];
        await new Promise<void>((resolve) => {
          const subscription = store.subscribe(fromSecond, ({ events: come }) => {
            seen.push(...come.map(textOf));
            if (seen.includes('a2')) void subscription.close().then(resolve);
          });
        });
        expect(seen).toEqual(['a1', 'b0', 'c0', 'a2']);
      });

      it('ends at a limit', async () => {
        await fill();
        expect(eventsOf(await logAfter(store, start, undefined, 2)).map(textOf)).toEqual(['a0', 'a1']);
      });

      it.each<[string, (category: string) => EventFilter, string[]]>([
        ['a category', (own) => ({ categories: [own] }), ['a0', 'a1', 'b0', 'a2']],
        ['several categories', (own) => ({ categories: [own, `${own}x`] }), ['a0', 'a1', 'b0', 'c0', 'a2']],
        ['a type', () => ({ types: ['TaskCreated'] }), ['a0', 'b0', 'c0']],
        ['a category and a type', (own) => ({ categories: [own], types: ['TaskCreated'] }), ['a0', 'b0']],
        [
          'a type of reports, which the embedded log has no index for',
          (own) => ({ categories: [own], types: ['NodePhaseReported'] }),
          ['a1', 'a2'],
        ],
        ['a type that was never recorded', () => ({ types: ['NeverRecorded'] }), []],
        ['no type at all', () => ({ types: [] }), []],
      ])('filters by %s', async (_, filter, texts) => {
        await fill();
        const pages = await logAfter(store, start, filter(category));
        expect(eventsOf(pages).map(textOf)).toEqual(texts);
        expect(pages.at(-1)!.position).toBe(await store.head());
      });

      it('reads more than a page, with positions that never go back', async () => {
        await store.append(stream, 'no-stream', events(300, 'TaskCreated'));
        await store.append(stream, 299n, events(300, 'NodePhaseReported'));
        for (const filter of [undefined, { categories: [category] }, { types: ['TaskCreated', 'NodePhaseReported'] }]) {
          const pages = await logAfter(store, start, filter);
          expect(eventsOf(pages)).toHaveLength(600);
          expect(isAscending(pages.map(({ position }) => position))).toBe(true);
          for (const page of pages)
            if (page.events.length) expect(page.position).toBeGreaterThanOrEqual(page.events.at(-1)!.position);
        }
      });

      it('finds one type in 620 categories, in the order of positions, and in 600 that a filter names', async () => {
        const marked = `Marked${randomUUID()}`;
        const after = await store.head();
        await Promise.all(
          Array.from({ length: 620 }, (_, at) =>
            store.append(streamName(`category${at}`, [randomUUID()]), 'no-stream', events(1, marked)),
          ),
        );
        const pages = await logAfter(store, after, { types: [marked] });
        expect(eventsOf(pages)).toHaveLength(620);
        expect(isAscending(eventsOf(pages).map(({ position }) => position))).toBe(true);
        const categories = Array.from({ length: 600 }, (_, at) => `category${at}`);
        expect(eventsOf(await logAfter(store, after, { categories, types: [marked] }))).toHaveLength(600);
      });
    });

    describe('reading the log backwards', () => {
      const backwards = async (options?: ReadLogBackwardsOptions): Promise<RecordedEvent[]> =>
        (await collect(store.readLogBackwards(options))).flat();

      it('has the last event first, also over several pages', async () => {
        await store.append(stream, 'no-stream', events(230));
        await store.append(streamNamed('b'), 'no-stream', [event('last')]);
        const found = await backwards({ limit: 231 });
        expect(found.map(({ revision }) => Number(revision))).toEqual([
          0,
          ...Array.from({ length: 230 }, (_, i) => 229 - i),
        ]);
        expect(textOf(found[0]!)).toBe('last');
        expect(isAscending(found.map(({ position }) => position).reverse())).toBe(true);
      });

      it('begins before the position that it is given', async () => {
        await store.append(stream, 'no-stream', events(3));
        const [, second, third] = await streamOf(store, stream);
        expect((await backwards({ before: third!.position, limit: 1 })).map(plain)).toEqual([plain(second!)]);
        expect(await backwards({ before: 0n })).toEqual([]);
        expect(await backwards({ limit: 0 })).toEqual([]);
        expect((await backwards({ before: 2n ** 62n, limit: 1 })).map(plain)).toEqual([plain(third!)]);
      });
    });

    describe('subscribing', () => {
      const filter = (): EventFilter => ({ categories: [category] });

      it('delivers the events that are there, and then new ones', async () => {
        await store.append(stream, 'no-stream', events(THREE_PAGES));
        const { pages, seen, until, onPage } = collector();
        const subscription = store.subscribe({ after: start, filter: filter() }, onPage);
        await until(() => pages.some(({ isLive }) => isLive));
        expect(seen()).toHaveLength(THREE_PAGES);
        await store.append(stream, BigInt(THREE_PAGES - 1), [event('later')]);
        await until(() => seen().length > THREE_PAGES);
        expect(pages.at(-1)!.isLive).toBe(true);
        expect(textOf(seen().at(-1)!)).toBe('later');
        expect(seen().map(({ revision }) => revision)).toEqual(
          Array.from({ length: THREE_PAGES + 1 }, (_, i) => BigInt(i)),
        );
        await subscription.close();
        await expect(subscription.ended).resolves.toBeUndefined();
      });

      it('is live at once when there is nothing to read', async () => {
        const { pages, until, onPage } = collector();
        const subscription = store.subscribe({ after: start }, onPage);
        await until(() => pages.length > 0);
        expect(pages[0]).toMatchObject({ isLive: true, page: { events: [] } });
        await subscription.close();
      });

      it('moves its position past what its filter leaves out', async () => {
        const { pages, until, onPage } = collector();
        const subscription = store.subscribe({ after: start, filter: filter() }, onPage);
        const { position } = await store.append(streamName(`${category}x`, ['c']), 'no-stream', events(1));
        await until(() => pages.some(({ page }) => page.position >= position));
        expect(pages.flatMap(({ page }) => page.events)).toEqual([]);
        await subscription.close();
      });

      it('delivers a page only when the handler is done with the one before', async () => {
        await store.append(stream, 'no-stream', events(THREE_PAGES));
        let running = 0;
        let mostRunning = 0;
        const { seen, until, onPage } = collector();
        const subscription = store.subscribe({ after: start }, async (page, isLive) => {
          mostRunning = Math.max(mostRunning, (running += 1));
          await new Promise((resolve) => setImmediate(resolve));
          running -= 1;
          onPage(page, isLive);
        });
        await until(() => seen().length === THREE_PAGES);
        expect(mostRunning).toBe(1);
        await subscription.close();
      });

      it('misses nothing and repeats nothing while events are appended', async () => {
        const { seen, until, onPage } = collector();
        const subscription = store.subscribe({ after: start, filter: filter() }, onPage);
        await Promise.all(
          Array.from({ length: 300 }, (_, i) => store.append(streamNamed(`s${i % 7}`), 'any', events(1))),
        );
        await until(() => seen().length >= 300);
        expect(seen()).toHaveLength(300);
        expect(isAscending(seen().map(({ position }) => position))).toBe(true);
        await subscription.close();
      });

      it('never says `hasNext: false` before the last page, and delivers another after `hasNext: true`', async () => {
        const before = await store.append(stream, 'no-stream', events(THREE_PAGES));
        const { pages, seen, until, onPage } = collector();
        const subscription = store.subscribe({ after: start }, onPage);
        await Promise.all(
          Array.from({ length: 50 }, (_, i) => store.append(streamNamed(`s${i}`), 'no-stream', events(1))),
        );
        await until(() => seen().filter((each) => each.stream.startsWith(category)).length === THREE_PAGES + 50);
        const delivered = pages.map(({ page }) => page);
        for (const page of delivered.filter(({ position }) => position < before.position))
          expect(page.hasNext ?? true).toBe(true);
        const followed = pages.length;
        if (delivered.at(-1)!.hasNext === true) await until(() => pages.length > followed);
        await subscription.close();
      });

      it.each([
        ['a bug', new Error('poison')],
        ['a fault', new StoreUnavailable('poison')],
      ])('ends with the failure of its handler: %s', async (_, failure) => {
        await store.append(stream, 'no-stream', events(1));
        const subscription = store.subscribe({ after: start }, () => Promise.reject(failure));
        await expect(subscription.ended).rejects.toBe(failure);
        await subscription.close();
      });

      it('delivers nothing after it is closed', async () => {
        const [closed, open] = [collector(), collector()];
        const [subscription, other] = [closed, open].map(({ onPage }) => store.subscribe({ after: start }, onPage));
        await Promise.all([closed, open].map(({ pages, until }) => until(() => pages.some(({ isLive }) => isLive))));
        await subscription!.close();
        const before = closed.pages.length;
        await store.append(stream, 'no-stream', events(1));
        await open.until(() => open.seen().length === 1);
        expect(closed.pages).toHaveLength(before);
        await other!.close();
      });

      it('ends without an error when the store is closed', async () => {
        const subscription = store.subscribe({ after: start }, () => undefined);
        await store.close();
        await expect(subscription.ended).resolves.toBeUndefined();
      });
    });

    it('knows the position of the last event', async () => {
      const { position } = await store.append(stream, 'no-stream', events(3));
      expect(await store.head()).toBe(position);
    });

    it('has its identity and its events when it is opened again', async () => {
      const { logId } = store;
      await store.append(stream, 'no-stream', events(3));
      const before = await streamOf(store, stream);
      await store.close();
      store = await reopen();
      expect(logId).not.toBe('');
      expect(store.logId).toBe(logId);
      expect((await streamOf(store, stream)).map(plain)).toEqual(before.map(plain));
      expect((await store.append(stream, 2n, events(1))).position).toBeGreaterThan(before[2]!.position);
    });
  });
};
