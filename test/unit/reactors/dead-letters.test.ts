import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import type { DeadLetterCommand } from '../../../services/dead-letter/commands.js';
import { deadLetterAggregate, MAX_DEAD_LETTERS } from '../../../services/dead-letter/decider.js';
import { deadLetterStream } from '../../../services/dead-letter/events.js';
import type { OpenLetter } from '../../../services/dead-letter/state.js';
import type { RecordedEvent } from '../../../services/kernel/event.js';
import { StreamParked } from '../../../services/kernel/fault.js';
import { type ParkedStreams, parkedStreams } from '../../../services/kernel/parked-streams.js';
import type { Checkpoint } from '../../../services/kernel/ports/checkpoint.js';
import type { EventStore } from '../../../services/kernel/ports/event-store.js';
import type { Sessions } from '../../../services/kernel/ports/sessions.js';
import { streamName } from '../../../services/kernel/stream.js';
import { deadLetters } from '../../../services/reactors/frame/dead-letters.js';
import { type MeasuredReactor, whenDue } from '../../../services/reactors/frame/when-due.js';
import { openSessions } from '../../../services/sessions/sessions.js';
import { fileCheckpoint } from '../../../services/store/file-checkpoint.js';
import { sqliteEventStore } from '../../../services/store/log/sqlite-event-store.js';
import { filePayloadStore } from '../../../services/store/payloads/file-payload-store.js';
import { manualTimers } from '../../support/manual-timers.js';
import { until } from '../../support/until.js';

const START = 1_700_000_000_000;
const GIVE_UP_MS = 3_600_000;
const MAX_RETRY_MS = 300_000;
const ATTEMPTS = 8;
const stream = streamName('thing', ['one']);
const reactor = 'handle-things';

let directory: string;
let store: EventStore;
let sessions: Sessions;
let timers: ReturnType<typeof manualTimers>;
let checkpoint: Checkpoint;
let running: MeasuredReactor;
let parked: ParkedStreams;
/** The positions that were tried, and those that were done, in order. */
let tried: bigint[];
let done: bigint[];
/** Why the work of a position fails; nothing where it succeeds. */
let failureOf: (position: bigint) => Error | undefined;
/** Why the event of a position cannot be read; nothing where it can. */
let unreadableOf: (position: bigint) => Error | undefined;
/** The attempts to record a dead letter that are still to fail. */
let failingRecords: number;
/** True while the reactor is of a release that does not know all events of dead letters. */
let isOlder: boolean;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'flightlog-dead-'));
  store = await sqliteEventStore({ directory });
  timers = manualTimers(START);
  parked = parkedStreams(() => undefined);
  sessions = openSessions({ store, payloads: filePayloadStore({ directory }), now: () => timers.now() });
  checkpoint = fileCheckpoint({ directory, name: reactor, logId: store.logId });
  [tried, done] = [[], []];
  [failureOf, unreadableOf, failingRecords, isOlder] = [() => undefined, () => undefined, 0, false];
});
afterEach(async () => {
  await running.close();
  await store.close();
  rmSync(directory, { recursive: true });
});

/** Records events that were due at a time. */
const record = (count: number, recordedAtMs = START) =>
  store.append(
    stream,
    'any',
    Array.from({ length: count }, (_, at) => ({
      id: randomBytes(16),
      type: 'Thing',
      data: new Uint8Array(),
      metadata: JSON.stringify({ recordedAtMs: recordedAtMs + at, actor: '', commandId: '', schema: 1 }),
    })),
  );

/** Fails to record as often as it is to fail. */
const handle: Sessions['handle'] = (...command) => {
  if (failingRecords === 0) return sessions.handle(...command);
  failingRecords -= 1;
  return Promise.reject(new Error('the log cannot be reached'));
};

/** The log as a release reads it that does not know that dead letters can be skipped. */
const olderLog = (): EventStore => {
  const older = (events: readonly RecordedEvent[]): RecordedEvent[] =>
    events.map((event) => (isOlder && event.type === 'DeadLetterSkipped' ? { ...event, type: 'OfANewer' } : event));
  return {
    ...store,
    async *readStream(...asked) {
      for await (const page of store.readStream(...asked)) yield older(page);
    },
    subscribe: (options, onPage) =>
      store.subscribe(options, (page, isLive) => onPage({ ...page, events: older(page.events) }, isLive)),
  };
};

