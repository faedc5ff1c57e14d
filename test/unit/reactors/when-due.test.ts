import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import type { Checkpoint } from '../../../services/kernel/ports/checkpoint.js';
import type { EventStore } from '../../../services/kernel/ports/event-store.js';
import type { Reactor } from '../../../services/kernel/log-readers/follow.js';
import { StoreUnavailable, StreamParked } from '../../../services/kernel/fault.js';
import { streamName } from '../../../services/kernel/stream.js';
import { dueQueue } from '../../../services/reactors/frame/due-queue.js';
import { whenDue } from '../../../services/reactors/frame/when-due.js';
import { fileCheckpoint } from '../../../services/store/file-checkpoint.js';
import { sqliteEventStore } from '../../../services/store/log/sqlite-event-store.js';
import { manualTimers } from '../../support/manual-timers.js';
import { until } from '../../support/until.js';

const START = 1_700_000_000_000;
/** The time from the recording of an event until its work is due. */
const AFTER_MS = 600_000;
const HOUR_MS = 3_600_000;
/** The delay of the first retry, of which `random` takes nothing off here. */
const RETRY_MS = 5_000;
/** With this many items waiting for a retry, no new items are started. */
const MAX_FAILED = 1_000;
/** With this many items waiting, without those that have failed, no more events are read. */
const MAX_WAITING = 10_000;
const stream = streamName('thing', ['one']);

let directory: string;
let store: EventStore;
let timers: ReturnType<typeof manualTimers>;
let reactor: Reactor;
let checkpoint: Checkpoint;
/** The positions of the events that were read, and of those whose work was tried, in order. */
let read: bigint[];
let tried: bigint[];
/** True for positions whose work fails. */
let doesFail: (position: bigint) => boolean;
/** The error with which work, and reading the event at the position `unreadable`, fails. */
let failure: () => Error;
let unreadable: bigint | undefined;
/** The errors that were reported. */
let failures: unknown[];

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'flightlog-due-'));
  store = await sqliteEventStore({ directory });
  timers = manualTimers(START);
  checkpoint = fileCheckpoint({ directory, name: 'due', logId: store.logId });
  read = [];
  tried = [];
  doesFail = () => false;
  failure = () => new Error('not now');
  unreadable = undefined;
  failures = [];
});
afterEach(async () => {
  await reactor.close();
  await store.close();
  rmSync(directory, { recursive: true });
});

/** Records an event for each time, in milliseconds since 1970, as the time at which it was recorded. */
const record = (times: readonly number[]) =>
  store.append(
    stream,
    'any',
    times.map((recordedAtMs) => ({
      id: randomBytes(16),
      type: 'Thing',
      data: new Uint8Array(),
      metadata: JSON.stringify({ recordedAtMs, actor: '', commandId: '', schema: 1 }),
    })),
  );

/** Starts the reactor. */
const open = (): void => {
  reactor = whenDue<bigint>({
    log: store,
    filter: { categories: ['thing'] },
    checkpoint,
    afterMs: AFTER_MS,
    timers,
    random: () => 0,
    itemOf: ({ position }) => {
      if (position === unreadable) throw failure();
      read.push(position);
      return position;
    },
    work: (position) => {
      tried.push(position);
      return doesFail(position) ? Promise.reject(failure()) : Promise.resolve(undefined);
    },
    onFailure: (error) => failures.push(error),
  });
};

/** Waits until a number is reached, and expects that it is not exceeded. */
const staysAt = async (of: () => number, wanted: number): Promise<void> => {
  await until(
    () => Promise.resolve(of()),
    (found) => found >= wanted,
  );
  // If an unwanted call were to come, it would come within these turns.
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  expect(of()).toBe(wanted);
};

