import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { DatabaseSync } from '@photostructure/sqlite';
import { afterEach, describe, expect, it } from 'vitest';
import type { Appended, EventLog, LogPage } from '../../services/kernel/ports/event-store.js';
import {
  DataDirectoryInUse,
  DataDirectoryUnusable,
  OutcomeUnknown,
  StoreUnavailable,
} from '../../services/kernel/fault.js';
import { streamName } from '../../services/kernel/stream.js';
import { appendQueue } from '../../services/store/log/append-queue.js';
import { lockDataDirectory } from '../../services/store/data-directory.js';
import { filePayloadStore } from '../../services/store/payloads/file-payload-store.js';
import { renewLogId, takeLogOver } from '../../services/store/log/identity.js';
import { assertLogNotLost } from '../../services/store/log/presence.js';
import { logPath, openForReading, openForWriting } from '../../services/store/log/schema.js';
import { sqliteEventStore, type SqliteEventStore } from '../../services/store/log/sqlite-event-store.js';
import { sqliteLogReader } from '../../services/store/log/sqlite-log-reader.js';
import { workEvent, workStream, type ProcessMessage, type Work } from './event-store-process.js';
import { newDirectory, noTracing, start, tracedSyncs } from './event-store-processes.js';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean();
});

const openStore = async (directory: string): Promise<SqliteEventStore> => {
  const store = await sqliteEventStore({ directory });
  cleanups.push(() => store.close());
  return store;
};

const openReader = async (...options: Parameters<typeof sqliteLogReader>): Promise<EventLog> => {
  const reader = await sqliteLogReader(...options);
  cleanups.push(() => reader.close());
  return reader;
};

const pagesOf = async (log: EventLog, types?: string[]): Promise<LogPage[]> => {
  const pages: LogPage[] = [];
  for await (const page of log.readLog({ after: 0n, ...(types && { filter: { types } }) })) pages.push(page);
  return pages;
};

const eventsOf = async (log: EventLog) => (await pagesOf(log)).flatMap(({ events }) => events);

/** The id of a user without privileges. */
const UNPRIVILEGED_USER = 65_534;

type Acknowledged = Extract<ProcessMessage, { revision: number }>;
const acknowledged = (said: readonly ProcessMessage[]): Acknowledged[] => said.filter((one) => 'revision' in one);
const faultOf = (said: readonly ProcessMessage[]) => said.find((one) => 'fault' in one);

const STREAMS = 32;
const EVENTS_EACH = 20;
const work = (directory: string, more: Partial<Work> = {}): Work => ({
  directory,
  streams: STREAMS,
  eventsEach: EVENTS_EACH,
  ...more,
});

describe('positions', () => {
  it('are dense from 1, also after appends that were refused', async () => {
    const store = await openStore(newDirectory());
    const stream = streamName('execution', ['a']);
    await store.append(stream, 'no-stream', [workEvent(0, 0)]);
    // The second of three appends expects the revision 7, which the stream does not have.
    const mixed = [1, 2, 3].map((i) => store.append(stream, i === 2 ? 7n : BigInt(i === 1 ? 0 : 1), [workEvent(0, i)]));
    await Promise.allSettled(mixed);
    expect((await eventsOf(store)).map(({ position }) => position)).toEqual([1n, 2n, 3n]);
  });

  it('belong to a log, and two logs have different ids', async () => {
    const [one, two] = [await openStore(newDirectory()), await openStore(newDirectory())];
    expect(one.logId).not.toBe(two.logId);
  });
});

