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
import { StoreUnavailable, StreamParked } from '../../../services/kernel/fault.js';
import { type ParkedStreams, parkedStreams } from '../../../services/kernel/log-readers/parked-streams.js';
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
/** Work is a dead letter once it fails this long after its due time, and has failed `ATTEMPTS` times in a row. */
const GIVE_UP_MS = 3_600_000;
const ATTEMPTS = 8;
/** The longest delay of a retry. */
const MAX_RETRY_MS = 300_000;
const stream = streamName('thing', ['one']);
const reactor = 'handle-things';

let directory: string;
let store: EventStore;
let sessions: Sessions;
let timers: ReturnType<typeof manualTimers>;
let checkpoint: Checkpoint;
let running: MeasuredReactor;
let parked: ParkedStreams;
/** The positions of the events whose work was tried, and of those whose work was done, in order. */
let tried: bigint[];
let done: bigint[];
/** The error of the work for an event at a position; none where it succeeds. */
let failureOf: (position: bigint) => Error | undefined;
/** The error of reading the event at a position; none where it can be read. */
let unreadableOf: (position: bigint) => Error | undefined;
/** The number of further attempts to record a dead letter that fail. */
let failingRecords: number;
/** True while the reactor is of a release that does not know the event `DeadLetterSkipped`. */
let isOlder: boolean;
/** True while the head of the log cannot be read. */
let isAway: boolean;
/** The number of reads of the head that have failed. */
let failedReads: number;
/** The subscription of dead letters delivers nothing until this is resolved. */
let delivery: Promise<void>;
/** Commands about dead letters wait until this is resolved. */
let recording: Promise<void>;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'flightlog-dead-'));
  store = await sqliteEventStore({ directory });
  timers = manualTimers(START);
  parked = parkedStreams(() => undefined);
  sessions = openSessions({ store, payloads: filePayloadStore({ directory }), now: () => timers.now() });
  checkpoint = fileCheckpoint({ directory, name: reactor, logId: store.logId });
  [tried, done] = [[], []];
  [failureOf, unreadableOf, failingRecords, isOlder] = [() => undefined, () => undefined, 0, false];
  [isAway, failedReads] = [false, 0];
  [delivery, recording] = [Promise.resolve(), Promise.resolve()];
});
afterEach(async () => {
  await running.close();
  await store.close();
  rmSync(directory, { recursive: true });
});

/** Records events in one stream, a millisecond apart; each is due at the time at which it was recorded. */
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

/** Handles a command, or fails while `failingRecords` is above 0. */
const handle: Sessions['handle'] = async (...command) => {
  await recording;
  if (failingRecords === 0) return sessions.handle(...command);
  failingRecords -= 1;
  throw new Error('the log cannot be reached');
};

/** The log, on which `isOlder`, `isAway` and `delivery` take effect. */
const scriptedLog = (): EventStore => {
  const older = (events: readonly RecordedEvent[]): RecordedEvent[] =>
    events.map((event) =>
      isOlder && event.type === 'DeadLetterSkipped' ? { ...event, type: 'OfANewerRelease' } : event,
    );
  return {
    ...store,
    head: () => {
      if (!isAway) return store.head();
      failedReads += 1;
      return Promise.reject(new StoreUnavailable('the log cannot be reached'));
    },
    async *readStream(...asked) {
      for await (const page of store.readStream(...asked)) yield older(page);
    },
    subscribe: (options, onPage) =>
      store.subscribe(options, async (page, isLive) => {
        if (options.filter?.categories?.includes('deadLetter') === true) await delivery;
        await onPage({ ...page, events: older(page.events) }, isLive);
      }),
  };
};

/** Starts the reactor, whose work for an event is due at once. */
const open = (): void => {
  const log = scriptedLog();
  running = whenDue<bigint>({
    log,
    filter: { categories: ['thing'] },
    checkpoint,
    afterMs: 0,
    timers,
    random: () => 0,
    givingUp: {
      deadLetters: deadLetters({ name: reactor, log, sessions: { handle }, timers, parked }),
      afterMs: GIVE_UP_MS,
    },
    itemOf: ({ position }) => {
      const failure = unreadableOf(position);
      if (failure) throw failure;
      return position;
    },
    work: (position) => {
      tried.push(position);
      const failure = failureOf(position);
      if (failure) return Promise.reject(failure);
      done.push(position);
      return Promise.resolve(undefined);
    },
    onFailure: () => undefined,
  });
};

