import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RecordedEvent } from '../../../services/kernel/event.js';
import { RevisionConflict, StoreUnavailable } from '../../../services/kernel/fault.js';
import type { EventStore } from '../../../services/kernel/ports/event-store.js';
import { type Content, MAX_INLINE_BYTES, type PayloadStore } from '../../../services/kernel/ports/payload-store.js';
import type { CommandContext } from '../../../services/kernel/ports/sessions.js';
import { type StreamName, streamName } from '../../../services/kernel/stream.js';
import { type OpenSessions, openSessions } from '../../../services/sessions/sessions.js';
import { filePayloadStore } from '../../../services/store/payloads/file-payload-store.js';
import { sqliteEventStore } from '../../../services/store/log/sqlite-event-store.js';
import { decidePurse, purse, type PurseCommand } from '../../support/streams/purse.js';

const context = (more: Partial<CommandContext> = {}): CommandContext => ({
  actor: 'tester',
  commandId: randomUUID(),
  ...more,
});
const large: PurseCommand = { kind: 'write', bytes: new Uint8Array(MAX_INLINE_BYTES + 1) };
const creating: typeof purse = { ...purse, createsStream: () => true };
/** Limits of a poll, in milliseconds. */
const LIMIT = { timeout: 10_000, interval: 1 };

/** A promise, `opened`, that waits until `open` is called. */
const gate = () => {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { open, opened };
};