describe('a log that is gone', () => {
  /** Writes a file that shows that a log has been there. */
  const witness = (directory: string, file = 'views.db'): void => writeFileSync(join(directory, file), 'folded once');

  it('is not taken for a new one when there are views of it', () => {
    const directory = newDirectory();
    witness(directory);
    expect(() => assertLogNotLost(directory, ['views.db'])).toThrow(/is missing, and views\.db shows/u);
    writeFileSync(join(directory, 'log.db'), '');
    expect(() => assertLogNotLost(directory, ['views.db'])).toThrow(DataDirectoryUnusable);
    expect(() => assertLogNotLost(directory, ['views.db'])).toThrow(/log\.db is empty, and views\.db shows/u);
  });

  it('is not taken for a new one where its write-ahead log is left', () => {
    const directory = newDirectory();
    witness(directory, 'log.db-wal');
    writeFileSync(join(directory, 'log.db'), '');
    expect(() => assertLogNotLost(directory, [])).toThrow(/is empty, and log\.db-wal shows/u);
  });

  it('is not taken for a new one where a restore was interrupted', async () => {
    const directory = newDirectory();
    mkdirSync(join(directory, 'restoring'));
    expect(() => assertLogNotLost(directory, [])).toThrow(DataDirectoryUnusable);
    expect(() => assertLogNotLost(directory, [])).toThrow(/has half of a backup: .* run `flightlog restore` again/u);
    await openStore(directory);
    assertLogNotLost(directory, []);
  });

  it('is not reported in a new directory, nor beside a log that has begun', async () => {
    const directory = newDirectory();
    assertLogNotLost(directory, ['views.db']);
    await openStore(directory);
    witness(directory);
    assertLogNotLost(directory, ['views.db']);
  });
});

describe('a copied log', () => {
  it('is given an identity of its own, and keeps its events', async () => {
    const directory = newDirectory();
    const original = await sqliteEventStore({ directory });
    await original.append(streamName('execution', ['a']), 'no-stream', [workEvent(0, 0)]);
    await original.close();
    const { before, after } = renewLogId(directory, false);
    const copy = await openStore(directory);
    expect(before).toBe(original.logId);
    expect(after).not.toBe(before);
    expect(copy.logId).toBe(after);
    expect(copy.copyOf).toBeUndefined();
    expect(await eventsOf(copy)).toHaveLength(1);
  });

  it('is a copy of the original until it takes over', async () => {
    const directory = newDirectory();
    const original = await sqliteEventStore({ directory });
    await original.close();
    const { after } = renewLogId(directory, true);
    const copy = await sqliteEventStore({ directory });
    expect(copy).toMatchObject({ logId: after, copyOf: original.logId });
    await copy.close();
    expect(takeLogOver(directory)).toEqual({ logId: after, copyOf: original.logId });
    expect((await openStore(directory)).copyOf).toBeUndefined();
  });

  it('that does not exist gets no identity, and nothing is written', () => {
    const directory = newDirectory();
    expect(() => renewLogId(directory, true)).toThrow(/log\.db cannot be used: it is not there/u);
    expect(readdirSync(directory)).toEqual([]);
  });
});