const open = (): void => {
  const log = olderLog();
  running = whenDue<bigint>({
    log,
    filter: { categories: ['thing'] },
    checkpoint,
    afterMs: 0,
    timers,
    random: () => 0,
    givingUp: {
      deadLetters: deadLetters({ name: reactor, log, sessions: { handle }, parked }),
      afterMs: GIVE_UP_MS,
    },
    itemOf: ({ position }) => {
      const failure = unreadableOf(position);
      if (failure) throw failure;
      return position;
    },
    settle: (position) => {
      tried.push(position);
      const failure = failureOf(position);
      if (failure) return Promise.reject(failure);
      done.push(position);
      return Promise.resolve(undefined);
    },
    onFailure: () => undefined,
  });
};

const letters = (): Promise<readonly OpenLetter[]> =>
  sessions.read(deadLetterAggregate, deadLetterStream(reactor), ({ state }) => [...state.open.values()]);

const ask = (type: 'RetryDeadLetter' | 'SkipDeadLetter', position: bigint) => {
  const command: DeadLetterCommand = { type, reactor, position };
  return sessions.handle(deadLetterAggregate, deadLetterStream(reactor), command, {
    actor: 'ann',
    commandId: randomUUID(),
  });
};

/** Lets every retry of a position come that is due, until so many attempts have been made. */
const tryUntil = (position: bigint, attempts: number) =>
  until(
    () => {
      timers.advance(MAX_RETRY_MS);
      return Promise.resolve(tried.filter((each) => each === position).length);
    },
    (count) => count >= attempts,
  );

const hasBeen = (list: () => readonly bigint[], position: bigint) =>
  until(
    () => Promise.resolve(list()),
    (positions) => positions.includes(position),
  );

/** Records three events, of which the second one becomes a dead letter. */
const becomesDead = async (): Promise<void> => {
  await record(3, START - GIVE_UP_MS);
  failureOf = (position) => (position === 2n ? new Error('payload abc is missing') : undefined);
  open();
  await tryUntil(2n, ATTEMPTS);
  await until(letters, ({ length }) => length === 1);
};

/** Closes the reactor and starts it again, as another process would. */
const restart = async (): Promise<void> => {
  await running.close();
  tried = [];
  open();
};

describe('work that keeps failing', () => {
  it('holds up no other, and is a dead letter after its time and eight attempts', async () => {
    await becomesDead();
    expect(done).toEqual([1n, 3n]);
    expect(tried.filter((position) => position === 2n)).toHaveLength(ATTEMPTS);
    expect(await letters()).toEqual([
      {
        ...{ position: 2n, stream, revision: 1n, sinceMs: START - GIVE_UP_MS + 1, attempts: ATTEMPTS },
        ...{ reason: 'payload abc is missing', parked: false, isRetrying: false },
      },
    ]);
    await until(
      () => Promise.resolve(running.figures()),
      ({ dead, retrying, waiting }) => dead === 1 && retrying === 0 && waiting === 0,
    );
    await running.close();
    expect(await checkpoint.read()).toBeGreaterThanOrEqual(3n);
  });

  it('is tried on before its time, however many attempts fail', async () => {
    await record(1);
    failureOf = () => new Error('not now');
    open();
    await tryUntil(1n, ATTEMPTS + 2);
    expect(await letters()).toEqual([]);
  });

  it('is tried on while there are too many dead letters', async () => {
    await record(MAX_DEAD_LETTERS + 1, START - GIVE_UP_MS);
    failureOf = (position) => new StreamParked(stream, position, 'unknown');
    open();
    await until(letters, ({ length }) => length === MAX_DEAD_LETTERS);
    await hasBeen(() => tried, BigInt(MAX_DEAD_LETTERS + 1));
    await running.close();
    expect(await checkpoint.read()).toBe(BigInt(MAX_DEAD_LETTERS));
  });
});