describe('live streams', () => {
  let directory: string;
  let store: EventStore;
  let payloads: PayloadStore;
  let stream: StreamName;

  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'flightlog-stream-session-'));
    store = await sqliteEventStore({ directory });
    payloads = filePayloadStore({ directory });
    stream = streamName('purse', [randomUUID()]);
  });

  afterEach(async () => {
    await store.close();
    await payloads.close();
    rmSync(directory, { recursive: true });
  });

  /** Sessions on the log, of which some functions are replaced. */
  const openWith = (
    replaced: Partial<EventStore>,
    more: Partial<Parameters<typeof openSessions>[0]> = {},
  ): OpenSessions => openSessions({ store: { ...store, ...replaced }, payloads, now: () => 1_000, ...more });
  const ask = (sessions: OpenSessions, command: PurseCommand, aggregate: typeof purse = purse) =>
    sessions.handle(aggregate, stream, command, context());
  /** The state of the stream as the sessions know it, without a read of the log. */
  const known = (sessions: OpenSessions) =>
    sessions.readKnown(purse, stream, ({ state: { coins }, revision, position }) => ({ coins, revision, position }));
  /** The events of the purse, in order. */
  const recorded = async (): Promise<RecordedEvent[]> => {
    const events: RecordedEvent[] = [];
    for await (const page of store.readStream(stream)) events.push(...page);
    return events;
  };

  it('leave contents alone that have no bytes or are a reference', async () => {
    const contents: Content[] = [
      { content: { case: undefined } },
      { content: { case: 'ref', value: await payloads.put('purses', new Uint8Array(MAX_INLINE_BYTES + 1)) } },
    ];
    const before = structuredClone(contents);
    const aggregate: typeof purse = { ...purse, codec: { ...purse.codec, contents: () => contents } };
    await expect(ask(openWith({}), { kind: 'add' }, aggregate)).resolves.toMatchObject({ kind: 'accepted' });
    expect(contents).toEqual(before);
  });

  it('fail a command whose caller has gone as CANCELLED', async () => {
    const gone = context({ isCancelled: () => true });
    const dropped = openWith({}).handle(purse, stream, { kind: 'add' }, gone);
    await expect(dropped).rejects.toMatchObject({ code: 'CANCELLED', message: 'the caller has gone' });
  });

  it('report an aggregate that is unsure and cannot compare', async () => {
    const sessions = openWith({});
    const unable: typeof purse = { ...purse };
    delete unable.compareWithRecorded;
    await ask(sessions, { kind: 'add' }, unable);
    await expect(ask(sessions, { kind: 'count' }, unable)).rejects.toThrow(
      'purse has an unsure decision and no compareWithRecorded',
    );
  });

  it('compare with the events that were asked for, in their order, and with no others', async () => {
    let seen: unknown;
    const comparing: typeof purse = {
      ...purse,
      decider: {
        ...purse.decider,
        decide: (state, command) =>
          command.kind === 'count' && command.counted === undefined
            ? { kind: 'unsure', at: [1n, 3n] }
            : decidePurse(state, command),
      },
      compareWithRecorded: (command, past) => {
        seen = past;
        return Promise.resolve({ ...command, counted: past.length });
      },
    };
    const sessions = openWith({});
    for (const kind of ['add', 'spend', 'add', 'add', 'count'] as const) await ask(sessions, { kind }, comparing);
    const events = await recorded();
    expect(seen).toEqual([events[1], events[3]]);
  });

  it('fold observed events at once while idle, so that more than 1,000 of them need no read', async () => {
    let reads = 0;
    const readStream: EventStore['readStream'] = (...given) => ((reads += 1), store.readStream(...given));
    const here = openWith({ readStream }, { isShared: true });
    await ask(here, { kind: 'add' }, creating);
    const [first] = await recorded();
    for (let revision = 1n; revision <= 1_001n; revision += 1n)
      here.observe({ ...first!, revision, position: revision + 1n });
    await expect(known(here)).resolves.toEqual({ coins: 1_002, revision: 1_001n, position: 1_002n });
    expect(reads).toBe(0);
  });

  it('fold each event once when events are observed before the answer of an append', async () => {
    const { open, opened: answered } = gate();
    let sent = 0;
    const append: EventStore['append'] = async (...given) => {
      const appended = await store.append(...given);
      sent += 1;
      if (sent === 1) await answered;
      return appended;
    };
    const here = openWith({ append }, { isShared: true });
    const adding = Promise.all([ask(here, { kind: 'add' }), ask(here, { kind: 'add' })]);
    await expect.poll(() => sent, LIMIT).toBe(1);
    await ask(openWith({}, { isShared: true }), { kind: 'add' });
    for (const event of await recorded()) here.observe(event);
    open();
    await adding;
    await expect(known(here)).resolves.toEqual({ coins: 3, revision: 2n, position: 3n });
  });

  it('may observe an event when nothing is known of its stream, also for an aggregate with `isOver`', async () => {
    const unavailable = () => Promise.reject(new StoreUnavailable('it is not there'));
    const here = openWith({ append: unavailable }, { isShared: true });
    await expect(ask(here, { kind: 'add' }, { ...creating, isOver: () => true })).rejects.toThrow('it is not there');
    await ask(openWith({}), { kind: 'add' });
    const [event] = await recorded();
    expect(() => here.observe(event!)).not.toThrow();
    expect(here.cached().sessions).toBe(1);
  });

  it('give up a command with large contents that creates its stream, after 20 appends', async () => {
    let appends = 0;
    const append = () => {
      appends += 1;
      return Promise.reject(appends > 40 ? new StoreUnavailable('too often') : new RevisionConflict('moved'));
    };
    await expect(ask(openWith({ append }), large, creating)).rejects.toBeInstanceOf(RevisionConflict);
    expect(appends).toBe(20);
  });

  it('keep the order of commands behind large contents that are stored while an append before them fails', async () => {
    const [appending, storing] = [gate(), gate()];
    let [appends, puts] = [0, 0];
    const append: EventStore['append'] = async (...given) => {
      appends += 1;
      if (appends > 1) return store.append(...given);
      await appending.opened;
      throw new StoreUnavailable('the disk is full');
    };
    const put: PayloadStore['put'] = async (...given) => {
      puts += 1;
      if (puts === 1) await storing.opened;
      return payloads.put(...given);
    };
    const sessions = openWith({ append }, { payloads: { ...payloads, put } });
    const failing = expect(ask(sessions, { kind: 'add' })).rejects.toThrow('the disk is full');
    const writing = ask(sessions, large);
    const later = ask(sessions, { kind: 'add' });
    await expect.poll(() => [appends, puts], LIMIT).toEqual([1, 1]);
    appending.open();
    await failing;
    // If the waiting commands were appended too early, that would happen before this command is answered.
    await sessions.handle(purse, streamName('purse', [randomUUID()]), { kind: 'add' }, context());
    storing.open();
    await expect(writing).resolves.toMatchObject({ revision: 0n });
    await expect(later).resolves.toMatchObject({ revision: 1n });
  });

  it('keep the order of large contents and a command before them whose append is made again', async () => {
    const [appending, storing] = [gate(), gate()];
    let [appends, puts] = [0, 0];
    const append: EventStore['append'] = async (...given) => {
      appends += 1;
      if (appends > 1) return store.append(...given);
      await appending.opened;
      throw new RevisionConflict('moved');
    };
    const put: PayloadStore['put'] = async (...given) => {
      puts += 1;
      if (puts === 1) await storing.opened;
      return payloads.put(...given);
    };
    const sessions = openWith({ append }, { payloads: { ...payloads, put } });
    const adding = ask(sessions, { kind: 'add' });
    const writing = ask(sessions, large);
    await expect.poll(() => [appends, puts], LIMIT).toEqual([1, 1]);
    appending.open();
    // The append has failed when this command is answered.
    await sessions.handle(purse, streamName('purse', [randomUUID()]), { kind: 'add' }, context());
    storing.open();
    await expect(adding).resolves.toMatchObject({ revision: 0n });
    await expect(writing).resolves.toMatchObject({ revision: 1n });
  });

  it('decide commands on a shared log while large contents before them are appended', async () => {
    const { open, opened: answered } = gate();
    let [appends, decided] = [0, 0];
    const append: EventStore['append'] = async (...given) => {
      appends += 1;
      await answered;
      return store.append(...given);
    };
    const decide: typeof purse.decider.decide = (...given) => ((decided += 1), decidePurse(...given));
    const counting: typeof purse = { ...purse, decider: { ...purse.decider, decide } };
    const here = openWith({ append }, { isShared: true });
    const commands = [large, { kind: 'add' }, { kind: 'add' }] as const;
    const outcomes = Promise.all(commands.map((command) => ask(here, command, counting)));
    await expect.poll(() => ({ appends, decided }), LIMIT).toEqual({ appends: 1, decided: 3 });
    open();
    await outcomes;
    expect(appends).toBe(2);
  });
});
