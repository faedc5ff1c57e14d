import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sha256 } from '../../../services/kernel/encoding/hash.js';
import { metadataOf, type RecordedEvent } from '../../../services/kernel/event.js';
import type { EventStore } from '../../../services/kernel/ports/event-store.js';
import { NewerLogFormat, RevisionConflict, StoreUnavailable, StreamParked } from '../../../services/kernel/fault.js';
import { NEWEST_FORMAT } from '../../../services/kernel/log-format.js';
import { MAX_INLINE_BYTES, type PayloadStore } from '../../../services/kernel/ports/payload-store.js';
import type { CommandContext, Folded, Sessions } from '../../../services/kernel/ports/sessions.js';
import { type StreamName, streamName } from '../../../services/kernel/stream.js';
import { prefixOf, rememberAcknowledged } from '../../../services/sessions/acknowledged.js';
import { eventIds } from '../../../services/sessions/encode-events.js';
import { type OpenSessions, openSessions } from '../../../services/sessions/sessions.js';
import { filePayloadStore } from '../../../services/store/payloads/file-payload-store.js';
import { sqliteEventStore } from '../../../services/store/log/sqlite-event-store.js';
import { decidePurse, type Purse, purse } from '../../support/streams/purse.js';

const context = (): CommandContext => ({ actor: 'tester', commandId: randomUUID() });

