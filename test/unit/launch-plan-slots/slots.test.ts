import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { executionAggregate } from '../../../services/execution/aggregate.js';
import { randomBytes } from 'node:crypto';
import type { StreamParked } from '../../../services/kernel/fault.js';
import type { EventStore } from '../../../services/kernel/ports/event-store.js';
import type { Sessions } from '../../../services/kernel/ports/sessions.js';
import { slotsStream } from '../../../services/launch-plan-slots/events.js';
import { slotHolders } from '../../../services/main/reactors/slot-holders.js';
import { releaseSlots } from '../../../services/reactors/release-slots/reactor.js';
import { launchPlanSlots, type Slots } from '../../../services/reactors/release-slots/slots.js';
import { openSessions } from '../../../services/sessions/sessions.js';
import { fileCheckpoint } from '../../../services/store/file-checkpoint.js';
import { filePayloadStore } from '../../../services/store/payloads/file-payload-store.js';
import { sqliteEventStore } from '../../../services/store/log/sqlite-event-store.js';
import { manualTimers } from '../../support/manual-timers.js';
import { creationOf, workflow } from '../execution/reports.js';
import { executionStream } from '../../../services/kernel/execution-id.js';

const plan = { project: 'p', domain: 'd', name: 'plan' };
/** The project and domain of all executions. */
const PLACE = { project: 'p', domain: 'd' };
/** Milliseconds since 1970. */
const START_MS = 1_700_000_000_000;

let directory: string;
let store: EventStore;
let sessions: Sessions;
let slots: Slots;
let now = START_MS;
let commands = 0;
const aggregate = executionAggregate({ payloads: undefined as never });

/** Simulates a restart: a new process on the same log. */
const restart = (): void => {
  sessions = openSessions({ store, payloads: filePayloadStore({ directory }), now: () => now });
  slots = launchPlanSlots({ sessions, holders: slotHolders(sessions, aggregate), now: () => now });
};

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'flightlog-slots-'));
  store = await sqliteEventStore({ directory });
  now = START_MS;
  restart();
});
afterEach(async () => {
  await store.close();
  rmSync(directory, { recursive: true });
});

const context = () => ({ actor: '', commandId: `command-${(commands += 1)}` });

/** Creates an execution with the slot of an attempt. */
const createAs = (name: string, attempt: string) => {
  const id = { ...PLACE, name };
  return sessions.handle(aggregate, executionStream(id), creationOf(id, attempt), context());
};
/** Records that an attempt can no longer create its execution. */
const voidAs = (name: string, attempt: string) => {
  const id = { ...PLACE, name };
  return sessions.handle(aggregate, executionStream(id), { type: 'VoidExecution', id, attempt }, context());
};
const end = (name: string) => {
  const id = { ...PLACE, name };
  return sessions.handle(aggregate, executionStream(id), { ...workflow('FAILED'), id }, context());
};
/** Takes a slot of the launch plan, which has `max`, for an execution. */
const take = (name: string, max = 1) => slots.take(plan, { ...PLACE, name }, max);

const types = async (stream = slotsStream(plan)): Promise<readonly string[]> => {
  const found: string[] = [];
  for await (const page of store.readStream(stream)) found.push(...page.map(({ type }) => type));
  return found;
};