describe('work that is due a fixed time after its event was recorded', () => {
  it('waits no longer than that time if the clock of the recording was ahead, and delays no other work', async () => {
    await record([START + HOUR_MS, START, START - 1_000]);
    open();
    await staysAt(() => read.length, 3);
    timers.advance(AFTER_MS - 1_000);
    await staysAt(() => tried.length, 1);
    timers.advance(1_000);
    await staysAt(() => tried.length, 3);
    expect(tried).toEqual([3n, 1n, 2n]);
  });

  it('is done in the order of due times, and the checkpoint stays before all work that is not done', async () => {
    await record([START - 1_000, START - 3_000, START - 2_000]);
    open();
    await staysAt(() => read.length, 3);
    timers.advance(AFTER_MS - 2_000);
    await staysAt(() => tried.length, 2);
    expect(tried).toEqual([2n, 3n]);
    await reactor.close();
    expect(await checkpoint.read()).toBe(0n);
    open();
    timers.advance(AFTER_MS);
    await staysAt(() => tried.length, 5);
    await reactor.close();
    expect(await checkpoint.read()).toBe(3n);
  });

  it('does not let the checkpoint pass an event that could not be taken', async () => {
    await record([START - AFTER_MS, START - AFTER_MS]);
    failure = () => new TypeError('a defect');
    unreadable = 2n;
    open();
    await expect(reactor.ended).rejects.toThrow('a defect');
    await staysAt(() => tried.length, 1);
    timers.advance(1_000);
    await reactor.close();
    expect(await checkpoint.read()).toBeLessThan(2n);
  });

  it('goes on while the checkpoint cannot be written, and the error is reported', async () => {
    const stored = checkpoint;
    const away = new StoreUnavailable('the read store is away');
    let isAway = true;
    checkpoint = {
      read: () => stored.read(),
      write: (position) => (isAway ? Promise.reject(away) : stored.write(position)),
    };
    await record([START - AFTER_MS]);
    timers.advance(0);
    open();
    await staysAt(() => tried.length, 1);
    timers.advance(1_000);
    await record([START - AFTER_MS]);
    await staysAt(() => tried.length, 2);
    expect(failures[0]).toBe(away);
    isAway = false;
    timers.advance(1_000);
    await record([START - AFTER_MS]);
    await staysAt(() => tried.length, 3);
    await reactor.close();
    expect(await checkpoint.read()).toBe(3n);
  });

  it('is tried for the first time only while fewer than a thousand wait to be tried again', async () => {
    await record(Array.from({ length: MAX_FAILED + 2 }, () => START - AFTER_MS));
    doesFail = () => true;
    open();
    await staysAt(() => tried.length, MAX_FAILED);
    doesFail = (position) => position > 1n;
    timers.advance(RETRY_MS);
    // All are tried again; when the first one succeeds, one more takes its place and fails.
    await staysAt(() => tried.length, 2 * MAX_FAILED + 1);
    expect(new Set(tried).size).toBe(MAX_FAILED + 1);
    doesFail = () => false;
    timers.advance(2 * RETRY_MS); // the delay of the second retry
    await staysAt(() => tried.length, 3 * MAX_FAILED + 2);
    expect(new Set(tried).size).toBe(MAX_FAILED + 2);
  });

  it('is not retried if its stream is parked, keeps the checkpoint before it, and delays no other work', async () => {
    await record(Array.from({ length: MAX_FAILED + 2 }, () => START - AFTER_MS));
    failure = () => new StreamParked(stream, 1n, 'unknown');
    const last = BigInt(MAX_FAILED + 2);
    doesFail = (position) => position !== last;
    unreadable = 1n;
    open();
    await staysAt(() => tried.length, MAX_FAILED + 1);
    timers.advance(RETRY_MS);
    await staysAt(() => tried.length, MAX_FAILED + 1);
    await reactor.close();
    expect([tried.at(-1), await checkpoint.read()]).toEqual([last, 0n]);
  });

  it('is read from the log only while fewer than ten thousand items wait', async () => {
    for (let turn = 0; turn < 11; turn += 1) await record(Array.from({ length: 1_000 }, () => START));
    open();
    await staysAt(() => read.length, MAX_WAITING);
    timers.advance(AFTER_MS);
    await staysAt(() => read.length, 11_000);
    timers.advance(AFTER_MS);
    await staysAt(() => tried.length, 11_000);
  });
});

describe('a queue by due time', () => {
  it('gives out what is due first, whatever is added and taken in between', () => {
    fc.assert(
      fc.property(fc.array(fc.option(fc.nat(20))), (steps) => {
        const queue = dueQueue<{ readonly dueMs: number; readonly step: number }>();
        let model: { readonly dueMs: number; readonly step: number }[] = [];
        for (const [step, dueMs] of steps.entries()) {
          model = model.toSorted((a, b) => a.dueMs - b.dueMs);
          if (dueMs === null) {
            expect(queue.pop()).toEqual(model.shift());
          } else {
            model.push({ dueMs, step });
            queue.push({ dueMs, step });
          }
          expect(queue.size()).toBe(model.length);
          expect(queue.peek()).toEqual(model.toSorted((a, b) => a.dueMs - b.dueMs)[0]);
        }
      }),
    );
  });
});