describe('a filter', () => {
  const fill = async (store: SqliteEventStore): Promise<void> => {
    const hot = (i: number) => ({ ...workEvent(1, i), type: 'NodePhaseReported' });
    const rare = (i: number) => ({ ...workEvent(2, i), type: 'TaskCreated' });
    const many = Array.from({ length: 2_500 }, (_, i) => hot(i));
    await store.append(streamName('execution', ['a']), 'no-stream', many);
    await store.append(streamName('task', ['t']), 'no-stream', [rare(0)]);
    await store.append(
      streamName('execution', ['a']),
      2_499n,
      many.map((_, i) => hot(2_500 + i)),
    );
    await store.append(streamName('task', ['t']), 0n, [rare(1)]);
  };

  it('on rare types finds them in one page among 5,000 events of a frequent type', async () => {
    const store = await openStore(newDirectory());
    await fill(store);
    const pages = await pagesOf(store, ['TaskCreated']);
    expect(pages).toHaveLength(1);
    expect(pages[0]!.events.map(({ position }) => position)).toEqual([2_501n, 5_002n]);
    expect(pages[0]!.position).toBe(5_002n);
  });

  it('on rare types is not woken by commits of a frequent type alone', async () => {
    const store = await openStore(newDirectory());
    const hot = (i: number) => ({ ...workEvent(1, i), type: 'NodePhaseReported' });
    const stream = streamName('execution', ['a']);
    await store.append(stream, 'no-stream', [hot(0)]);
    const pages: LogPage[] = [];
    const everything: bigint[] = [];
    const isThere = new Promise<void>((resolve) => {
      store.subscribe({ after: 1n, filter: { types: ['TaskCreated'] } }, (page) => {
        pages.push(page);
        if (page.events.length > 0) resolve();
      });
    });
    let seen = (): void => undefined;
    store.subscribe({ after: 1n }, ({ position }) => {
      everything.push(position);
      seen();
    });
    for (let i = 1; i <= 5; i += 1) {
      const isSeen = new Promise<void>((resolve) => (seen = resolve));
      await store.append(stream, BigInt(i - 1), [hot(i)]);
      await isSeen;
    }
    await store.append(streamName('task', ['t']), 'no-stream', [{ ...workEvent(2, 0), type: 'TaskCreated' }]);
    await isThere;
    expect(everything.length).toBeGreaterThanOrEqual(5);
    expect(pages.map(({ events, position }) => [events.length, position])).toEqual([
      [0, 1n],
      [1, 7n],
    ]);
  });

  it('that meets its first event of a frequent type while it follows is woken by these from then on', async () => {
    const store = await openStore(newDirectory());
    const delivered: bigint[] = [];
    let wake = (): void => undefined;
    store.subscribe({ after: 0n, filter: { categories: ['execution'] } }, ({ events }) => {
      delivered.push(...events.map(({ position }) => position));
      if (events.length > 0) wake();
    });
    for (let i = 0; i < 3; i += 1) {
      const isDelivered = new Promise<void>((resolve) => (wake = resolve));
      const event = { ...workEvent(1, i), type: i === 0 ? 'ExecutionCreated' : 'NodePhaseReported' };
      await store.append(streamName('execution', ['a']), 'any', [event]);
      await isDelivered;
    }
    expect(delivered).toEqual([1n, 2n, 3n]);
  });

  it('on types that are all declared frequent gives a page for every 2,000 events, and one for the rest', async () => {
    const directory = newDirectory();
    const store = await sqliteEventStore({ directory, hotTypes: ['NodePhaseReported', 'TaskCreated'] });
    cleanups.push(() => store.close());
    await fill(store);
    const pages = await pagesOf(store, ['TaskCreated']);
    expect(pages.map(({ events, position }) => [events.length, position])).toEqual([
      [0, 2_000n],
      [1, 4_000n],
      [1, 5_002n],
    ]);
  });
});

describe('pages of large events', () => {
  it('hold fewer than five of them, and none is missing', async () => {
    const store = await openStore(newDirectory());
    const stream = workStream(1);
    for (let at = 0; at < 8; at++)
      await store.append(stream, at === 0 ? 'no-stream' : BigInt(at - 1), [workEvent(1, at, 400_000)]);
    const sizesOf = async (pages: AsyncIterable<{ readonly length: number }>): Promise<readonly number[]> => {
      const sizes: number[] = [];
      for await (const { length } of pages) sizes.push(length);
      return sizes;
    };
    const inLog = async function* () {
      for await (const { events } of store.readLog({ after: 0n })) yield events;
    };
    const backwards = store.readStream(stream, { direction: 'backwards' });
    for (const pages of [inLog(), store.readStream(stream), backwards, store.readLogBackwards()]) {
      const sizes = await sizesOf(pages);
      expect(sizes.reduce((sum, each) => sum + each, 0)).toBe(8);
      expect(Math.max(...sizes)).toBeLessThan(5);
    }
  });
});