describe('a live stream', () => {
  let directory: string;
  let store: EventStore;
  let payloads: PayloadStore;
  let sessions: Sessions;
  let stream: StreamName;

  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'flightlog-sessions-'));
    store = await sqliteEventStore({ directory });
    payloads = filePayloadStore({ directory });
    sessions = openSessions({ store, payloads, now: () => 1_000 });
    stream = streamName('purse', [randomUUID()]);
  });

  afterEach(async () => {
    await store.close();
    await payloads.close();
    rmSync(directory, { recursive: true });
  });

  /** The events of the purse, in order. */
  const recorded = async (): Promise<RecordedEvent[]> => {
    const events: RecordedEvent[] = [];
    for await (const page of store.readStream(stream)) events.push(...page);
    return events;
  };
  /** A copy of what a read function gets. */
  const asIs = ({ state, ...folded }: Folded<Purse>): Folded<Purse> => ({ ...folded, state: { ...state } });
  const committed = (ofSessions: Sessions): Promise<Folded<Purse>> => ofSessions.read(purse, stream, asIs);
  const add = (): Promise<unknown> => sessions.handle(purse, stream, { kind: 'add' }, context());

  /** Wraps the store so that the n-th append from now on is handled by `fail`. */
  const failing = (nth: number, fail: (append: () => Promise<never>) => Promise<never>): EventStore => {
    let remaining = nth;
    return {
      ...store,
      append: (...given) => {
        remaining -= 1;
        return remaining === 0 ? fail(() => store.append(...given) as Promise<never>) : store.append(...given);
      },
    };
  };

  it('records what it accepts, with actor and time', async () => {
    await expect(add()).resolves.toEqual({ kind: 'accepted', revision: 0n, position: 1n });
    const [event] = await recorded();
    expect(event?.type).toBe('CoinAdded');
    expect(metadataOf(event!)).toMatchObject({ actor: 'tester', recordedAtMs: 1_000, schema: 1 });
  });

  const idempotency = { key: 'k', operation: 'Add', content: 'c' };
  /** Adds a coin under an idempotency key. */
  const addKeyed = (change: Partial<CommandContext> = {}): Promise<unknown> =>
    sessions.handle(purse, stream, { kind: 'add' }, { ...context(), idempotency, ...change });

  it('records an idempotency key with operation, target and content, for a process that restarts', async () => {
    const targeted: typeof purse = { ...purse, targetOf: ({ kind }) => `to ${kind}` };
    const traceParent = `00-${'4b'.repeat(16)}-${'00f0'.repeat(4)}-01`;
    const given = { actor: 'ada', commandId: 'c', correlationId: 'r', causationId: 'e', traceParent, idempotency };
    await sessions.handle(targeted, stream, { kind: 'add' }, given);
    await add();
    const [keyed, other] = await recorded();
    expect(JSON.parse(keyed!.metadata)).toEqual({
      recordedAtMs: 1_000,
      actor: 'ada',
      commandId: 'c',
      schema: 1,
      $correlationId: 'r',
      $causationId: 'e',
      traceparent: traceParent,
      idempotencyKey: 'k',
      idempotency: { operation: 'Add', target: 'to add', content: 'c' },
    });
    expect(Object.keys(JSON.parse(other!.metadata) as object)).toEqual([
      'recordedAtMs',
      'actor',
      'commandId',
      'schema',
    ]);
    const again = { ...given, commandId: 'd' };
    const restarted = openSessions({ store, payloads, now: () => 1_000 });
    await expect(restarted.handle(targeted, stream, { kind: 'add' }, again)).resolves.toMatchObject({ revision: 1n });
    await expect(restarted.handle(targeted, stream, { kind: 'spend' }, again)).resolves.toMatchObject({ revision: 2n });
  });

  it('does a command once under its key, also at the same time and after a restart', async () => {
    await Promise.all([addKeyed(), addKeyed(), addKeyed()]);
    expect(await recorded()).toHaveLength(1);
    sessions = openSessions({ store, payloads, now: () => 2_000 });
    await expect(addKeyed()).resolves.toMatchObject({ kind: 'accepted', position: 1n });
    expect(await recorded()).toHaveLength(1);
  });

  it('keeps keys apart by caller and operation, and refuses a key with other content', async () => {
    await addKeyed();
    await expect(addKeyed({ idempotency: { ...idempotency, content: 'd' } })).rejects.toThrow('idempotency-key');
    await addKeyed({ actor: 'another' });
    await addKeyed({ idempotency: { ...idempotency, operation: 'Another' } });
    expect(await recorded()).toHaveLength(3);
  });

  it('forgets a key after a day, and not sooner', async () => {
    let now = 1_000;
    sessions = openSessions({ store, payloads, now: () => now });
    await addKeyed();
    now += 24 * 60 * 60 * 1_000;
    await add();
    await addKeyed();
    expect(await recorded()).toHaveLength(2);
    now += 1;
    await addKeyed({ idempotency: { ...idempotency, key: 'later' } });
    await addKeyed();
    expect(await recorded()).toHaveLength(4);
  });

  it('keeps no key of a refusal', async () => {
    await Promise.all(Array.from({ length: 10 }, add));
    await expect(addKeyed()).resolves.toMatchObject({ kind: 'refused' });
    await expect(addKeyed({ idempotency: { ...idempotency, content: 'd' } })).resolves.toMatchObject({
      kind: 'refused',
    });
  });

  it('keeps no key of a refusal that records an event', async () => {
    const refusing: typeof purse = {
      ...purse,
      decider: {
        ...purse.decider,
        decide: () => ({ kind: 'refused', refusal: { kind: 'full' }, events: [{ kind: 'coin' }] }),
      },
    };
    await sessions.handle(refusing, stream, { kind: 'add' }, { ...context(), idempotency });
    sessions = openSessions({ store, payloads, now: () => 1_000 });
    await addKeyed();
    const keys = (await recorded()).map((event) => metadataOf(event).idempotencyKey);
    expect(keys).toEqual([undefined, 'k']);
    expect(metadataOf((await recorded())[1]!).idempotency).toMatchObject({ target: '' });
  });

  it('decides commands that come together one after another, and refuses those above the limit', async () => {
    const outcomes = await Promise.all(Array.from({ length: 25 }, add));
    expect(outcomes.filter((each) => (each as { kind: string }).kind === 'accepted')).toHaveLength(10);
    expect(outcomes.at(-1)).toEqual({ kind: 'refused', refusal: { kind: 'full' }, position: 10n });
    expect(await recorded()).toHaveLength(10);
  });

  it('answers with the revision and position of each event', async () => {
    const outcomes = await Promise.all([add(), add(), add()]);
    expect(outcomes).toEqual([0n, 1n, 2n].map((revision) => ({ kind: 'accepted', revision, position: revision + 1n })));
  });

  it('folds a cold stream from the log', async () => {
    await Promise.all(Array.from({ length: 10 }, add));
    const cold = openSessions({ store, payloads, now: () => 2_000 });
    await expect(cold.handle(purse, stream, { kind: 'add' }, context())).resolves.toMatchObject({ kind: 'refused' });
    await expect(committed(cold)).resolves.toMatchObject({ state: { coins: 10 }, revision: 9n });
  });

  it('reads a parked stream again once it is resumed, and not before', async () => {
    await add();
    let isReadable = false;
    const decode: typeof purse.codec.decode = (...given) => {
      if (isReadable) return purse.codec.decode(...given);
      throw new Error('this cannot be read');
    };
    const restarted = openSessions({ store, payloads, now: () => 1_000 });
    const read = () => restarted.read({ ...purse, codec: { ...purse.codec, decode } }, stream, asIs);
    await expect(read()).rejects.toBeInstanceOf(StreamParked);
    isReadable = true;
    await expect(read()).rejects.toBeInstanceOf(StreamParked);
    restarted.resume(stream);
    expect(await read()).toMatchObject({ revision: 0n });
  });

  it('gives other calls a turn for every 200 events of a cold stream that it folds', async () => {
    const events = 2_000;
    const write = { kind: 'write', bytes: new Uint8Array(1) } as const;
    await Promise.all(Array.from({ length: events }, () => sessions.handle(purse, stream, write, context())));
    const cold = openSessions({ store, payloads, now: () => 2_000 });
    let [turns, isFolding] = [0, true];
    const count = (): void => {
      turns += 1;
      if (isFolding) setImmediate(count);
    };
    setImmediate(count);
    const { revision } = await committed(cold);
    isFolding = false;
    expect(revision).toBe(BigInt(events - 1));
    expect(turns).toBeGreaterThanOrEqual(events / 200 - 1);
  });

  it('reads a stream that does not exist as the initial state at revision -1', async () => {
    await expect(committed(sessions)).resolves.toEqual({ state: { coins: 0 }, revision: -1n, position: 0n });
  });

  it('reads what earlier commands append', async () => {
    const adding = Promise.all([add(), add()]);
    await expect(committed(sessions)).resolves.toMatchObject({ revision: 1n });
    await adding;
  });

  it('gives a read nothing of later commands', async () => {
    const first = add();
    const reading = committed(sessions);
    const later = Promise.all([add(), add()]);
    const read = await reading;
    expect(read).toEqual({ state: { coins: 1 }, revision: 0n, position: 1n });
    await Promise.all([first, later]);
    await expect(committed(sessions)).resolves.toEqual({ state: { coins: 3 }, revision: 2n, position: 3n });
  });

  it('folds each event once, however often its state is read between commands', async () => {
    let folded = 0;
    const evolve: typeof purse.decider.evolve = (...given) => ((folded += 1), purse.decider.evolve(...given));
    const counting = { ...purse, decider: { ...purse.decider, evolve } };
    for (let coins = 1; coins <= 8; coins += 1) {
      await sessions.handle(counting, stream, { kind: 'add' }, context());
      await expect(sessions.read(counting, stream, ({ state }) => state.coins)).resolves.toBe(coins);
    }
    expect(folded).toBe(8);
  });

  it('gives the error of a read function to its caller, and goes on', async () => {
    const reading = sessions.read(purse, stream, () => {
      throw new Error('cannot be seen');
    });
    const adding = add();
    await expect(reading).rejects.toThrow('cannot be seen');
    await expect(adding).resolves.toMatchObject({ kind: 'accepted' });
  });

  it('reads nothing of an append that fails', async () => {
    await add();
    const broken = failing(1, () => Promise.reject(new StoreUnavailable('the disk is full')));
    sessions = openSessions({ store: broken, payloads, now: () => 1_000 });
    const adding = add();
    const reading = committed(sessions);
    await expect(adding).rejects.toBeInstanceOf(StoreUnavailable);
    await expect(reading).resolves.toEqual({ state: { coins: 1 }, revision: 0n, position: 1n });
  });

  it('does not take a stream for new because a command that would create it was dropped', async () => {
    await add();
    const beginning = { ...purse, createsStream: () => true };
    sessions = openSessions({ store, payloads, now: () => 1_000 });
    const gone = { ...context(), isCancelled: () => true };
    const dropped = sessions.handle(beginning, stream, { kind: 'add' }, gone);
    const reading = sessions.read(beginning, stream, asIs);
    await expect(dropped).rejects.toMatchObject({ code: 'CANCELLED' });
    await expect(reading).resolves.toMatchObject({ revision: 0n });
  });

  it('refuses commands of urgency start first, then of progress, and never of end, when too many wait', async () => {
    const stopped = { ...store, append: () => new Promise<never>(() => undefined) };
    sessions = openSessions({ store: stopped, payloads, now: () => 1_000, admits: { starts: 2, others: 4 } });
    const urgent = (urgency: 'start' | 'progress' | 'end'): Promise<unknown> =>
      sessions.handle({ ...purse, urgencyOf: () => urgency }, stream, { kind: 'add' }, context());
    const message = 'too many requests wait to be recorded; this one was not recorded: send it again in 1 s';
    const refused = { code: 'RESOURCE_EXHAUSTED', message, details: [], retryAfterMs: 1_000 };
    void urgent('start');
    void urgent('start');
    await expect(urgent('start')).rejects.toMatchObject(refused);
    void urgent('progress');
    void urgent('progress');
    await expect(urgent('progress')).rejects.toMatchObject(refused);
    const ending = urgent('end').catch(() => 'turned away');
    const later = new Promise((resolve) => setImmediate(resolve, 'waits'));
    await expect(Promise.race([ending, later])).resolves.toBe('waits');
  });

  it('takes commands again when those before them have their answers', async () => {
    sessions = openSessions({ store, payloads, now: () => 1_000, admits: { starts: 1, others: 2 } });
    const adding = Promise.all([add(), add()]);
    await expect(add()).rejects.toMatchObject({ code: 'RESOURCE_EXHAUSTED' });
    await adding;
    await expect(add()).resolves.toMatchObject({ kind: 'accepted' });
  });

  it('decides again when another process was faster, and keeps to the limit', async () => {
    await add();
    const other = openSessions({ store, payloads, now: () => 1_000 });
    await other.handle(purse, stream, { kind: 'add' }, context());
    const outcomes = await Promise.all([
      ...Array.from({ length: 10 }, add),
      ...Array.from({ length: 10 }, () => other.handle(purse, stream, { kind: 'add' }, context())),
    ]);
    expect(outcomes.filter((each) => (each as { kind: string }).kind === 'accepted')).toHaveLength(8);
    expect(await recorded()).toHaveLength(10);
  });

  it('fails a command whose append fails, and decides the others again', async () => {
    const broken = failing(2, () => Promise.reject(new StoreUnavailable('the disk is full')));
    sessions = openSessions({ store: broken, payloads, now: () => 1_000 });
    const outcomes = await Promise.allSettled([add(), add(), add()]);
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await recorded()).toHaveLength(2);
  });

  it('does not refuse a command because of an event that never became durable', async () => {
    await Promise.all(Array.from({ length: 9 }, add));
    const broken = failing(1, () => Promise.reject(new StoreUnavailable('the disk is full')));
    sessions = openSessions({ store: broken, payloads, now: () => 1_000 });
    const outcomes = await Promise.allSettled([add(), add()]);
    expect(outcomes[0].status).toBe('rejected');
    expect(outcomes[1]).toMatchObject({ status: 'fulfilled', value: { kind: 'accepted', revision: 9n } });
  });

  it('gives up after 20 retries when every append meets a conflict', async () => {
    let appends = 0;
    const append = () => ((appends += 1), Promise.reject(new RevisionConflict('moved')));
    sessions = openSessions({ store: { ...store, append }, payloads, now: () => 1_000 });
    await expect(add()).rejects.toBeInstanceOf(RevisionConflict);
    expect(appends).toBe(21);
  });

  it('records a command that comes between a failed append and the end of the append behind it', async () => {
    const failures: ((error: Error) => void)[] = [];
    const append: EventStore['append'] = (...given) =>
      failures.length < 2 ? new Promise((_, reject) => void failures.push(reject)) : store.append(...given);
    sessions = openSessions({ store: { ...store, append }, payloads, now: () => 1_000 });
    const failed = Promise.allSettled([add(), add()]);
    while (failures.length < 2) await new Promise((resolve) => setImmediate(resolve));
    failures[0]!(new StoreUnavailable('the disk is full'));
    await new Promise((resolve) => setImmediate(resolve));
    const later = add();
    failures[1]!(new StoreUnavailable('the disk is full'));
    await expect(later).resolves.toMatchObject({ kind: 'accepted', revision: 0n });
    expect((await failed).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  });

  it('writes nothing to a log that is in a newer format', async () => {
    sessions = openSessions({ store, payloads, now: () => 1_000, format: () => NEWEST_FORMAT + 1 });
    await expect(add()).rejects.toBeInstanceOf(NewerLogFormat);
    await expect(add()).rejects.toThrow(`format ${NEWEST_FORMAT + 1}, and this release writes formats up to`);
    sessions = openSessions({ store, payloads, now: () => 1_000, format: () => Infinity });
    await expect(add()).rejects.toThrow('the log is written in a format that is newer, and this release');
    sessions = openSessions({ store, payloads, now: () => 1_000, format: () => NEWEST_FORMAT });
    await expect(add()).resolves.toMatchObject({ revision: 0n });
  });

  it.each([
    [1, 'inline'],
    [MAX_INLINE_BYTES, 'inline'],
    [MAX_INLINE_BYTES + 1, 'ref'],
  ])('records contents of %i bytes as %s', async (bytes, stored) => {
    const storedPayloads: Uint8Array[] = [];
    const put: PayloadStore['put'] = (scope, content) => (storedPayloads.push(content), payloads.put(scope, content));
    sessions = openSessions({ store, payloads: { ...payloads, put }, now: () => 1_000 });
    const content = new Uint8Array(bytes).fill(7);
    await sessions.handle(purse, stream, { kind: 'write', bytes: content }, context());
    expect(Buffer.from((await recorded())[0]!.data).toString()).toBe(stored);
    expect(storedPayloads).toEqual(stored === 'ref' ? [content] : []);
  });

  it('records large contents as a reference, and keeps the order of a command that waits behind them', async () => {
    const bytes = new Uint8Array(100_000).fill(7);
    const writing = sessions.handle(purse, stream, { kind: 'write', bytes }, context());
    const outcomes = await Promise.all([writing, add()]);
    expect(outcomes.map((each) => (each as { revision: bigint }).revision)).toEqual([0n, 1n]);
    expect(Buffer.from((await recorded())[0]!.data).toString()).toBe('ref');
  });

  it.each([
    ['has failed', 1],
    ['has failed, with another in flight', 2],
  ])(
    'decides a command again whose large contents were stored while an append before it %s',
    async (_, failingAppends) => {
      const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
      const failures: ((error: Error) => void)[] = [];
      let appends = 0;
      const append: EventStore['append'] = (...given) => {
        appends += 1;
        return appends <= failingAppends
          ? new Promise((_done, reject) => void failures.push(reject))
          : store.append(...given);
      };
      let puts = 0;
      let openGate = (): void => undefined;
      const gate = new Promise<void>((resolve) => (openGate = resolve));
      const put: PayloadStore['put'] = async (...given) => {
        const reference = await payloads.put(...given);
        puts += 1;
        if (puts === 1) await gate;
        return reference;
      };
      sessions = openSessions({ store: { ...store, append }, payloads: { ...payloads, put }, now: () => 1_000 });
      const adding = Promise.allSettled(Array.from({ length: failingAppends }, add));
      const write = { kind: 'write', bytes: new Uint8Array(MAX_INLINE_BYTES + 1) } as const;
      const writing = sessions.handle(purse, stream, write, context());
      while (puts === 0 || failures.length < failingAppends) await turn();
      failures[0]!(new StoreUnavailable('the disk is full'));
      await turn();
      openGate();
      await turn();
      failures[1]?.(new StoreUnavailable('the disk is full'));
      await expect(writing).resolves.toMatchObject({ kind: 'accepted', revision: 0n });
      expect((await adding).map(({ status }) => status)).toEqual(
        Array.from({ length: failingAppends }, () => 'rejected'),
      );
      expect(appends).toBe(failingAppends + 1);
      expect(Buffer.from((await recorded())[0]!.data).toString()).toBe('ref');
    },
  );

  it('stores no contents for a refused command that would create a stream which exists', async () => {
    await add();
    const first: typeof purse = {
      ...purse,
      createsStream: () => true,
      decider: {
        ...purse.decider,
        decide: (state, command) =>
          state.coins > 0 ? { kind: 'refused', refusal: { kind: 'full' } } : decidePurse(state, command),
      },
    };
    let puts = 0;
    const counting = {
      ...payloads,
      put: (...given: Parameters<typeof payloads.put>) => (puts++, payloads.put(...given)),
    };
    const cold = openSessions({ store, payloads: counting, now: () => 1_000 });
    const write = { kind: 'write', bytes: new Uint8Array(100_000) } as const;
    expect(await cold.handle(first, stream, write, context())).toMatchObject({
      kind: 'refused',
      refusal: { kind: 'full' },
    });
    expect(puts).toBe(0);
    expect(await cold.handle(first, streamName('purse', [randomUUID()]), write, context())).toMatchObject({
      revision: 0n,
    });
    expect(puts).toBe(1);
  });

  it('compares with the recorded events when a decision is unsure', async () => {
    const adding = Promise.all([add(), add(), add()]);
    const counting = sessions.handle(purse, stream, { kind: 'count' }, context());
    await expect(counting).resolves.toMatchObject({ kind: 'refused', refusal: { kind: 'counted', coins: 3 } });
    await adding;
  });

  /** Opens sessions whose second append waits for `release`; `read` has the revision at which each read began. */
  const gated = () => {
    const read: (bigint | undefined)[] = [];
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    let appends = 0;
    sessions = openSessions({
      store: {
        ...store,
        append: async (...given) => {
          if ((appends += 1) === 2) await released;
          return store.append(...given);
        },
        readStream: (name, options) => (read.push(options?.from), store.readStream(name, options)),
      },
      payloads,
      now: () => 1_000,
    });
    return {
      read,
      release,
      turns: async () => {
        for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      },
    };
  };
  /** A purse whose `count` is unsure of the event at one revision. */
  const lookingAt = (revision: bigint): typeof purse => ({
    ...purse,
    decider: {
      ...purse.decider,
      decide: (state, command) =>
        command.kind === 'count' && command.counted === undefined
          ? { kind: 'unsure', at: [revision] }
          : decidePurse(state, command),
    },
  });

  it.each([
    ['waits for an event in flight that a decision is unsure of', 1n, []],
    ['reads a durable event that a decision is unsure of while others are in flight', 0n, [0n]],
  ])('%s', async (_, revision, readBefore) => {
    const { read, release, turns } = gated();
    const ask = (kind: 'add' | 'count') => sessions.handle(lookingAt(revision), stream, { kind }, context());
    await ask('add');
    read.length = 0;
    const adding = ask('add');
    const counting = ask('count');
    await turns();
    expect(read).toEqual(readBefore);
    release();
    await expect(counting).resolves.toMatchObject({ refusal: { kind: 'counted', coins: 1 } });
    expect(read).toEqual([revision]);
    await adding;
  });

  it('counts with its state and its idempotency keys in the memory of all live streams', async () => {
    const bytesWith = async (sizeOf: number, keyed: Partial<CommandContext> = {}): Promise<number> => {
      const opened = openSessions({ store, payloads, now: () => 1_000 });
      const sized = { ...purse, sizeOf: () => sizeOf };
      await opened.handle(sized, streamName('purse', [randomUUID()]), { kind: 'add' }, { ...context(), ...keyed });
      return opened.cached().bytes;
    };
    const plain = await bytesWith(100);
    expect((await bytesWith(5_100)) - plain).toBe(5_000);
    expect(await bytesWith(100, { idempotency })).toBeGreaterThan(plain);
  });

  it('is one of at most 1,000 that are kept when no further use of it is expected', async () => {
    const keptOf = async (isOver: boolean): Promise<number> => {
      const opened = openSessions({ store, payloads, now: () => 1_000 });
      const ending = { ...purse, isOver: () => isOver };
      for (let index = 0; index < 1_100; index += 1) await opened.read(ending, streamName('purse', [`${index}`]), asIs);
      return opened.cached().sessions;
    };
    expect(await keptOf(false)).toBe(1_100);
    expect(await keptOf(true)).toBe(1_000);
  });

  it('need not be in memory when its stream is resumed', () => {
    expect(() => (sessions as OpenSessions).resume(stream)).not.toThrow();
  });

  it('drops a command whose caller has gone before its turn', async () => {
    const gone = { ...context(), isCancelled: () => true };
    await expect(sessions.handle(purse, stream, { kind: 'add' }, gone)).rejects.toMatchObject({ code: 'CANCELLED' });
    expect(await recorded()).toHaveLength(0);
  });

  it('never lets the recorded time of a stream go back', async () => {
    await add();
    const earlier = openSessions({ store, payloads, now: () => 5 });
    await earlier.handle(purse, stream, { kind: 'add' }, context());
    expect((await recorded()).map((event) => metadataOf(event).recordedAtMs)).toEqual([1_000, 1_000]);
  });

  it('remembers what it acknowledged, by stream and by project and domain', async () => {
    const opened = openSessions({ store, payloads, now: () => 1_000 });
    const named = streamName('purse', ['flytesnacks', 'development', 'a']);
    await opened.handle(purse, named, { kind: 'add' }, context());
    expect(opened.acknowledged.ofStream(named)).toBe(1n);
    expect(opened.acknowledged.ofPrefix('purse-flytesnacks:development:')).toBe(1n);
    expect(opened.acknowledged.ofPrefix('purse-flytesnacks:staging:')).toBeUndefined();
  });

  it('counts a stream whose name was too long as one of every project and domain', async () => {
    const opened = openSessions({ store, payloads, now: () => 1_000 });
    const tooLong = 'a'.repeat(600); // above 512 bytes even with a hash for `v1`: the name is one hash
    const named = streamName('purse', ['flytesnacks', 'development', tooLong, 'v1']);
    await opened.handle(purse, named, { kind: 'add' }, context());
    expect(opened.acknowledged.ofPrefix('purse-flytesnacks:development:')).toBe(1n);
    expect(opened.acknowledged.ofPrefix('tills-flytesnacks:development:')).toBeUndefined();
  });
});

