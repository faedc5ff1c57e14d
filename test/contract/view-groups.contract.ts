import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RunProgress } from '../../projections/runtime/runs/partition-run.js';
import { checkpointName, PARTITIONS, viewPartitionOf } from '../../projections/runtime/partitions.js';
import { projector } from '../../projections/runtime/projector.js';
import type { ReadModel } from '../../projections/runtime/read-model.js';
import type { ReadStore } from '../../projections/runtime/read-store.js';
import { runProjections, type RunnerOptions, type RunningProjections } from '../../projections/runtime/runs/runner.js';
import { groupName } from '../../projections/runtime/stored-progress.js';
import { storedViews } from '../../projections/runtime/stored-views.js';
import { unprojectedEvents } from '../../projections/runtime/unprojected-events.js';
import { viewGroups } from '../../projections/runtime/view-groups.js';
import { sqliteReadStore } from '../../projections/store/sqlite/sqlite-read-store.js';
import type { EventLog, LogPage } from '../../services/kernel/ports/event-store.js';
import { StoreUnavailable } from '../../services/kernel/fault.js';
import { streamName } from '../../services/kernel/stream.js';
import { type SqliteEventStore, sqliteEventStore } from '../../services/store/log/sqlite-event-store.js';
import { until } from '../support/until.js';
import {
  counts,
  metadata,
  noPayloads,
  tallies,
  tallyCodec,
  totals,
  type Written,
} from '../unit/projections-kernel/tallies.js';

type Models = readonly ReadModel<unknown>[];

const codecs = new Map([['tally', tallyCodec]]);
const upgradedCodecs = new Map([
  ['tally', { ...tallyCodec, decode: (_: string, data: Uint8Array) => tallyCodec.decode('Added', data, 1) }],
]);

/** The same model in another version, whose collection is a new one. */
const inVersion = <Document>(model: ReadModel<Document>, version: number): ReadModel<Document> => ({
  ...model,
  collection: { ...model.collection, version },
});

/** A model that several streams feed; events that are folded again leave its documents as they are. */
const parts: ReadModel<{ least: number }> = {
  collection: { name: 'parts', version: 1, fields: { sum: 'integer' }, indexes: [] },
  follows: totals.follows,
  isFedByOneStream: false,
  touches: (event) => totals.touches(event),
  // No amount of the tests is above 100.
  fold: (document, { body }) => ({ least: Math.min(document?.least ?? 100, (body as { amount: number }).amount) }),
  encode: (_, { least }) => ({ fields: { sum: least }, response: Buffer.from(String(least)) }),
  decode: ({ fields }) => ({ least: Number(fields['sum']) }),
};

/** A model that counts its folds. */
const counting = <Document>(model: ReadModel<Document>): ReadModel<Document> & { folds: number } => {
  const counted = {
    ...model,
    folds: 0,
    fold: (...given: Parameters<ReadModel<Document>['fold']>) => {
      counted.folds += 1;
      return model.fold(...given);
    },
  };
  return counted;
};

/** A log whose subscriptions get pages of at most `size` events. */
const inPages = (log: EventLog, size: number): EventLog => {
  const cut = ({ events, position }: LogPage): LogPage[] => {
    const pages: LogPage[] = [];
    for (let at = 0; at < events.length; at += size) {
      const some = events.slice(at, at + size);
      const isLast = at + size >= events.length;
      pages.push({
        events: some,
        position: isLast ? position : some.at(-1)!.position,
        ...(!isLast && { hasNext: true }),
      });
    }
    return pages.length > 0 ? pages : [{ events, position }];
  };
  return {
    ...log,
    subscribe: (from, onPage) =>
      log.subscribe(from, async (page, isLive) => {
        for (const each of cut(page)) await onPage(each, isLive);
      }),
  };
};

/** Delivers pages to one subscription, which stays open afterwards. */
type Feed = (onPage: (page: LogPage) => Promise<void> | void) => Promise<void>;