describe('the slots of a launch plan', () => {
  it('are refused when all are held, until an execution that holds one has ended', async () => {
    const slot = await take('a');
    await createAs('a', slot!.attempt);
    expect(await take('b')).toBeUndefined();
    await end('a');
    restart();
    expect(await take('b')).toBeDefined();
    expect(await types()).toEqual(['SlotTaken', 'SlotReleased', 'SlotTaken']);
  });

  it('are never more than the limit when 20 executions ask at once', async () => {
    const asked = await Promise.all(Array.from({ length: 20 }, (_, at) => take(`n${at}`, 3)));
    expect(asked.filter((slot) => slot !== undefined)).toHaveLength(3);
  });

  it('count executions of versions without a limit too', async () => {
    await slots.take(plan, { ...PLACE, name: 'a' }, undefined);
    await slots.take(plan, { ...PLACE, name: 'b' }, undefined);
    expect(await take('c', 2)).toBeUndefined();
    expect(await take('c', 3)).toBeDefined();
  });

  it('are kept by an execution that the same attempt has created in another request', async () => {
    const [one, other] = [(await take('a'))!, (await take('a'))!];
    expect(other.attempt).toBe(one.attempt);
    await createAs('a', other.attempt);
    await expect(createAs('a', one.attempt)).resolves.toMatchObject({ refusal: { kind: 'execution-exists' } });
    await one.release();
    expect(await types()).toEqual(['SlotTaken']);
    expect(await take('b')).toBeUndefined();
  });

  it('are released by an attempt whose execution another attempt has created, for another launch plan', async () => {
    const slot = (await take('a'))!;
    const elsewhere = (await slots.take({ ...plan, name: 'elsewhere' }, { ...PLACE, name: 'a' }, 1))!;
    await createAs('a', elsewhere.attempt);
    await slot.release();
    expect(await types()).toEqual(['SlotTaken', 'SlotReleased']);
  });

  it('are released at once by an attempt that was voided', async () => {
    const slot = (await take('a'))!;
    await voidAs('a', slot.attempt);
    await expect(createAs('a', slot.attempt)).resolves.toMatchObject({ refusal: { kind: 'execution-voided' } });
    await slot.release();
    expect(await types()).toEqual(['SlotTaken', 'SlotReleased']);
  });

  it('are taken anew when the slot that was found for an execution is released before it is used', async () => {
    const lost = (await take('a'))!;
    await voidAs('a', lost.attempt);
    const read: Sessions['read'] = async (of, stream, look) => {
      await lost.release();
      return sessions.read(of, stream, look);
    };
    const meanwhile = launchPlanSlots({
      sessions: { ...sessions, read },
      holders: slotHolders(sessions, aggregate),
      now: () => now,
    });
    const slot = (await meanwhile.take(plan, { ...PLACE, name: 'a' }, 1))!;
    expect(slot.attempt).not.toBe(lost.attempt);
    expect(await types()).toEqual(['SlotTaken', 'SlotReleased', 'SlotTaken']);
  });

  it('are kept while their attempt may still create its execution', async () => {
    await (await take('a'))!.release();
    expect(await types()).toEqual(['SlotTaken']);
  });

  it('are kept for a minute for an attempt that has not created its execution, which it cannot once another has its slot', async () => {
    const lost = await take('a');
    restart(); // killed between the slot and the execution
    now += 59_000;
    expect(await take('b')).toBeUndefined();
    now += 1_000;
    expect(await take('b')).toBeDefined();
    expect(await types(executionStream({ ...PLACE, name: 'a' }))).toEqual(['ExecutionVoided']);
    await expect(createAs('a', lost!.attempt)).resolves.toMatchObject({ refusal: { kind: 'execution-voided' } });
  });

  it('let a later attempt create the execution of an attempt that was voided', async () => {
    await take('a');
    now += 60_000;
    const other = await take('b');
    await createAs('b', other!.attempt);
    await end('b');
    const again = await take('a');
    await expect(createAs('a', again!.attempt)).resolves.toMatchObject({ kind: 'accepted' });
    expect(await types(executionStream({ ...PLACE, name: 'a' }))).toEqual(['ExecutionVoided', 'ExecutionCreated']);
  });

  it('go to a new execution, or stay with a slow attempt that creates its execution, and never both', async () => {
    const slow = await take('a');
    now += 60_000;
    const [created, other] = await Promise.all([createAs('a', slow!.attempt), take('b')]);
    expect([created.kind === 'accepted', other !== undefined].filter(Boolean)).toHaveLength(1);
  });

  it('are never held by more executions than the limit, in any order of launches, ends, restarts and waits', async () => {
    const step = fc.record({
      what: fc.constantFrom('launch', 'launch', 'launch', 'take', 'end', 'restart', 'wait'),
      name: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'),
    });
    let [full, refused] = [0, 0];
    await fc.assert(
      fc.asyncProperty(fc.uuid(), fc.array(step, { minLength: 15, maxLength: 25 }), async (run, steps) => {
        const own = { ...plan, name: run };
        const open = new Set<string>();
        const launch = async (name: string): Promise<void> => {
          const slot = await slots.take(own, { ...PLACE, name }, 2);
          if (slot === undefined) {
            refused += 1;
            return;
          }
          if ((await createAs(name, slot.attempt)).kind === 'accepted') open.add(name);
          else await slot.release();
        };
        const act: Record<string, (name: string) => unknown> = {
          launch,
          take: (name) => slots.take(own, { ...PLACE, name }, 2),
          end: (name) => (open.delete(name) ? end(name) : undefined),
          restart,
          wait: () => (now += 61_000),
        };
        for (const { what, name } of steps) {
          await act[what]!(`${name}-${run}`);
          expect(open.size).toBeLessThanOrEqual(2);
          if (open.size === 2) full += 1;
        }
      }),
      { numRuns: 30 },
    );
    expect(full).toBeGreaterThan(100);
    expect(refused).toBeGreaterThan(30);
  });
});