describe('the acknowledged positions that a process remembers', () => {
  const named = (...parts: string[]): StreamName => streamName('purse', parts);

  it.each([
    ['purse-flytesnacks:development:a', 'purse-flytesnacks:development:'],
    ['purse-flytesnacks:development', 'purse-'],
    ['purse-one', 'purse-'],
  ])('of the stream %s are found by the prefix %s', (stream, prefix) => expect(prefixOf(stream)).toBe(prefix));

  it('are the latest of a prefix, in whatever order they come', () => {
    const remembered = rememberAcknowledged();
    const [one, two] = [named('p', 'd', 'one'), named('p', 'd', 'two')];
    remembered.note(one, prefixOf(one), 7n);
    remembered.note(two, prefixOf(two), 5n);
    expect([remembered.ofStream(one), remembered.ofStream(two), remembered.ofPrefix('purse-p:d:')]).toEqual([
      7n,
      5n,
      7n,
    ]);
    remembered.note('purse-hash' as StreamName, 'purse-', 6n);
    expect(remembered.ofPrefix('purse-p:d:')).toBe(7n);
    remembered.note('purse-hash' as StreamName, 'purse-', 8n);
    expect(remembered.ofPrefix('purse-p:d:')).toBe(8n);
  });

  it('are of the 20,000 streams that were written last', () => {
    const remembered = rememberAcknowledged();
    const streams = Array.from({ length: 20_001 }, (_, index) => named('p', 'd', String(index)));
    for (const stream of streams.slice(0, 20_000)) remembered.note(stream, 'purse-p:d:', 1n);
    remembered.note(streams[0]!, 'purse-p:d:', 2n);
    expect(streams.filter((stream) => remembered.ofStream(stream) === undefined)).toEqual([streams[20_000]]);
    remembered.note(streams[20_000]!, 'purse-p:d:', 3n);
    expect(streams.filter((stream) => remembered.ofStream(stream) === undefined)).toEqual([streams[1]]);
    expect(remembered.streamUnder('purse-p:d:')).toBe(streams[2]);
    expect(remembered.streamUnder('purse-p:e:')).toBeUndefined();
  });
});