/** A log whose first subscriptions, in the order in which they are opened, get the pages of `feeds`. */
const fedBy = (log: EventLog, feeds: Feed[]): EventLog => ({
  ...log,
  subscribe: (from, onPage) => {
    const feed = feeds.shift();
    if (feed === undefined) return log.subscribe(from, onPage);
    let close = (): void => undefined;
    const closed = new Promise<void>((resolve) => (close = resolve));
    const ended = feed((page) => onPage(page, false)).then(() => closed);
    return { ended, close: () => (close(), ended) };
  },
});

/**
 * The contract of views that change with the release, in any read store. The store of `open` calls `beforeCommit`
 * before each commit.
 *
 * @param runs the number of random sequences of releases and events that are tried.
 */
export const viewGroupsContract = (
  name: string,
  open: (beforeCommit: () => void) => Promise<ReadStore>,
  runs: number,
): void => {
  describe(name, () => {
    const logs: SqliteEventStore[] = [];
    let log: SqliteEventStore;
    let store: ReadStore;
    let fails = (): boolean => false;
    let count = 0;

    beforeAll(async () => {
      store = await open(() => {
        if (fails()) throw new StoreUnavailable('stopped');
      });
      await store.prepare([tallies, counts, parts, inVersion(counts, 2)].map(({ collection }) => collection));
    });
    afterAll(() => store.close());

    const newLog = async (): Promise<void> => {
      await logs.pop()?.close();
      log = await sqliteEventStore({ directory: mkdtempSync(join(tmpdir(), 'flightlog-groups-')) });
      logs.push(log);
    };
    beforeEach(async () => {
      fails = () => false;
      await store.clear();
      await newLog();
    });
    afterAll(() => logs.pop()?.close());

    const append = async (written: readonly Written[]): Promise<bigint> => {
      const appended = written.map(({ stream, type = 'Added', ...body }) => {
        const { data } = tallyCodec.encode({ parts: ['a'], amount: 1, ...body });
        count += 1;
        const event = { id: Buffer.from(String(count).padStart(16, '0')), type, data, metadata: metadata(1_000) };
        return log.append(streamName('tally', [stream]), 'any', [event]);
      });
      return (await Promise.all(appended)).at(-1)!.position;
    };

    /** Appends events, 100 at a time, to the streams `s0` to `s9` in turn; `many` is a multiple of 100. */
    const appendMany = async (many: number): Promise<bigint> => {
      let position = 0n;
      const { data } = tallyCodec.encode({ parts: ['a'], amount: 1 });
      for (let at = 0; at < many; at += 100) {
        const events = Array.from({ length: 100 }, () => {
          count += 1;
          return { id: Buffer.from(String(count).padStart(16, '0')), type: 'Added', data, metadata: metadata(1_000) };
        });
        ({ position } = await log.append(streamName('tally', [`s${(at / 100) % 10}`]), 'any', events));
      }
      return position;
    };

    type Running = {
      readonly running: RunningProjections;
      readonly progress: readonly RunProgress[];
      /** Resolves when all views are in service and have reached a position. */
      readonly complete: (position: bigint) => Promise<void>;
    };

    const start = async (models: Models, more: Partial<RunnerOptions> = {}): Promise<Running> => {
      const progress: RunProgress[] = [];
      const waiting: { readonly position: bigint; readonly resolve: () => void }[] = [];
      const isComplete = (position: bigint): boolean => {
        const last = progress.at(-1);
        return last !== undefined && last.building === undefined && last.position >= position;
      };
      const running = await runProjections({
        log,
        readStore: store,
        models,
        codecs,
        payloads: noPayloads,
        now: () => 5_000,
        ...more,
        onProgress: (each) => {
          progress.push(each);
          more.onProgress?.(each);
          for (const { position, resolve } of waiting) if (isComplete(position)) resolve();
        },
      });
      const complete = (position: bigint): Promise<void> =>
        new Promise((resolve) => {
          if (isComplete(position)) resolve();
          else waiting.push({ position, resolve });
        });
      return { running, progress, complete };
    };

    const builtBy = async (models: Models, position: bigint, more: Partial<RunnerOptions> = {}): Promise<Running> => {
      const run = await start(models, more);
      await run.complete(position);
      await run.running.close();
      return run;
    };

    const namesOf = async (): Promise<string[]> =>
      [...new Set([...(await store.checkpoints()).keys()].map((name) => name.replace(/ \d+\/8$/u, '')))].sort();

    /** A pause that a test ends by `open`; `called` resolves when the pause has begun. */
    const gate = () => {
      let open = (): void => undefined;
      let onCall = (): void => undefined;
      const opened = new Promise<void>((resolve) => (open = resolve));
      const called = new Promise<void>((resolve) => (onCall = resolve));
      return { pause: () => (onCall(), opened), open: () => open(), called };
    };

    describe('a view that a release changes', () => {
      it('is built from the log by itself, while the others are not folded again and stay fresh', async () => {
        const head = await appendMany(1_000);
        await builtBy([tallies, counts], head);
        const [kept, changed] = [counting(tallies), counting(inVersion(counts, 2))];
        const { pause, open, called } = gate();
        const run = await start([kept, changed], { pauseAfterBuilding: pause, buildingEvents: 200 });
        await called;
        expect(run.progress[0]).toMatchObject({ position: head, building: new Map([['counts', 0n]]) });
        const next = await append([{ stream: 's0', amount: 7 }]);
        await until(
          () => Promise.resolve(run.running.position()),
          (position) => position === next,
        );
        expect([kept.folds, changed.folds]).toEqual([1, 200]);
        expect(run.progress.at(-1)).toMatchObject({ position: next, building: new Map([['counts', 200n]]) });
        expect((await store.get(tallies.collection, 'tally-s0/a'))?.fields['sum']).toBe(107);

        open();
        await run.complete(next);
        await run.running.close();
        expect([kept.folds, changed.folds]).toEqual([1, 1_001]);
        expect(Buffer.from((await store.get(changed.collection, 'tally-s0'))!.response).toString()).toBe('101');
        // The groups that led here are gone; the checkpoints of the release before stay, because it may still run.
        expect(await namesOf()).toEqual(['counts.v1 tallies.v1', 'counts.v2 tallies.v1']);
      });

      it('resumes at its checkpoint after a restart', async () => {
        const head = await appendMany(1_000);
        await builtBy([tallies, counts], head);
        const changed = counting(inVersion(counts, 2));
        const { pause, open, called } = gate();
        const one = await start([tallies, changed], { pauseAfterBuilding: pause, buildingEvents: 600 });
        await called;
        const closed = one.running.close();
        open();
        await closed;
        expect(changed.folds).toBe(600);
        await builtBy([tallies, changed], head);
        expect(changed.folds).toBe(1_000);
      });

      it('is built beside a process of the release before, which keeps running', async () => {
        const head = await appendMany(300);
        const before = await start([tallies, counts]);
        await before.complete(head);
        const after = await builtBy([tallies, inVersion(counts, 2)], head);
        expect(after.progress.at(-1)?.position).toBe(head);
        const next = await append([{ stream: 's0' }]);
        await before.complete(next);
        await before.running.close();
        expect(Buffer.from((await store.get(counts.collection, 'tally-s0'))!.response).toString()).toBe('101');
      });

      it('is built once in each partition, by a process of half of them and a later one of all', async () => {
        const names = Array.from({ length: 30 }, (_, at) => ({ stream: `n${at}` }));
        const head = await append([...names, ...names]);
        await builtBy([tallies, counts], head);
        const changed = counting(inVersion(counts, 2));
        const half = (rest: number) => PARTITIONS.filter((partition) => partition % 2 === rest);
        await builtBy([tallies, changed], head, { partitions: half(0) });
        const evens = 2 * names.filter(({ stream }) => viewPartitionOf(streamName('tally', [stream])) % 2 === 0).length;
        expect(changed.folds).toBe(evens);
        await builtBy([tallies, changed], head);
        expect(changed.folds).toBe(60);
        expect(await namesOf()).toEqual(['counts.v1 tallies.v1', 'counts.v2 tallies.v1']);
      });

      it('is built by two processes that both work on everything', async () => {
        const head = await appendMany(700);
        await builtBy([tallies, counts], head);
        const models = [tallies, inVersion(counts, 2)];
        const processes = await Promise.all([
          start(models, { buildingEvents: 50 }),
          start(models, { buildingEvents: 70 }),
        ]);
        const next = await append([{ stream: 's0', amount: 7 }]);
        await Promise.all(processes.map((run) => run.complete(next)));
        for (const { running } of processes) await running.close();
        const [sum, number] = [
          await store.get(tallies.collection, 'tally-s0/a'),
          await store.get(inVersion(counts, 2).collection, 'tally-s0'),
        ];
        expect([sum?.fields['sum'], Buffer.from(number!.response).toString()]).toEqual([107, '101']);
        expect(await namesOf()).toContain('counts.v2 tallies.v1');
      });

      it('is joined with views ahead of their checkpoint, and no document is written above its checkpoints', async () => {
        const names = Array.from({ length: 20 }, (_, at) => ({ stream: `n${at}` }));
        const half = (rest: number) => PARTITIONS.filter((partition) => partition % 2 === rest);
        const before = await append(names);
        await builtBy([tallies], before);
        await builtBy([tallies, counts], before, { partitions: half(0) });
        const head = await append(names);

        const pages: LogPage[] = [];
        for await (const { events } of log.readLog({ after: 0n }))
          for (const event of events) pages.push({ events: [event], position: event.position, hasNext: true });
        const written = before + 5n;
        const following = gate();
        const gathering = gate();
        const upTo = async (end: bigint, onPage: Parameters<Feed>[0]): Promise<void> => {
          for (const page of pages)
            if (page.position > before && page.position <= end)
              await onPage({ ...page, hasNext: page.position !== written });
        };
        const feeds: Feed[] = [
          // Both views, of even partitions: written up to `written`.
          (onPage) => upTo(written, onPage).then(() => following.open()),
          // The kept view, of odd partitions: everything is gathered, and nothing of it is written.
          async (onPage) => {
            for (const page of pages) if (page.position > before) await onPage(page);
            gathering.open();
          },
          // The new view, of odd partitions.
          async (onPage) => {
            await Promise.all([following.pause(), gathering.pause()]);
            for (const page of pages) await onPage(page);
          },
        ];
        const above: string[] = [];
        const watched: ReadStore = {
          ...store,
          write: (batch) => {
            const to = batch.checkpoints.map((move) => move.to?.position ?? 0n);
            for (const { document } of batch.documents)
              if (to.every((position) => position < document.position)) above.push(document.key);
            return store.write(batch);
          },
        };
        const run = await start([tallies, counts], { log: fedBy(log, feeds), readStore: watched });
        await run.complete(head);
        await run.running.close();
        expect(feeds).toEqual([]);
        expect(above).toEqual([]);
        expect(await namesOf()).toEqual(['counts.v1 tallies.v1', 'tallies.v1']);
        const sums = await store.getMany(
          tallies.collection,
          names.map(({ stream }) => `tally-${stream}/a`),
        );
        expect(sums.map(({ fields }) => fields['sum'])).toEqual(names.map(() => 2));
      });

      it('is reported as building until it is complete, and meanwhile computed for reads of one document', async () => {
        const head = await appendMany(1_000);
        await builtBy([tallies, counts], head);
        const models = [tallies, inVersion(counts, 2)];
        const { pause, open, called } = gate();
        const run = await start(models, { pauseAfterBuilding: pause, buildingEvents: 200 });
        await called;
        const timer = (afterMs: number, work: () => void) => {
          const timeout = setTimeout(work, afterMs);
          return () => clearTimeout(timeout);
        };
        const views = storedViews({ readStore: store, models, logId: log.logId, timer });
        expect(await views.reached(head, 4_000)).toBe(true);
        expect([views.building(), views.position({ collection: 'counts' })]).toEqual([['counts'], 200n]);
        expect(views.position({ collection: 'tallies', stream: streamName('tally', ['s0']) })).toBe(head);
        const unprojected = unprojectedEvents({
          ...{ log, readStore: store, models, codecs, payloads: noPayloads },
          now: Date.now,
          limitMs: 10_000,
        });
        const wanted = { stream: streamName('tally', ['s5']), collection: 'counts', key: 'tally-s5' };
        const folded = await unprojected.fold(wanted);
        expect(folded.map(({ response }) => Buffer.from(response).toString())).toEqual(['100']);
        expect(await unprojected.fold({ ...wanted, collection: 'tallies' })).toEqual([]);
        open();
        await run.complete(head);
        await until(
          () => Promise.resolve(views.building()),
          (building) => building.length === 0,
        );
        await views.close();
        await run.running.close();
      });
    });

    describe('a document that several streams feed', () => {
      it('has the events of a stream that another release parked, and later ones of other streams', async () => {
        const before: Models = [counts, parts];
        const after: Models = [tallies, parts];
        await builtBy(before, await append([{ stream: 's1' }]));
        await builtBy(after, await log.head());
        const head = await append([
          { stream: 's1', type: 'FromTheFuture', parts: [] },
          { stream: 's1', amount: -4 },
          { stream: 's2', amount: 0 },
        ]);
        const { running } = await builtBy(before, head);
        expect(running.parked()).toMatchObject([{ stream: 'tally-s1' }]);
        expect((await store.get(parts.collection, 'total/a'))?.fields['sum']).toBe(0);
        await builtBy(after, head, { codecs: upgradedCodecs });
        expect((await store.get(parts.collection, 'total/a'))?.fields['sum']).toBe(-4);
      });
    });

    describe('the groups of views', () => {
      const all: Models = [tallies, counts, parts];
      const at = (position: bigint, logId = 'log') => ({ logId, position });
      const groupsOf = async (models: Models = all) =>
        (await viewGroups(store, { models }, [0])).map(({ name, models: some, isBuilding, takeover }) => ({
          name,
          models: some.map(({ collection }) => collection.name),
          isBuilding,
          takeover,
        }));
      const stored = (rows: Readonly<Record<string, bigint>>) =>
        store.write({
          documents: [],
          checkpoints: Object.entries(rows).map(([name, position]) => ({ name, from: undefined, to: at(position) })),
        });
      const own = 'counts.v1 parts.v1 tallies.v1';

      it('are one where nothing is stored, and where they have a checkpoint together', async () => {
        expect(await groupsOf()).toEqual([
          { name: own, models: ['tallies', 'counts', 'parts'], isBuilding: false, takeover: undefined },
        ]);
        await stored({ [`${own} 0/8`]: 5n, 'tallies.v1 0/8': 9n });
        expect(await groupsOf()).toMatchObject([{ name: own, isBuilding: false, takeover: undefined }]);
      });

      it('start from the highest checkpoint of the partition that names a view in its version', async () => {
        await stored({
          'counts.v2 tallies.v1 0/8': 7n,
          'tallies.v1 0/8': 9n,
          'parts.v1 tallies.v1 0/16': 11n,
          'counts.v1 tallies.v2 1/8': 12n,
        });
        const name = groupName(all, [tallies]);
        expect(name).toMatch(/^tallies\.v1 @[\da-f]{8}$/u);
        expect(await groupsOf()).toEqual([
          {
            name,
            models: ['tallies'],
            isBuilding: false,
            takeover: {
              documents: [],
              checkpoints: [{ name: `${name} 0/8`, from: undefined, to: at(9n) }],
              parked: [],
            },
          },
          { name: groupName(all, [counts, parts]), models: ['counts', 'parts'], isBuilding: true, takeover: undefined },
        ]);
      });

      it('start from their own checkpoints, even where those of other releases are higher', async () => {
        const ahead = groupName(all, [tallies, parts]);
        await stored({ [`${ahead} 0/8`]: 4n, 'counts.v1 tallies.v1 0/8': 9n });
        expect(await groupsOf()).toMatchObject([
          { models: ['counts'], isBuilding: false },
          { name: ahead, models: ['tallies', 'parts'], isBuilding: true, takeover: undefined },
        ]);
      });

      it('that are joined are replaced by one, with their parked streams, each at its lowest position', async () => {
        const [ahead, joined] = [groupName(all, [tallies, parts]), groupName(all, [counts])];
        const streams = Array.from({ length: 100 }, (_, index) => streamName('tally', [`n${index}`]));
        const inPartition = (partition: number) => streams.find((each) => viewPartitionOf(each) === partition)!;
        const [stream, other] = [inPartition(0), inPartition(1)];
        const parked = (views: string, streamOf: string, position: bigint) => ({
          ...{ views, stream: streamOf, from: undefined },
          to: { position, reason: views },
        });
        await store.write({
          documents: [],
          checkpoints: [`${ahead} 0/8`, `${joined} 0/8`].map((each) => ({ name: each, from: undefined, to: at(9n) })),
          parked: [parked(ahead, stream, 5n), parked(joined, stream, 3n), parked(joined, other, 2n)],
        });
        const [group] = await viewGroups(store, { models: all }, [0]);
        await store.write(group!.takeover!);
        expect(await store.parked()).toEqual([
          { views: joined, stream: other, position: 2n, reason: joined }, // of another partition
          { views: own, stream, position: 3n, reason: joined },
        ]);
        expect([...(await store.checkpoints())]).toEqual([[`${own} 0/8`, at(9n)]]);
        expect(await groupsOf()).toMatchObject([{ name: own, takeover: undefined }]);
      });

      it('start from a checkpoint of all partitions', async () => {
        await stored({ [own]: 6n });
        const [group] = await viewGroups(store, { models: all }, PARTITIONS);
        await store.write(group!.takeover!);
        const rows = await store.checkpoints(PARTITIONS.map((partition) => checkpointName(own, partition)));
        expect([...rows.values()]).toEqual(PARTITIONS.map(() => at(6n)));
      });
    });

    describe('any sequence of releases', () => {
      const later = inVersion(counts, 2);
      const releases: readonly Models[] = [
        [tallies],
        [tallies, counts],
        [counts, parts],
        [tallies, later, parts],
        [later],
      ];
      const written = fc.array(
        fc.record({
          stream: fc.constantFrom('s1', 's2', 's3', 's4'),
          type: fc.constantFrom('Added', 'Added', 'Added', 'FromTheFuture'),
          amount: fc.integer({ min: -5, max: 5 }),
          parts: fc.uniqueArray(fc.constantFrom('a', 'b', 'c'), { maxLength: 3 }),
        }),
        { minLength: 5, maxLength: 40 },
      );
      const steps = fc.array(
        /**
         * A process of a release: its commit number `failAt` fails, and it is stopped in its pause number
         * `stopAfterPauses`, for 0 right after its start.
         */
        fc.record({
          release: fc.integer({ min: 0, max: releases.length - 1 }),
          events: written,
          isUpgraded: fc.boolean(),
          stopAfterPauses: fc.option(fc.integer({ min: 0, max: 4 }), { nil: undefined }),
          failAt: fc.option(fc.integer({ min: 1, max: 12 }), { nil: undefined }),
        }),
        { minLength: 2, maxLength: 5 },
      );
      /** A case that is tried besides the random ones: it adds a view, and parks a stream. */
      const always = [0, 1].map((release) => ({
        release,
        events: Array.from({ length: 5 }, (_, at) => ({
          stream: 's1' as const,
          type: at === release * 4 ? ('FromTheFuture' as const) : ('Added' as const),
          amount: at,
          parts: ['a' as const],
        })),
        isUpgraded: false,
        stopAfterPauses: undefined,
        failAt: undefined,
      }));
      /** The models of a release that knows the type `FromTheFuture`. */
      const knows = (models: Models): Models =>
        models.map((model) => ({ ...model, follows: [...model.follows, 'FromTheFuture'] }));
      const last = knows([tallies, counts, parts]);
      const codecOption = (isUpgraded: boolean) => ({ codecs: isUpgraded ? upgradedCodecs : codecs });

      const documents = async (from: ReadStore) => {
        const keys = ['s1', 's2', 's3', 's4'].flatMap((each) =>
          ['', '/a', '/b', '/c'].map((part) => `tally-${each}${part}`),
        );
        const shared = ['a', 'b', 'c'].map((part) => `total/${part}`);
        const found = await Promise.all(last.map(({ collection }) => from.getMany(collection, [...keys, ...shared])));
        return found.map((some) =>
          some
            .toSorted((a, b) => (a.key < b.key ? -1 : 1))
            .map(({ key, position, fields, response }) => [key, position, fields, Buffer.from(response).toString()]),
        );
      };

      /** The documents that one projector makes of the whole log. */
      const expected = async () => {
        const fresh = sqliteReadStore({ directory: undefined, mode: 'read-write' });
        await fresh.prepare(last.map(({ collection }) => collection));
        const options = {
          ...codecOption(true),
          payloads: noPayloads,
          models: last,
          readStore: fresh,
          logId: log.logId,
        };
        const target = await projector({ ...options, onPoison: 'stop' });
        for await (const { events, position } of log.readLog({ after: 0n })) await target.take(events, position);
        const found = await documents(fresh);
        await fresh.close();
        return found;
      };

      it('comes to the documents that the last release makes of the whole log', async () => {
        let built = 0;
        let parked = 0;
        const property = fc.asyncProperty(steps, async (sequence) => {
          await store.clear();
          await newLog();
          for (const { release, events, isUpgraded, stopAfterPauses, failAt } of sequence) {
            const head = await append(events);
            let commitsLeft = failAt ?? Infinity;
            fails = () => {
              commitsLeft -= 1;
              return commitsLeft === 0;
            };
            let pauses = 0;
            const models = isUpgraded ? knows(releases[release]!) : releases[release]!;
            const stopped = gate();
            const run = await start(models, {
              ...codecOption(isUpgraded),
              log: inPages(log, 3),
              buildingEvents: 3,
              onUnavailable: () => Promise.resolve(),
              onProgress: ({ building }) => void (built += building ? 1 : 0),
              pauseAfterBuilding: async () => {
                pauses += 1;
                if (pauses === stopAfterPauses) await stopped.pause();
              },
            }).catch((error: unknown) => {
              expect(error).toBeInstanceOf(StoreUnavailable); // one of the writes at the start has failed
              return undefined;
            });
            if (run === undefined) continue;
            if (stopAfterPauses !== 0) await Promise.race([run.complete(head), stopped.called]);
            const closed = run.running.close();
            stopped.open();
            await closed;
            parked += run.running.parked().length;
          }
          fails = () => false;
          const run = await builtBy(last, await log.head(), codecOption(true));
          expect(run.running.parked()).toEqual([]);
          expect(await documents(store)).toEqual(await expected());
        });
        await fc.assert(property, { numRuns: runs, examples: [[always]] });
        expect(built).toBeGreaterThan(0);
        expect(parked).toBeGreaterThan(0);
      }, 120_000);
    });
  });
};