describe('slots while the reactor runs that releases them', () => {
  const STEP_MS = 1_000;

  /** A process that releases slots, with a clock of its own. */
  const open = (failures: unknown[] = []) => {
    const timers = manualTimers(now);
    const checkpoint = fileCheckpoint({ directory, name: 'release-slots', logId: store.logId });
    const onFailure = (error: unknown) => failures.push(error);
    const reactor = releaseSlots({ log: store, checkpoint, slots, streamOf: executionStream, timers, onFailure });
    const until = async (isSo: () => Promise<boolean>): Promise<void> => {
      while (!(await isSo())) {
        timers.advance(STEP_MS);
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    return { timers, until, checkpoint, close: () => reactor.close() };
  };
  const isReleased = async () => (await types()).at(-1) === 'SlotReleased';

  it('are released when their execution has ended, without a request for a slot', async () => {
    const slot = await take('a');
    await createAs('a', slot!.attempt);
    const reactor = open();
    await end('a');
    await reactor.until(isReleased);
    await reactor.close();
    expect(await types()).toEqual(['SlotTaken', 'SlotReleased']);
  });

  it('are released once, also after a restart between any two steps', async () => {
    const steps = [async () => createAs('a', (await take('a'))!.attempt), () => end('a')];
    const slot = await take('a');
    expect(slot).toBeDefined();
    for (const step of steps) {
      const reactor = open();
      await step();
      await reactor.close();
      restart();
    }
    for (let again = 0; again < 2; again += 1) {
      const reactor = open();
      await reactor.until(isReleased);
      await reactor.close();
      restart();
    }
    expect(await types()).toEqual(['SlotTaken', 'SlotReleased']);
  });

  it('are released once by two reactors', async () => {
    const slot = await take('a');
    await createAs('a', slot!.attempt);
    await end('a');
    const [one, other] = [open(), open()];
    await Promise.all([one.until(isReleased), other.until(isReleased)]);
    await Promise.all([one.close(), other.close()]);
    expect(await types()).toEqual(['SlotTaken', 'SlotReleased']);
  });

  it('are kept for executions that have not ended', async () => {
    await createAs('a', (await take('a', 2))!.attempt);
    await createAs('b', (await take('b', 2))!.attempt);
    await end('b');
    const reactor = open();
    await reactor.until(isReleased);
    await reactor.close();
    expect(await types()).toEqual(['SlotTaken', 'SlotTaken', 'SlotReleased']);
    expect(await take('c', 1)).toBeUndefined();
  });

  it('are released a minute after an attempt took them and created no execution', async () => {
    await take('a');
    const reactor = open();
    now += 60_000; // for the slots, which have another clock than the reactor
    await reactor.until(isReleased);
    await reactor.close();
    expect(reactor.timers.now() - START_MS).toBeGreaterThanOrEqual(60_000);
    expect(await types(executionStream({ ...PLACE, name: 'a' }))).toEqual(['ExecutionVoided']);
  });

  it('are released a minute after they are seen when the clock of the process that took them was an hour ahead', async () => {
    now = START_MS + 3_600_000;
    await take('a');
    now = START_MS;
    const reactor = open();
    now = START_MS + 3_599_000; // before the time at which it was taken, by the clock of the process that took it
    await reactor.until(isReleased);
    await reactor.close();
    expect(reactor.timers.now() - START_MS).toBeGreaterThanOrEqual(60_000);
    expect(await types()).toEqual(['SlotTaken', 'SlotReleased']);
  });

  it('are released while another stream of slots is parked, which is read again from its oldest slot', async () => {
    const parked = { ...plan, name: 'parked' };
    await slots.take(parked, { ...PLACE, name: 'held' }, 1);
    const metadata = JSON.stringify({ recordedAtMs: START_MS, actor: '', commandId: '', schema: 1 });
    const unknown = { id: randomBytes(16), type: 'OfANewerRelease', data: new Uint8Array(), metadata };
    await store.append(slotsStream(parked), 'any', [unknown]);
    await createAs('a', (await take('a'))!.attempt);
    await end('a');
    const failures: unknown[] = [];
    const reactor = open(failures);
    await reactor.until(async () => failures.length > 0 && (await isReleased()));
    await reactor.close();
    expect(failures.map((each) => (each as StreamParked).stream)).toEqual([slotsStream(parked)]);
    expect(await reactor.checkpoint.read()).toBe(0n);
    restart();
    await expect(slots.take(parked, { ...PLACE, name: 'b' }, 1)).rejects.toThrow(
      `stream ${slotsStream(parked)} is parked at position 2: event type OfANewerRelease is unknown`,
    );
  });

  it('are followed from a checkpoint before the oldest slot that is held', async () => {
    await createAs('a', (await take('a', 2))!.attempt);
    await createAs('b', (await take('b', 2))!.attempt);
    await end('a');
    const reactor = open();
    await reactor.until(isReleased);
    await reactor.until(async () => (await reactor.checkpoint.read()) === 2n);
    await reactor.close();
    expect(await reactor.checkpoint.read()).toBe(2n);
  });
});