describe('a dead letter', () => {
  it('is left alone by a process that reads its event again', async () => {
    await becomesDead();
    await running.close();
    await checkpoint.write(0n);
    await restart();
    await hasBeen(() => tried, 3n);
    expect(tried).toEqual([1n, 3n]);
  });

  it('that is asked for again is done, and settled', async () => {
    await becomesDead();
    failureOf = () => undefined;
    await ask('RetryDeadLetter', 2n);
    await hasBeen(() => done, 2n);
    await until(letters, ({ length }) => length === 0);
  });

  it('that is asked for again while no process runs the reactor is done by the next one', async () => {
    await becomesDead();
    failureOf = () => undefined;
    await running.close();
    await ask('RetryDeadLetter', 2n);
    await restart();
    await hasBeen(() => done, 2n);
    await until(letters, ({ length }) => length === 0);
    expect(tried).toEqual([2n]);
  });

  it('that fails again is a dead letter again, with its new reason', async () => {
    await becomesDead();
    failureOf = () => new Error('the payload is still missing');
    await ask('RetryDeadLetter', 2n);
    const [letter] = await until(
      () => {
        timers.advance(MAX_RETRY_MS);
        return letters();
      },
      ([first]) => first?.isRetrying === false,
    );
    expect(letter?.reason).toBe('the payload is still missing');
  });

  it('that was skipped is never done', async () => {
    await becomesDead();
    failureOf = () => undefined;
    await ask('SkipDeadLetter', 2n);
    expect(await letters()).toEqual([]);
    await running.close();
    await checkpoint.write(0n);
    await restart();
    await hasBeen(() => tried, 3n);
    expect(tried).toEqual([1n, 3n]);
  });
});

describe('a stream of dead letters that cannot be read', () => {
  it.each(['met', 'started on'] as const)('is parked by a reactor that has %s it, and resumed', async (how) => {
    await becomesDead();
    isOlder = true;
    if (how === 'started on') await running.close();
    await ask('SkipDeadLetter', 2n);
    if (how === 'started on') open();
    await until(
      () => Promise.resolve(parked.all().map((each) => each.stream)),
      (streams) => streams.includes(deadLetterStream(reactor)),
    );
    await record(1);
    const { position: last } = await record(1);
    await hasBeen(() => done, last);
    expect(running.figures().dead).toBe(1);

    isOlder = false;
    await parked.resume(deadLetterStream(reactor));
    expect([running.figures().dead, parked.all()]).toEqual([0, []]);
  });
});

describe('work of a parked stream', () => {
  it('is a dead letter at once, and tried again when the reactor starts', async () => {
    await record(2);
    failureOf = (position) => (position === 1n ? new StreamParked(stream, 1n, 'unknown event') : undefined);
    open();
    await until(letters, ([first]) => first?.parked === true);
    await restart();
    await hasBeen(() => tried, 1n);
    expect(await letters()).toHaveLength(1);
    failureOf = () => undefined;
    await restart();
    await hasBeen(() => done, 1n);
    await until(letters, ({ length }) => length === 0);
    expect(done).toEqual([2n, 1n]);
  });

  it('is tried again when a parked stream is resumed', async () => {
    await record(2);
    failureOf = (position) => (position === 1n ? new StreamParked(stream, 1n, 'unknown event') : undefined);
    open();
    await until(letters, ([first]) => first?.parked === true);
    failureOf = () => undefined;
    parked.note(new StreamParked(stream, 1n, 'unknown event'));
    await parked.resume(stream);
    await until(letters, ({ length }) => length === 0);
    expect(done).toEqual([2n, 1n]);
  });

  it.each(['work', 'event'] as const)('is recorded later where the log could not be reached: %s', async (what) => {
    await record(2);
    const parked = (position: bigint) => (position === 1n ? new StreamParked(stream, 1n, 'unknown event') : undefined);
    if (what === 'work') failureOf = parked;
    else unreadableOf = parked;
    failingRecords = 3;
    open();
    await hasBeen(() => done, 2n);
    const [letter] = await until(
      () => {
        timers.advance(MAX_RETRY_MS);
        return letters();
      },
      ({ length }) => length === 1,
    );
    expect(letter).toMatchObject({ position: 1n, parked: true });
    await until(
      () => Promise.resolve(running.figures()),
      ({ waiting }) => waiting === 0,
    );
    await running.close();
    expect(await checkpoint.read()).toBeGreaterThanOrEqual(2n);
  });
});