describe('readers', () => {
  it('on another thread are woken by the writer', async () => {
    const directory = newDirectory();
    const store = await openStore(directory);
    const workerData = { directory, source: store.readerSource };
    const thread = new Worker(new URL('./event-store-reader-thread.js', import.meta.url), { workerData });
    cleanups.push(() => thread.terminate());
    const delivered: { count: number; position: bigint; isLive: boolean; logId: string }[] = [];
    const next = (): Promise<unknown> => new Promise((resolve) => thread.once('message', resolve));
    thread.on('message', (message) => delivered.push(message as (typeof delivered)[0]));
    await next();
    for (let i = 0; i < 20; i += 1) {
      const woken = next();
      await store.append(streamName('execution', ['a']), 'any', [workEvent(0, i)]);
      await woken;
    }
    expect(delivered[0]).toEqual({ count: 0, position: 0n, isLive: true, logId: store.logId });
    expect(delivered.slice(1).map(({ position }) => position)).toEqual(
      Array.from({ length: 20 }, (_, i) => BigInt(i + 1)),
    );
  });

  it('without memory that they share with the writer follow what another process writes', async () => {
    const directory = newDirectory();
    await (await openStore(directory)).close();
    const reader = await openReader({ directory });
    const seen: bigint[] = [];
    const allSeen = new Promise<void>((resolve) => {
      reader.subscribe({ after: 0n }, ({ events }) => {
        seen.push(...events.map(({ position }) => position));
        if (seen.length === STREAMS * EVENTS_EACH) resolve();
      });
    });
    const writer = start(work(directory));
    await allSeen;
    expect(seen).toEqual(Array.from({ length: STREAMS * EVENTS_EACH }, (_, i) => BigInt(i + 1)));
    await writer.ended;
  });

  it('without memory that they share with the writer read the log although its folder cannot be watched', async () => {
    const directory = newDirectory();
    const store = await openStore(directory);
    await store.append(streamName('execution', ['a']), 'any', [workEvent(0, 0)]);
    const reader = await openReader({ directory });
    renameSync(directory, `${directory}-moved`);
    const read = new Promise<number>((resolve) => {
      reader.subscribe({ after: 0n }, ({ events }) => resolve(events.length));
    });
    expect(await read).toBe(1);
    renameSync(`${directory}-moved`, directory);
  });

  it('without memory that they share with the writer reject a request for the head once they are closed', async () => {
    const directory = newDirectory();
    await (await openStore(directory)).close();
    const reader = await openReader({ directory });
    await reader.close();
    const refusal = await reader.head().catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(StoreUnavailable);
  });

  it('fail with the reason when there is no log', async () => {
    const directory = newDirectory();
    const opening = sqliteLogReader({ directory });
    await expect(opening).rejects.toBeInstanceOf(DataDirectoryUnusable);
    await expect(opening).rejects.toThrow(`log ${directory}/log.db cannot be used: it is not there`);
    expect(readdirSync(directory)).toEqual([]);
  });

  it('fail with the reason when the data directory is a file', async () => {
    const file = join(newDirectory(), 'file');
    writeFileSync(file, '');
    await expect(sqliteLogReader({ directory: file })).rejects.toThrow(
      `log ${file}/log.db cannot be used: its directory is a file`,
    );
  });
});

