import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RecordedEvent } from '../../../services/kernel/event.js';
import type { Appended, EventStore, ReadStreamOptions } from '../../../services/kernel/ports/event-store.js';
import { AppendTooLarge, OutcomeUnknown, StoreUnavailable } from '../../../services/kernel/fault.js';
import { MAX_INLINE_BYTES, type PayloadStore } from '../../../services/kernel/ports/payload-store.js';
import type { Outcome } from '../../../services/kernel/ports/sessions.js';
import { type StreamName, streamName } from '../../../services/kernel/stream.js';
import { eventIds } from '../../../services/sessions/encode-events.js';
import { type OpenSessions, openSessions } from '../../../services/sessions/sessions.js';
import { filePayloadStore } from '../../../services/store/payloads/file-payload-store.js';
import { sqliteEventStore } from '../../../services/store/log/sqlite-event-store.js';
import { purse } from '../../support/streams/purse.js';

type Append = (...given: Parameters<EventStore['append']>) => Promise<Appended>;

const hex = (id: Uint8Array): string => Buffer.from(id).toString('hex');

describe('commands for one stream that wait together, on a log that other processes write too', () => {
  let directory: string;
  let store: EventStore;
  let payloads: PayloadStore;
  let stream: StreamName;
  /** The number of events of each append, and the options of each read of the stream. */
  let appends: number[];
  let reads: (ReadStreamOptions | undefined)[];

  /** The sessions of a process, whose appends go through `append`. */
  const opened = (append: Append = (...given) => store.append(...given)): OpenSessions =>
    openSessions({
      store: {
        ...store,
        readStream: (name, options) => (reads.push(options), store.readStream(name, options)),
        append: (name, expected, events) => (appends.push(events.length), append(name, expected, events)),
      },
      payloads,
      now: () => 1_000,
      isShared: true,
    });

  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'flightlog-batched-'));
    store = await sqliteEventStore({ directory });
    payloads = filePayloadStore({ directory });
    stream = streamName('purse', [randomUUID()]);
    appends = [];
    reads = [];
  });

  afterEach(async () => {
    await store.close();
    await payloads.close();
    rmSync(directory, { recursive: true });
  });

  /** Sends a command to the purse. */
  const ask = (sessions: OpenSessions, kind: 'add' | 'spend', commandId: string = randomUUID()) =>
    sessions.handle(purse, stream, { kind }, { actor: 'tester', commandId });
  /** Sends `count` commands at once, each of which adds a coin. */
  const several = (sessions: OpenSessions, count: number) =>
    Promise.all(Array.from({ length: count }, () => ask(sessions, 'add')));
  /** The events of the purse, in order. */
  const recorded = async (): Promise<RecordedEvent[]> => {
    const events: RecordedEvent[] = [];
    for await (const page of store.readStream(stream)) events.push(...page);
    return events;
  };

  it('share an append, and each gets its own revision', async () => {
    const outcomes = await several(opened(), 8);
    expect(outcomes.map((each) => each.kind === 'accepted' && each.revision)).toEqual([0n, 1n, 2n, 3n, 4n, 5n, 6n, 7n]);
    expect(appends).toEqual([8]);
    expect(await recorded()).toHaveLength(8);
  });

  it('wait for the append before them, and share the next', async () => {
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const here = opened((...append) => released.then(() => store.append(...append)));
    const first = ask(here, 'add');
    while (appends.length === 0) await new Promise((resolve) => setImmediate(resolve));
    const others = several(here, 6);
    release();
    await Promise.all([first, others]);
    expect(appends).toEqual([1, 6]);
  });

  it('are refused because of earlier commands only once those are recorded, and fail with those', async () => {
    // A purse holds ten coins.
    const outcomes = await several(opened(), 12);
    expect(outcomes.map(({ kind }) => kind)).toEqual([
      ...Array.from({ length: 10 }, () => 'accepted'),
      'refused',
      'refused',
    ]);
    expect(reads).toHaveLength(1); // at the start; the append itself served as the check of the head

    stream = streamName('purse', [randomUUID()]);
    const lost = opened(() => Promise.reject(new StoreUnavailable('it is not there')));
    const results = await Promise.allSettled(Array.from({ length: 12 }, () => ask(lost, 'add')));
    expect(results.map(({ status }) => status)).toEqual(results.map(() => 'rejected'));
  });

  it('are decided again when another process was faster, and at most one of the next appends is a batch', async () => {
    const here = opened();
    const there = opened();
    await Promise.all([several(here, 3), several(there, 3)]);
    expect(await recorded()).toHaveLength(6);
    appends = [];
    await several(here, 3);
    await several(there, 1);
    expect(appends.filter((events) => events > 1).length).toBeLessThanOrEqual(1);
    expect(await recorded()).toHaveLength(10);
  });

  it('are batched again when no other process has written for a while', async () => {
    const here = opened();
    const there = opened();
    await several(here, 2);
    await ask(there, 'add');
    await several(here, 2);
    // 80 commands: after a conflict, 64 are appended one by one.
    for (let turns = 0; turns < 40; turns += 1) {
      await ask(here, 'spend');
      await ask(here, 'add');
    }
    appends = [];
    await several(here, 5);
    expect(Math.max(...appends)).toBeGreaterThan(1);
  });

  it('are batched again a while after a batch has failed', async () => {
    let isFirst = true;
    const failing: Append = (...append) => {
      if (!isFirst) return store.append(...append);
      isFirst = false;
      return Promise.reject(new StoreUnavailable('it is not there'));
    };
    const here = opened(failing);
    await expect(several(here, 2)).rejects.toBeInstanceOf(StoreUnavailable);
    // 80 commands: after a failure, 64 are appended one by one.
    for (let turns = 0; turns < 40; turns += 1) {
      await ask(here, 'add');
      await ask(here, 'spend');
    }
    appends = [];
    await several(here, 5);
    expect(Math.max(...appends)).toBeGreaterThan(1);
  });

  it('share as few appends as their size allows, none of which is too large', async () => {
    const encode: typeof purse.codec.encode = (event) => ({
      ...purse.codec.encode(event),
      data: new Uint8Array(300_000),
    });
    const wide = { ...purse, codec: { ...purse.codec, encode } };
    const here = opened();
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, () =>
        here.handle(wide, stream, { kind: 'add' }, { actor: 'tester', commandId: randomUUID() }),
      ),
    );
    expect(outcomes.map(({ kind }) => kind)).toEqual(Array.from({ length: 8 }, () => 'accepted'));
    expect(appends).toEqual([3, 3, 2]);
    expect(reads).toHaveLength(1);
  });

  it('keep their order behind a command with large contents, which reads no event twice after a conflict', async () => {
    const here = opened();
    const large = { kind: 'write', bytes: new Uint8Array(MAX_INLINE_BYTES + 1) } as const;
    const write = () => here.handle(purse, stream, large, { actor: 'tester', commandId: randomUUID() });
    await Promise.all([write(), several(here, 2)]);
    expect(appends).toEqual([1, 2]);
    await ask(opened(), 'add');
    reads = [];
    await expect(write()).resolves.toMatchObject({ kind: 'accepted', revision: 4n });
    expect(reads).toEqual([{ from: 3n }]);
  });

  it('are counted with their metadata, three bytes for each character', async () => {
    const here = opened();
    const long = { actor: 'x'.repeat(110_000) };
    const asked = Array.from({ length: 4 }, () =>
      here.handle(purse, stream, { kind: 'add' }, { ...long, commandId: randomUUID() }),
    );
    expect((await Promise.all(asked)).map(({ kind }) => kind)).toEqual(Array(4).fill('accepted'));
    expect(appends).toEqual([3, 1]);
  });

  it('are sent although each is too large by itself, so that each gets its error', async () => {
    const encode: typeof purse.codec.encode = (event) => ({
      ...purse.codec.encode(event),
      data: new Uint8Array(1_100_000),
    });
    const here = opened();
    const asked = [1, 2].map(() =>
      here.handle(
        { ...purse, codec: { ...purse.codec, encode } },
        stream,
        { kind: 'add' },
        {
          actor: 'tester',
          commandId: randomUUID(),
        },
      ),
    );
    const settled = await Promise.allSettled(asked);
    expect(settled.map((each) => each.status === 'rejected' && each.reason instanceof AppendTooLarge)).toEqual([
      true,
      true,
    ]);
  });

  it('are appended one by one when the store refuses them together as too large', async () => {
    const narrow: Append = (name, expected, events) =>
      events.length > 1 ? Promise.reject(new AppendTooLarge('too large')) : store.append(name, expected, events);
    const outcomes = await several(opened(narrow), 4);
    expect(outcomes.map(({ kind }) => kind)).toEqual(['accepted', 'accepted', 'accepted', 'accepted']);
    expect(await recorded()).toHaveLength(4);
  });

  it('are appended after an append of unknown outcome only when the stream has been read again', async () => {
    /** The number of reads before each append. */
    const readsBefore: number[] = [];
    let isLost = true;
    const losing: Append = async (name, expected, events) => {
      readsBefore.push(reads.length);
      const appended = await store.append(name, expected, events);
      if (!isLost) return appended;
      isLost = false;
      throw new OutcomeUnknown('no answer');
    };
    const here = opened(losing);
    const first = several(here, 3);
    const second = first.catch(() => several(here, 2));
    await expect(first).rejects.toBeInstanceOf(OutcomeUnknown);
    await expect(second).resolves.toMatchObject([{ revision: 3n }, { revision: 4n }]);
    expect(await recorded()).toHaveLength(5);
    expect({ appends, readsBefore }).toEqual({ appends: [3, 1, 1], readsBefore: [1, 2, 2] });
  });

  /**
   * The fate of an append: it succeeds, its answer is lost, it never arrives, or it arrives after the caller has given
   * up.
   */
  type Fate = 'well' | 'lost' | 'unsent' | 'late';
  type Answer = { readonly id: string; readonly isAdd: boolean; readonly known?: Outcome<unknown>; error?: unknown };

  /**
   * An `append` that meets these fates in turn; `arrived` waits until all events are recorded, and all sessions have
   * observed them.
   */
  const appendMeeting = (fates: readonly Fate[], observers: readonly OpenSessions[]) => {
    const arriving: Promise<unknown>[] = [];
    let sent = 0;
    const write: Append = async (...append) => {
      const appended = await store.append(...append);
      const observing = recorded().then((events) => {
        for (const sessions of observers) for (const event of events) sessions.observe(event);
      });
      arriving.push(observing);
      return appended;
    };
    const append: Append = async (...given) => {
      const fate = fates[sent++] ?? 'well';
      if (fate === 'unsent') throw new StoreUnavailable('it is not there');
      const written =
        fate === 'late' ? new Promise((resolve) => setImmediate(resolve)).then(() => write(...given)) : write(...given);
      if (fate === 'late') arriving.push(written.catch(() => undefined));
      if (fate === 'late') throw new OutcomeUnknown('no answer');
      const appended = await written;
      if (fate === 'lost') throw new OutcomeUnknown('no answer');
      return appended;
    };
    const arrived = async (): Promise<void> => {
      let awaited: number;
      do {
        awaited = arriving.length;
        await Promise.all(arriving);
      } while (awaited < arriving.length);
    };
    return { append, arrived };
  };

  /** Expects that the answer of a command agrees with the ids of the events in the stream. */
  const expectAgreement = ({ id, isAdd, known, error }: Answer, ids: readonly string[]): void => {
    const [first] = eventIds(id, 1);
    const revision = ids.indexOf(hex(first!));
    if (error instanceof StoreUnavailable || known?.kind === 'refused') expect(revision).toBe(-1);
    else if (error !== undefined) expect(error).toBeInstanceOf(OutcomeUnknown);
    else if (known?.kind === 'accepted' && (isAdd || revision >= 0)) expect(BigInt(revision)).toBe(known.revision);
  };

  /** Expects that the purse has held from 0 to 10 coins at all times. */
  const expectWithinLimits = (events: readonly RecordedEvent[]): void => {
    let coins = 0;
    for (const { type } of events) {
      coins += type === 'CoinAdded' ? 1 : -1;
      expect(coins).toBeGreaterThanOrEqual(0);
      expect(coins).toBeLessThanOrEqual(10);
    }
  };

  it('are in the log at most once, and where their answers say, whatever happens to appends and answers', async () => {
    const step = fc.record({ isHere: fc.boolean(), isAdd: fc.boolean(), pause: fc.boolean() });
    const fate = fc.constantFrom<Fate>('well', 'well', 'well', 'lost', 'unsent', 'late');
    const runs = fc.record({
      steps: fc.array(step, { minLength: 30, maxLength: 80 }),
      fates: fc.array(fate, { minLength: 5, maxLength: 60 }),
    });
    await fc.assert(
      fc.asyncProperty(runs, async ({ steps, fates }) => {
        stream = streamName('purse', [randomUUID()]);
        const observers: OpenSessions[] = [];
        const { append, arrived } = appendMeeting(fates, observers);
        const [here, there] = [opened(append), opened(append)];
        observers.push(here, there);
        const asked: Promise<Answer>[] = [];
        for (const { isHere, isAdd, pause } of steps) {
          const id = randomUUID();
          const outcome = ask(isHere ? here : there, isAdd ? 'add' : 'spend', id);
          asked.push(outcome.then((known) => ({ id, isAdd, known })).catch((error: unknown) => ({ id, isAdd, error })));
          if (pause) await outcome.catch(() => undefined);
        }
        const answers = await Promise.all(asked);
        await arrived();
        const events = await recorded();
        const ids = events.map((event) => hex(event.id));
        expect(new Set(ids).size).toBe(ids.length);
        expectWithinLimits(events);
        for (const answer of answers) expectAgreement(answer, ids);
      }),
      { numRuns: 40 },
    );
  }, 60_000);
});