/** The open dead letters of the reactor. */
const letters = (): Promise<readonly OpenLetter[]> =>
  sessions.read(deadLetterAggregate, deadLetterStream(reactor), ({ state }) => [...state.open.values()]);

/** Sends the command of an operator about a dead letter. */
const ask = (type: 'RetryDeadLetter' | 'SkipDeadLetter', position: bigint) => {
  const command: DeadLetterCommand = { type, reactor, position };
  return sessions.handle(deadLetterAggregate, deadLetterStream(reactor), command, {
    actor: 'ann',
    commandId: randomUUID(),
  });
};

/** Advances the clock by the longest retry delay, again and again until the work was tried `attempts` times. */
const tryUntil = (position: bigint, attempts: number) =>
  until(
    () => {
      timers.advance(MAX_RETRY_MS);
      return Promise.resolve(tried.filter((each) => each === position).length);
    },
    (count) => count >= attempts,
  );

const untilIncluded = (list: () => readonly bigint[], position: bigint) =>
  until(
    () => Promise.resolve(list()),
    (positions) => positions.includes(position),
  );

/** Records three events, of which the second one becomes a dead letter. */
const makeDeadLetter = async (): Promise<void> => {
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
  it('delays no other work, and is a dead letter after the configured time and eight attempts', async () => {
    await makeDeadLetter();
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

  it('is retried until the configured time is over, however many attempts fail', async () => {
    await record(1);
    failureOf = () => new Error('not now');
    open();
    await tryUntil(1n, ATTEMPTS + 2);
    expect(await letters()).toEqual([]);
  });

  it('is no dead letter while the reactor has as many as it may, and the checkpoint stays before it', async () => {
    await record(MAX_DEAD_LETTERS + 1, START - GIVE_UP_MS);
    failureOf = (position) => new StreamParked(stream, position, 'unknown');
    open();
    await until(letters, ({ length }) => length === MAX_DEAD_LETTERS);
    await untilIncluded(() => tried, BigInt(MAX_DEAD_LETTERS + 1));
    await running.close();
    expect(await checkpoint.read()).toBe(BigInt(MAX_DEAD_LETTERS));
  });
});

describe('a dead letter', () => {
  it('is not tried by a reactor that reads its event again', async () => {
    await makeDeadLetter();
    await running.close();
    await checkpoint.write(0n);
    await restart();
    await untilIncluded(() => tried, 3n);
    expect(tried).toEqual([1n, 3n]);
  });

  it('that is retried by request is done, and then no longer open', async () => {
    await makeDeadLetter();
    failureOf = () => undefined;
    await ask('RetryDeadLetter', 2n);
    await untilIncluded(() => done, 2n);
    await until(letters, ({ length }) => length === 0);
  });

  it('that is retried by request while the reactor is closed is done at its next start', async () => {
    await makeDeadLetter();
    failureOf = () => undefined;
    await running.close();
    await ask('RetryDeadLetter', 2n);
    await restart();
    await untilIncluded(() => done, 2n);
    await until(letters, ({ length }) => length === 0);
    expect(tried).toEqual([2n]);
  });

  it('that fails again is a dead letter again, with its new reason', async () => {
    await makeDeadLetter();
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

  it('that was skipped is not tried, also when its event is read again', async () => {
    await makeDeadLetter();
    failureOf = () => undefined;
    await ask('SkipDeadLetter', 2n);
    expect(await letters()).toEqual([]);
    await running.close();
    await checkpoint.write(0n);
    await restart();
    await untilIncluded(() => tried, 3n);
    expect(tried).toEqual([1n, 3n]);
  });
});

describe('a reactor that starts while the log cannot be reached', () => {
  const untilFailed = (count: number) =>
    until(
      () => Promise.resolve(failedReads),
      (found) => found >= count,
    );

  it('reads its dead letters when the log can be reached again', async () => {
    await makeDeadLetter();
    isAway = true;
    await restart();
    await untilFailed(1);
    timers.advance(1_000);
    await untilFailed(2);
    isAway = false;
    await record(1);
    await until(
      () => {
        timers.advance(1_000);
        return Promise.resolve(done.length);
      },
      (count) => count === 3,
    );
    expect(tried).toEqual([done[2]]); // and not the dead letter
  });

  it('closes without a failure', async () => {
    isAway = true;
    open();
    await untilFailed(1);
    await running.close();
    await running.ended;
  });
});

describe('a stream of dead letters that cannot be read', () => {
  it.each(['while it runs', 'when it starts'] as const)('is parked by a reactor %s, until resumed', async (when) => {
    await makeDeadLetter();
    isOlder = true;
    if (when === 'when it starts') await running.close();
    await ask('SkipDeadLetter', 2n);
    if (when === 'when it starts') open();
    await until(
      () => Promise.resolve(parked.all().map((each) => each.stream)),
      (streams) => streams.includes(deadLetterStream(reactor)),
    );
    await record(1);
    const { position: last } = await record(1);
    await untilIncluded(() => done, last);
    expect(running.figures().dead).toBe(1);

    isOlder = false;
    await parked.resume(deadLetterStream(reactor));
    expect([running.figures().dead, parked.all()]).toEqual([0, []]);
  });
});

describe('work of a parked stream', () => {
  it('is a dead letter at once, and tried again at each start of the reactor', async () => {
    await record(2);
    failureOf = (position) => (position === 1n ? new StreamParked(stream, 1n, 'unknown event') : undefined);
    open();
    await until(letters, ([first]) => first?.parked === true);
    await restart();
    await untilIncluded(() => tried, 1n);
    expect(await letters()).toHaveLength(1);
    failureOf = () => undefined;
    await restart();
    await untilIncluded(() => done, 1n);
    await until(letters, ({ length }) => length === 0);
    expect(done).toEqual([2n, 1n]);
  });

  it('counts its failures in a row, including those before the stream was found to be parked', async () => {
    await record(1);
    failureOf = () => new Error('not now');
    open();
    await untilIncluded(() => tried, 1n);
    failureOf = () => new StreamParked(stream, 1n, 'unknown event');
    await tryUntil(1n, 2);
    const [letter] = await until(letters, ({ length }) => length === 1);
    expect(letter).toMatchObject({ position: 1n, parked: true, attempts: 2 });
  });

  it('is tried again when the stream is resumed', async () => {
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

  it('is tried again when the stream is resumed before the subscription delivers the letter', async () => {
    await record(2);
    failureOf = (position) => (position === 1n ? new StreamParked(stream, 1n, 'unknown event') : undefined);
    let deliver = (): void => undefined;
    delivery = new Promise((resolve) => (deliver = resolve));
    open();
    try {
      await until(letters, ([first]) => first?.parked === true);
      failureOf = () => undefined;
      parked.note(new StreamParked(stream, 1n, 'unknown event'));
      await parked.resume(stream);
      await until(letters, ({ length }) => length === 0, 5_000);
      expect(done).toEqual([2n, 1n]);
    } finally {
      deliver();
    }
    await until(
      () => Promise.resolve(running.figures()),
      ({ dead, waiting }) => dead === 0 && waiting === 0,
    );
    await running.close();
    expect(await checkpoint.read()).toBeGreaterThanOrEqual(2n);
  });

  it('is tried once more when the stream is resumed while the failure of a retry is being recorded', async () => {
    await record(2);
    const fault = new StreamParked(stream, 1n, 'unknown event');
    const resume = (): Promise<unknown> => {
      parked.note(fault);
      return parked.resume(stream);
    };
    failureOf = (position) => (position === 1n ? fault : undefined);
    open();
    await until(letters, ([first]) => first?.parked === true);
    let recordAgain = (): void => undefined;
    recording = new Promise((resolve) => (recordAgain = resolve));
    await resume();
    await until(
      () => Promise.resolve(tried.filter((position) => position === 1n).length),
      (times) => times === 2,
    );
    failureOf = () => undefined;
    await resume();
    recordAgain();
    await until(letters, ({ length }) => length === 0, 5_000);
    expect(done).toEqual([2n, 1n]);
  });

  it.each(['work', 'itemOf'] as const)(
    'is a dead letter as soon as that can be recorded, when %s throws',
    async (failing) => {
      await record(2);
      const faultAt = (position: bigint) =>
        position === 1n ? new StreamParked(stream, 1n, 'unknown event') : undefined;
      if (failing === 'work') failureOf = faultAt;
      else unreadableOf = faultAt;
      failingRecords = 3;
      open();
      await untilIncluded(() => done, 2n);
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
    },
  );
});