describe('a data directory', () => {
  it('is refused to a second process, with the process id of the first', async () => {
    const directory = newDirectory();
    const lock = await lockDataDirectory(directory);
    const second = start(work(directory));
    await second.ended;
    expect(faultOf(second.said)).toEqual({
      fault: 'data-directory-in-use',
      message: `data directory ${directory} is in use by process ${process.pid}`,
    });
    await expect(lockDataDirectory(directory)).rejects.toBeInstanceOf(DataDirectoryInUse);
    lock.release();
    (await lockDataDirectory(directory)).release();
  });

  it('can be locked shared several times, and exclusively only when no other lock is held', async () => {
    const directory = newDirectory();
    const [one, two] = [await lockDataDirectory(directory, 'together'), await lockDataDirectory(directory, 'together')];
    one.release();
    await expect(lockDataDirectory(directory)).rejects.toBeInstanceOf(DataDirectoryInUse);
    two.release();
    const alone = await lockDataDirectory(directory);
    await expect(lockDataDirectory(directory, 'together')).rejects.toBeInstanceOf(DataDirectoryInUse);
    alone.release();
  });

  it('goes to one of several processes that start at the same time', async () => {
    const directory = join(newDirectory(), 'below', 'that');
    const starters = Array.from({ length: 4 }, () =>
      start(work(directory, { streams: 1, eventsEach: 1, keepsLock: true })),
    );
    const firsts = await Promise.all(starters.map((one) => one.until((said) => 'locked' in said || 'fault' in said)));
    const winner = starters.find((_, i) => 'locked' in firsts[i]!)!;
    expect(firsts.filter((said) => 'locked' in said)).toEqual([{ locked: winner.pid }]);
    for (const said of firsts)
      if ('fault' in said) expect(said.message).toBe(`data directory ${directory} is in use by process ${winner.pid}`);
    starters.forEach((one) => one.endInput());
    await Promise.all(starters.map(({ ended }) => ended));
  });

  it('is free again after its holder was killed', async () => {
    const directory = newDirectory();
    const holder = start(work(directory, { keepsLock: true }));
    await holder.until((said) => 'locked' in said);
    holder.kill();
    await holder.ended;
    const lock = await lockDataDirectory(directory);
    expect(readFileSync(join(directory, 'lock.pid'), 'utf8')).toBe(String(process.pid));
    lock.release();
  });

  it('whose lock is damaged is refused with the file of the lock and the reason', async () => {
    const directory = newDirectory();
    writeFileSync(join(directory, 'lock.db'), 'no lock '.repeat(1_000));
    await expect(lockDataDirectory(directory)).rejects.toThrow(
      `data directory ${directory} cannot be used: ${directory}/lock.db: it is damaged (file is not a database)`,
    );
  });

  it('in which the process id cannot be written is refused, and is free again', async () => {
    const directory = newDirectory();
    mkdirSync(join(directory, 'lock.pid'));
    await expect(lockDataDirectory(directory)).rejects.toBeInstanceOf(DataDirectoryUnusable);
    rmSync(join(directory, 'lock.pid'), { recursive: true });
    (await lockDataDirectory(directory)).release();
  });

  it('is free again although the process id cannot be removed', async () => {
    const directory = newDirectory();
    const lock = await lockDataDirectory(directory);
    rmSync(join(directory, 'lock.pid'));
    mkdirSync(join(directory, 'lock.pid'));
    expect(() => lock.release()).toThrow();
    rmSync(join(directory, 'lock.pid'), { recursive: true });
    (await lockDataDirectory(directory)).release();
  });

  it('that cannot be made is refused with its path and the reason', async () => {
    const file = join(newDirectory(), 'file');
    writeFileSync(file, 'in the way');
    const refused = lockDataDirectory(join(file, 'data'));
    await expect(refused).rejects.toBeInstanceOf(DataDirectoryUnusable);
    await expect(refused).rejects.toThrow(/^data directory \/.*\/file\/data cannot be used: .*not a directory/u);
  });

  it('that is read-only is refused, and nothing is written', async () => {
    const directory = newDirectory();
    chmodSync(directory, 0o555);
    // Root may write anywhere, so the process drops its privileges then.
    const isRoot = process.getuid?.() === 0;
    const refused = start(work(directory, isRoot ? { userId: UNPRIVILEGED_USER } : {}));
    await refused.ended;
    expect(faultOf(refused.said)).toMatchObject({
      fault: 'data-directory-unusable',
      message: expect.stringMatching(
        new RegExp(`^data directory ${directory} cannot be used: .*permission denied`, 'u'),
      ) as string,
    });
    expect(readdirSync(directory)).toEqual([]);
  });
});