describe('event ids', () => {
  it('are the same for the same command, and differ within it', () => {
    const id = randomUUID();
    const [first, second] = eventIds(id, 2);
    expect(eventIds(id, 2)).toEqual([first, second]);
    expect(first).not.toEqual(second);
    expect(Buffer.from(first!).toString('hex')).toBe(id.replaceAll('-', ''));
  });

  it('count up in the last four bytes of the id of the command, from 0 again after the last number', () => {
    const hex = (id: string, count: number) => eventIds(id, count).map((each) => Buffer.from(each).toString('hex'));
    expect(hex('01234567-89ab-cdef-0123-456789abcdef', 3)).toEqual([
      '0123456789abcdef0123456789abcdef',
      '0123456789abcdef0123456789abcdf0',
      '0123456789abcdef0123456789abcdf1',
    ]);
    expect(hex('01234567-89ab-cdef-0123-4567ffffffff', 2)[1]).toBe('0123456789abcdef0123456700000000');
  });

  it.each(['launch 17', 'launch 01234567-89ab-cdef-0123-456789abcdef', '01234567-89ab-cdef-0123-456789abcdef again'])(
    'begin with a hash of a command id that is no UUID: %s',
    (text) => expect(eventIds(text, 1)).toEqual([sha256(text).subarray(0, 16)]),
  );
});
