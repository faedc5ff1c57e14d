import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RecordedEvent } from '../../../services/kernel/event.js';
import type { EventStore, ReadStreamOptions } from '../../../services/kernel/ports/event-store.js';
import { OutcomeUnknown, RevisionConflict, StoreUnavailable } from '../../../services/kernel/fault.js';
import type { PayloadStore } from '../../../services/kernel/ports/payload-store.js';
import type { CommandContext, Folded } from '../../../services/kernel/ports/sessions.js';
import { type StreamName, streamName } from '../../../services/kernel/stream.js';
import { type OpenSessions, openSessions } from '../../../services/sessions/sessions.js';
import { filePayloadStore } from '../../../services/store/payloads/file-payload-store.js';
import { sqliteEventStore } from '../../../services/store/log/sqlite-event-store.js';
import { type Purse, purse } from '../../support/streams/purse.js';

const context = (more: Partial<CommandContext> = {}): CommandContext => ({
  actor: 'tester',
  commandId: randomUUID(),
  ...more,
});

describe('a live stream of a log that other processes write too', () => {
  let directory: string;
  let store: EventStore;
  let payloads: PayloadStore;
  let here: OpenSessions;
  let there: OpenSessions;
  let stream: StreamName;
  /** The options of each read of a stream by `here`, and the number of its appends. */
  let reads: (ReadStreamOptions | undefined)[];
  let appends: number;

  /** The sessions of a process that reads and writes the log through `log`. */
  const opened = (log: EventStore): OpenSessions =>
    openSessions({ store: log, payloads, now: () => 1_000, isShared: true });

  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'flightlog-shared-'));
    store = await sqliteEventStore({ directory });
    payloads = filePayloadStore({ directory });
    reads = [];
    appends = 0;
    here = opened({
      ...store,
      readStream: (name, options) => (reads.push(options), store.readStream(name, options)),
      append: (...given) => ((appends += 1), store.append(...given)),
    });
    there = opened(store);
    stream = streamName('purse', [randomUUID()]);
  });

  afterEach(async () => {
    await store.close();
    await payloads.close();
    rmSync(directory, { recursive: true });
  });

  const ask = (sessions: OpenSessions, kind: 'add' | 'spend' | 'count', more?: Partial<CommandContext>) =>
    sessions.handle(purse, stream, { kind }, context(more));
  const committed = (): Promise<Folded<Purse>> =>
    here.read(purse, stream, ({ state, ...folded }) => ({ ...folded, state: { ...state } }));
  /** The events of the purse, in order. */
  const recorded = async (): Promise<RecordedEvent[]> => {
    const events: RecordedEvent[] = [];
    for await (const page of store.readStream(stream)) events.push(...page);
    return events;
  };
  /** Adds the ten coins that a purse holds. */
  const fill = async (sessions: OpenSessions): Promise<void> => {
    for (let coins = 0; coins < 10; coins += 1) await ask(sessions, 'add');
  };

  it('does not refuse a command that another process has made possible', async () => {
    await fill(here);
    await ask(there, 'spend');
    await expect(ask(here, 'add')).resolves.toEqual({ kind: 'accepted', revision: 11n, position: 12n });
  });

  it('refuses at the head of the stream, with one read for concurrent callers', async () => {
    await fill(here);
    reads = [];
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => ask(here, 'add')));
    expect(new Set(outcomes.map(({ kind }) => kind))).toEqual(new Set(['refused']));
    expect(reads).toEqual([{ from: 10n }]);
  });

  it('reads, of a stream that it has created, only what follows its own last event', async () => {
    const creating: typeof purse = { ...purse, createsStream: () => true };
    const add = () => here.handle(creating, stream, { kind: 'add' }, context());
    for (let coins = 0; coins < 10; coins += 1) await add();
    expect(reads).toEqual([]);
    await expect(add()).resolves.toMatchObject({ kind: 'refused' });
    expect(reads).toEqual([{ from: 10n }]);
  });

  it('needs no read for a permanent refusal', async () => {
    const lasting = { ...purse, isPermanentRefusal: () => true };
    const add = () => here.handle(lasting, stream, { kind: 'add' }, context());
    for (let coins = 0; coins < 10; coins += 1) await add();
    reads = [];
    await expect(add()).resolves.toMatchObject({ kind: 'refused' });
    expect(reads).toEqual([]);
  });

  it('answers that a command has no effect only after it has read the events of other processes', async () => {
    await ask(here, 'add');
    await ask(here, 'spend');
    await ask(there, 'add');
    await expect(ask(here, 'spend')).resolves.toMatchObject({ kind: 'accepted', revision: 3n });
    await expect(ask(here, 'spend')).resolves.toMatchObject({ kind: 'accepted', revision: 3n, position: 4n });
  });

  it('folds only the events after its state when another process was faster', async () => {
    await ask(here, 'add');
    await ask(there, 'add');
    reads = [];
    await expect(ask(here, 'add')).resolves.toMatchObject({ kind: 'accepted', revision: 2n });
    expect(reads).toEqual([{ from: 1n }]);
    expect(appends).toBe(3);
  });

  it('is kept current by observed events, and then meets no conflict', async () => {
    await ask(here, 'add');
    await ask(there, 'add');
    for (const event of await recorded()) here.observe(event);
    reads = [];
    await expect(ask(here, 'add')).resolves.toMatchObject({ kind: 'accepted', revision: 2n });
    expect({ reads, appends }).toEqual({ reads: [], appends: 2 });
  });

  it('folds an observed event once, also its own events before their answer', async () => {
    const echoing: EventStore = {
      ...store,
      append: async (...given) => {
        const appended = await store.append(...given);
        for (const event of await recorded()) here.observe(event);
        return appended;
      },
    };
    here = opened(echoing);
    await fill(here);
    for (const event of await recorded()) here.observe(event);
    await expect(committed()).resolves.toMatchObject({ state: { coins: 10 }, revision: 9n });
  });

  it('does not fold an observed event of a stream that is not live, nor one that leaves a gap', async () => {
    await ask(there, 'add');
    await ask(there, 'add');
    const [first, second] = await recorded();
    here.observe(first!);
    await ask(here, 'count');
    here.observe({ ...second!, revision: 7n });
    await expect(committed()).resolves.toMatchObject({ state: { coins: 2 }, revision: 1n });
  });

  it('folds each event once, however often its state is read', async () => {
    await ask(here, 'add');
    const first = await committed();
    await ask(there, 'add');
    for (const event of await recorded()) here.observe(event);
    const second = await committed();
    await ask(there, 'add');
    await expect(committed()).resolves.toMatchObject({ state: { coins: 3 } });
    expect([first.state, second.state]).toEqual([{ coins: 1 }, { coins: 2 }]);
    expect(reads).toEqual([{ from: 0n }, { from: 1n }, { from: 2n }, { from: 2n }]);
  });

  it('does a command once under its key, in any process', async () => {
    const idempotency = { key: 'k', operation: 'Add', content: 'c' };
    await Promise.all([ask(here, 'add'), ask(there, 'add')]);
    await Promise.all([here, there, here, there].map((each) => ask(each, 'add', { idempotency })));
    expect(await recorded()).toHaveLength(3);
  });

  it('holds no key of a command that was not recorded', async () => {
    const idempotency = { key: 'k', operation: 'Add', content: 'c' };
    let isFirst = true;
    here = opened({
      ...store,
      append: (...given) => {
        if (!isFirst) return store.append(...given);
        isFirst = false;
        return Promise.reject(new OutcomeUnknown('no answer'));
      },
    });
    await expect(ask(here, 'add', { idempotency })).rejects.toBeInstanceOf(OutcomeUnknown);
    await expect(ask(here, 'add', { idempotency })).resolves.toMatchObject({ kind: 'accepted', revision: 0n });
    expect(await recorded()).toHaveLength(1);
  });

  it('finds what was recorded after all when the answer was lost', async () => {
    let isFirst = true;
    here = opened({
      ...store,
      append: async (...given) => {
        const appended = await store.append(...given);
        if (!isFirst) return appended;
        isFirst = false;
        throw new OutcomeUnknown('no answer');
      },
    });
    await expect(ask(here, 'add')).rejects.toBeInstanceOf(OutcomeUnknown);
    await expect(ask(here, 'add')).resolves.toMatchObject({ kind: 'accepted', revision: 1n });
  });

  it('fails the commands that wait, after a conflict too, with one append when the store is away', async () => {
    let [isAway, sent] = [false, 0];
    const away = () => new StoreUnavailable('no node answers');
    here = opened({
      ...store,
      readStream: (...given) => {
        if (isAway) throw away();
        return store.readStream(...given);
      },
      append: (...given) => ((sent += 1), isAway ? Promise.reject(away()) : store.append(...given)),
    });
    await ask(here, 'add');
    await ask(there, 'add');
    await ask(here, 'add'); // meets a conflict, after which commands are appended one by one
    [isAway, sent] = [true, 0];
    const results = await Promise.allSettled(Array.from({ length: 5 }, () => ask(here, 'add')));
    expect(results.map((each) => each.status === 'rejected' && each.reason instanceof StoreUnavailable)).toEqual(
      Array(5).fill(true),
    );
    expect(sent).toBe(1);
    isAway = false;
    await expect(ask(here, 'add')).resolves.toMatchObject({ kind: 'accepted', revision: 3n });
  });

  it('gives up after 100 attempts when every append meets a conflict', async () => {
    let sent = 0;
    here = opened({ ...store, append: () => ((sent += 1), Promise.reject(new RevisionConflict('moved'))) });
    const asked = ask(here, 'add');
    await expect(asked).rejects.toBeInstanceOf(RevisionConflict);
    await expect(asked).rejects.toThrow(`other processes have appended to ${stream} before each of 100 attempts`);
    expect(sent).toBe(100);
  });

  it('stays within its limits, whatever each process has observed', async () => {
    const kinds = fc.constantFrom<'add' | 'spend'>('add', 'add', 'spend');
    const step = fc.record({ isHere: fc.boolean(), kind: kinds, isObserved: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 20, maxLength: 60 }), async (steps) => {
        stream = streamName('purse', [randomUUID()]);
        const asked = steps.map(async ({ isHere, kind, isObserved }) => {
          const outcome = await ask(isHere ? here : there, kind);
          if (isObserved) for (const event of await recorded()) (isHere ? there : here).observe(event);
          return outcome;
        });
        const outcomes = await Promise.all(asked);
        let coins = 0;
        for (const { type } of await recorded()) {
          coins += type === 'CoinAdded' ? 1 : -1;
          expect(coins).toBeGreaterThanOrEqual(0);
          expect(coins).toBeLessThanOrEqual(10);
        }
        const accepted = outcomes.filter(({ kind }, at) => kind === 'accepted' && steps[at]?.kind === 'add');
        expect((await recorded()).filter(({ type }) => type === 'CoinAdded')).toHaveLength(accepted.length);
      }),
      { numRuns: 25 },
    );
  });
});