describe('a file in the place of the log', () => {
  const written = async (): Promise<{ directory: string; file: string }> => {
    const directory = newDirectory();
    const store = await sqliteEventStore({ directory });
    for (let i = 0; i < 20; i += 1) await store.append(workStream(0), 'any', [workEvent(0, i, 5_000)]);
    await store.close();
    return { directory, file: join(directory, 'log.db') };
  };

  const refusedUnchanged = async (directory: string, file: string, reason: RegExp): Promise<void> => {
    const before = readFileSync(file);
    for (const open of [sqliteEventStore, sqliteLogReader]) {
      const opening = open({ directory });
      await expect(opening).rejects.toBeInstanceOf(DataDirectoryUnusable);
      await expect(opening).rejects.toThrow(reason);
      await expect(opening).rejects.toThrow(`log ${file} cannot be used`);
    }
    expect(readFileSync(file).equals(before)).toBe(true);
  };

  it('that is no log at all is refused and left as it is', async () => {
    const { directory, file } = await written();
    writeFileSync(file, 'this is not a log '.repeat(1_000));
    await refusedUnchanged(directory, file, /it is damaged \(file is not a database\)/u);
  });

  it('that was cut off is refused and left as it is', async () => {
    const { directory, file } = await written();
    truncateSync(file, 10 * 4_096); // to its first ten pages
    await refusedUnchanged(directory, file, /it is damaged/u);
  });

  it('of another program is refused and left as it is', async () => {
    const directory = newDirectory();
    const file = join(directory, 'log.db');
    const db = new DatabaseSync(file);
    db.exec('CREATE TABLE something (a)');
    db.close();
    await refusedUnchanged(directory, file, /it is not a log of flightlog/u);
  });

  it('of a newer release is refused and left as it is', async () => {
    const { directory, file } = await written();
    const db = new DatabaseSync(file);
    db.exec("UPDATE meta SET value = '99' WHERE key = 'schema-version'; PRAGMA wal_checkpoint(TRUNCATE)");
    db.close();
    await refusedUnchanged(
      directory,
      file,
      /a newer release has written it \(schema version 99; this release knows 1\)/u,
    );
  });
});

describe('a full disk', () => {
  /** A file system of 4 MiB; `undefined` when this user may not mount one. */
  const smallDisk = (): string | undefined => {
    const directory = newDirectory();
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', directory]).status !== 0) return undefined;
    cleanups.push(() => spawnSync('umount', ['-l', directory]));
    return directory;
  };

  it('refuses appends whole, and accepts them again once the disk has space', async ({ skip }) => {
    const directory = smallDisk();
    if (directory === undefined) return skip('this user may not mount a file system');
    writeFileSync(join(directory, 'in-the-way'), new Uint8Array(2_000_000));
    const store = await openStore(directory);
    const fill = async (from: number): Promise<number> => {
      for (let at = from; ; at += 1) {
        const pair = [workEvent(at, 0, 50_000), workEvent(at, 1, 50_000)];
        const fault = await store
          .append(streamName('execution', [`${at}`]), 'no-stream', pair)
          .catch((e: unknown) => e);
        if (!(fault instanceof Error)) continue;
        expect(fault).toBeInstanceOf(StoreUnavailable);
        expect(fault.message).toMatch(/log \/.*\/log\.db cannot be written: the disk is full/u);
        return at;
      }
    };
    const first = await fill(0);
    expect(await eventsOf(store)).toHaveLength(first * 2);
    rmSync(join(directory, 'in-the-way'));
    const second = await fill(first);
    expect(second).toBeGreaterThan(first);
    const positions = (await eventsOf(store)).map(({ position }) => position);
    expect(positions).toEqual(Array.from({ length: second * 2 }, (_, i) => BigInt(i + 1)));
  });

  it('at the first start is reported, and a later start succeeds once the disk has space', async ({ skip }) => {
    const directory = smallDisk();
    if (directory === undefined) return skip('this user may not mount a file system');
    const inTheWay = join(directory, 'in-the-way');
    expect(() => writeFileSync(inTheWay, new Uint8Array(5_000_000))).toThrow('no space left');
    const refused = sqliteEventStore({ directory });
    await expect(refused).rejects.toBeInstanceOf(DataDirectoryUnusable);
    await expect(refused).rejects.toThrow(/the disk is full/u);
    rmSync(inTheWay);
    const store = await openStore(directory);
    await store.append(workStream(0), 'no-stream', [workEvent(0, 0)]);
  });
});

describe('a disk error in a commit', () => {
  it('is reported as an unknown outcome, and the next start has all that was acknowledged', async () => {
    const directory = newDirectory();
    // A write beyond the limit on the size of files fails, for any user.
    const limited = start(work(directory, { eventsEach: 1_000, dataBytes: 5_000 }), {}, [
      'sh',
      '-c',
      'ulimit -f 4000; exec "$0" "$@"', // in blocks of 512 bytes: about 2 MB
    ]);
    await limited.ended;
    expect(faultOf(limited.said)).toMatchObject({ fault: 'outcome-unknown' });
    const store = await openStore(directory);
    const recorded = new Map(
      (await eventsOf(store)).map((event) => [`${event.stream}/${event.revision}`, event.position]),
    );
    const answers = acknowledged(limited.said);
    expect(answers.length).toBeGreaterThan(0);
    for (const { stream, revision, position } of answers)
      expect(recorded.get(`${stream}/${revision}`)).toBe(BigInt(position));
    await store.append(streamName('execution', ['after']), 'no-stream', [workEvent(0, 0)]);
  });
});

describe('a log whose files are taken away while it is open', () => {
  const opened = async (): Promise<{ directory: string; append: (at: number) => Promise<Appended> }> => {
    const directory = join(newDirectory(), 'data');
    mkdirSync(directory);
    const store = await openStore(directory);
    const append = (at: number) => store.append(workStream(at), 'no-stream', [workEvent(at, 0)]);
    await append(0);
    return { directory, append };
  };

  it.each([
    ['its directory', ''],
    ['log.db', 'log.db'],
    ['log.db-wal', 'log.db-wal'],
  ])('acknowledges nothing once %s is removed', async (_, name) => {
    const { directory, append } = await opened();
    rmSync(join(directory, name), { recursive: true });
    await expect(append(1)).rejects.toBeInstanceOf(StoreUnavailable);
    await expect(append(2)).rejects.toThrow(/^log .*log\.db cannot be written: .* was removed or moved$/u);
  });

  it('acknowledges nothing while its directory is moved or another is there, and goes on when it is back', async () => {
    const { directory, append } = await opened();
    renameSync(directory, `${directory}-moved`);
    await expect(append(1)).rejects.toThrow(/was removed or moved$/u);
    mkdirSync(directory);
    writeFileSync(join(directory, 'log.db'), 'another');
    await expect(append(2)).rejects.toThrow(/log\.db was replaced by another$/u);
    rmSync(directory, { recursive: true });
    renameSync(`${directory}-moved`, directory);
    await expect(append(3)).resolves.toEqual({ revision: 0n, position: 2n });
  });

  it('has no payload written beside it, and no new directory made for one', async () => {
    const { directory } = await opened();
    const payloads = filePayloadStore({ directory });
    rmSync(directory, { recursive: true });
    await expect(payloads.put('runs/a', Buffer.from('one'))).rejects.toBeInstanceOf(StoreUnavailable);
    expect(existsSync(directory)).toBe(false);
    mkdirSync(directory);
    await expect(payloads.put('runs/a', Buffer.from('one'))).rejects.toThrow(/was replaced by another/u);
    expect(readdirSync(directory)).toEqual([]);
  });
});

describe('a process that is killed', () => {
  /** Sends all events again, and expects each in the log once, the acknowledged ones at the positions they had. */
  const expectTruth = async (
    directory: string,
    answers: readonly Acknowledged[],
    { streams, eventsEach }: Work,
  ): Promise<void> => {
    const again = start(work(directory, { streams, eventsEach }));
    await again.ended;
    const positions = new Map(acknowledged(again.said).map((one) => [`${one.stream}/${one.revision}`, one.position]));
    for (const { stream, revision, position } of answers) expect(positions.get(`${stream}/${revision}`)).toBe(position);
    const recorded = await eventsOf(await openReader({ directory }));
    const ids = new Set(recorded.map(({ id }) => Buffer.from(id).toString('hex')));
    expect([recorded.length, ids.size, positions.size]).toEqual(Array(3).fill(streams * eventsEach));
    expect(recorded.map(({ position }) => position)).toEqual(recorded.map((_, i) => BigInt(i + 1)));
  };

  it.each(['before-commit:1', 'before-commit:7', 'after-commit:1', 'after-commit:7', 'after-payload:40'])(
    'at the fail point %s loses nothing that it acknowledged',
    async (point) => {
      const directory = newDirectory();
      const doomed = start(work(directory, { withPayloads: point.startsWith('after-payload') }), {
        FLIGHTLOG_FAIL_POINT: point,
      });
      expect(await doomed.ended).toEqual({ signal: 'SIGKILL' });
      await expectTruth(directory, acknowledged(doomed.said), work(directory));
    },
  );

  it('at any moment, again and again, loses nothing that it acknowledged', async () => {
    const directory = newDirectory();
    const task = work(directory, { eventsEach: 60 });
    const answers: Acknowledged[] = [];
    for (let round = 1; round <= 5; round += 1) {
      const doomed = start(task);
      await doomed.until(round * 250);
      doomed.kill();
      await doomed.ended;
      answers.push(...acknowledged(doomed.said));
    }
    await expectTruth(directory, answers, task);
  });
});

describe('durability', () => {
  it('is set to a sync of the log at every commit', () => {
    const { db } = openForWriting(join(newDirectory(), 'log.db'), 'FULL');
    expect(db.prepare('PRAGMA synchronous').get()).toEqual({ synchronous: 2 });
    expect(db.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' });
    db.close();
  });

  it('syncs the log at least once for each commit under load, and would not with synchronous=OFF', async ({ skip }) => {
    const reason = noTracing();
    if (reason !== undefined) return skip(reason);
    const commitsIn = (said: readonly ProcessMessage[]): number => said.find((one) => 'commits' in one)!.commits;
    const full = await tracedSyncs(work(newDirectory()));
    expect(commitsIn(full.said)).toBeGreaterThanOrEqual(20);
    expect(full.syncs).toBeGreaterThanOrEqual(commitsIn(full.said));
    const off = await tracedSyncs(work(newDirectory(), { synchronous: 'OFF' }));
    expect(off.syncs).toBeLessThan(commitsIn(off.said));
  });
});

it('an append that the writer has not answered when it dies has an unknown outcome', async () => {
  // Replaces the writer by a thread that dies with the first append.
  const dying =
    "const { parentPort } = require('node:worker_threads');" +
    "parentPort.once('message', () => process.exit(1)); parentPort.postMessage({ type: 'ready' });";
  const queue = appendQueue(new Worker(dying, { eval: true }));
  await queue.ready;
  const append = (): Promise<Appended> =>
    new Promise((resolve, reject) => {
      const sent = { stream: workStream(0), expected: 'any', events: [workEvent(0, 0)] } as const;
      queue.add({ append: sent, resolve, reject });
    });
  await expect(append()).rejects.toBeInstanceOf(OutcomeUnknown);
  await expect(append()).rejects.toBeInstanceOf(StoreUnavailable);
});

it('an append under way when the store is closed is answered', async () => {
  const directory = newDirectory();
  const store = await openStore(directory);
  const appended = store.append(streamName('execution', [randomUUID()]), 'no-stream', [workEvent(0, 0)]);
  await store.close();
  await expect(appended).resolves.toEqual({ revision: 0n, position: 1n });
  expect(statSync(join(directory, 'log.db-wal')).size).toBe(0);
});

it('a close with a commit in flight and another append waiting acknowledges both once they are durable', async () => {
  const directory = newDirectory();
  const store = await sqliteEventStore({ directory });
  const [locker, observer] = [openForWriting(logPath(directory), 'FULL').db, openForReading(logPath(directory)).db];
  const isDurable = observer.prepare('SELECT 1 FROM events JOIN streams ON streams.id = stream WHERE name = ?');
  locker.exec('BEGIN IMMEDIATE'); // the transaction of the writer waits until this one ends
  const acknowledged: unknown[] = [];
  const append = async (stream: number): Promise<void> => {
    const { position } = await store.append(workStream(stream), 'no-stream', [workEvent(stream, 0, 900_000)]);
    acknowledged.push([position, isDurable.get(workStream(stream)) !== undefined]);
  };
  const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
  const first = [1, 2, 3, 4, 5].map(append); // a full batch: the next append is not added to it
  for (let i = 0; i < 2; i += 1) await turn(); // until the batch is sent
  const [second, closed] = [append(6), store.close()];
  for (let i = 0; i < 100; i += 1) await turn();
  expect(acknowledged).toEqual([]);
  locker.exec('ROLLBACK');
  await Promise.all([...first, second, closed]);
  expect(acknowledged).toEqual([1n, 2n, 3n, 4n, 5n, 6n].map((position) => [position, true]));
  [locker, observer].forEach((db) => db.close());
});
