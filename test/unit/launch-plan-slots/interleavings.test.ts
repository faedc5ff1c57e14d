import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc, { type Scheduler } from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { executionAggregate } from '../../../services/execution/aggregate.js';
import { endsExecution, executionCodec } from '../../../services/execution/events.js';
import type { RecordedEvent } from '../../../services/kernel/event.js';
import type { EventStore } from '../../../services/kernel/ports/event-store.js';
import { slotsAggregate } from '../../../services/launch-plan-slots/decider.js';
import { slotsStream } from '../../../services/launch-plan-slots/events.js';
import { slotHolders } from '../../../services/main/reactors/slot-holders.js';
import { FENCED_AFTER_MS, launchPlanSlots } from '../../../services/reactors/release-slots/slots.js';
import { openSessions } from '../../../services/sessions/sessions.js';
import { filePayloadStore } from '../../../services/store/payloads/file-payload-store.js';
import { sqliteEventStore } from '../../../services/store/log/sqlite-event-store.js';
import { creationOf, workflow } from '../execution/reports.js';
import { executionStream } from '../../../services/kernel/execution-id.js';

/** The slots of each launch plan. */
const MAX = 1;
const aggregate = executionAggregate({ payloads: undefined as never });

let directory: string;
let store: EventStore;
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'flightlog-interleavings-'));
  store = await sqliteEventStore({ directory });
});
afterAll(async () => {
  await store.close();
  rmSync(directory, { recursive: true });
});

const pagesOf = async (pages: ReturnType<EventStore['readStream']>): Promise<(readonly RecordedEvent[])[]> => {
  const all: (readonly RecordedEvent[])[] = [];
  for await (const page of pages) all.push(page);
  return all;
};

const NEVER = new Promise<never>(() => undefined);

/** All requests to the log; those of dead processes are carried out all the same. */
const requests = new Set<Promise<unknown>>();

/** A log that answers when the scheduler lets it, and never once its process is dead. */
const scheduled = (scheduler: Scheduler, isDead: () => boolean): EventStore => {
  const later = async <Result>(label: string, result: Promise<Result>): Promise<Result> => {
    const settled = Promise.allSettled([result]).then(([outcome]) => outcome);
    requests.add(settled);
    const outcome = await scheduler.schedule(settled, label);
    if (isDead()) return NEVER;
    if (outcome.status === 'rejected') throw outcome.reason;
    return outcome.value;
  };
  return {
    ...store,
    append: (stream, expected, events) => later(`append ${stream}`, store.append(stream, expected, events)),
    async *readStream(stream, options) {
      yield* await later(`read ${stream}`, pagesOf(store.readStream(stream, options)));
    },
  };
};

type Clock = { now: number };

/** The sessions and the slots of one process; `clock` has milliseconds since 1970. */
const openProcess = (over: EventStore, clock: Clock) => {
  const now = () => clock.now;
  const sessions = openSessions({ store: over, payloads: filePayloadStore({ directory }), now, isShared: true });
  const slots = launchPlanSlots({ sessions, holders: slotHolders(sessions, aggregate), now });
  return { sessions, slots };
};

type Process = ReturnType<typeof openProcess>;
type Ids = { readonly plan: (which: number) => PlanId; readonly execution: (name: string) => PlanId };
type PlanId = { readonly project: string; readonly domain: string; readonly name: string };

const context = () => ({ actor: '', commandId: randomUUID() });

/** Takes a slot and creates the execution with it, as a launch does. */
const launch = async ({ sessions, slots }: Process, plan: PlanId, id: PlanId): Promise<void> => {
  const slot = await slots.take(plan, id, MAX);
  if (slot === undefined) return;
  const command = creationOf(id, slot.attempt);
  const { kind } = await sessions.handle(aggregate, executionStream(id), command, context());
  if (kind === 'refused') await slot.release();
};

const end = ({ sessions }: Process, id: PlanId): Promise<unknown> =>
  sessions.handle(aggregate, executionStream(id), { ...workflow('FAILED'), id }, context());

type Step = {
  /** `clear` releases the slots that are not needed; `wait` moves the clock until an attempt may be fenced. */
  readonly what: 'launch' | 'end' | 'clear' | 'crash' | 'wait';
  /** The index of the process. */
  readonly at: number;
  readonly plan: number;
  readonly name: string;
};

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    what: fc.constantFrom('launch', 'launch', 'launch', 'end', 'clear', 'crash', 'wait'),
    at: fc.nat(1),
    plan: fc.constantFrom(0, 0, 0, 1),
    name: fc.constantFrom('a', 'b', 'c'),
  }),
  { minLength: 3, maxLength: 10 },
);

/** Runs all steps concurrently, interleaved by the scheduler. */
const runAll = async (scheduler: Scheduler, all: readonly Step[], ids: Ids, clock: Clock): Promise<void> => {
  const start = () => {
    const state = { isDead: false, die: (): void => undefined };
    const death = new Promise<void>((resolve) => (state.die = resolve));
    const kill = (): void => {
      state.isDead = true;
      state.die();
    };
    return {
      ...openProcess(
        scheduled(scheduler, () => state.isDead),
        clock,
      ),
      death,
      kill,
    };
  };
  const processes = [start(), start()];
  const act = ({ what, at, plan, name }: Step, process: Process): Promise<unknown> | undefined => {
    switch (what) {
      case 'launch':
        return launch(process, ids.plan(plan), ids.execution(name));
      case 'end':
        return end(process, ids.execution(name));
      case 'clear':
        return process.slots.releaseAllUnneeded(slotsStream(ids.plan(plan)));
      case 'wait':
        clock.now += FENCED_AFTER_MS;
        return undefined;
      case 'crash':
        processes[at]?.kill();
        processes[at] = start();
    }
    return undefined;
  };
  const begin = async (step: Step): Promise<void> => {
    await scheduler.schedule(Promise.resolve(), step.what);
    const process = processes[step.at]!;
    await Promise.race([act(step, process), process.death]);
  };
  await scheduler.waitFor(Promise.all(all.map(begin)));
  await Promise.all(requests);
};

/** The attempts whose executions run (created and not ended), by stream, after each event of an execution. */
const openAfterEach = async (after: bigint): Promise<readonly ReadonlyMap<string, string>[]> => {
  const open = new Map<string, string>();
  const all: ReadonlyMap<string, string>[] = [];
  for await (const { events } of store.readLog({ after, filter: { categories: ['execution'] } }))
    for (const { type, data, stream } of events) {
      const event = executionCodec.decode(type, data, 1);
      if (event.type === 'ExecutionCreated') open.set(stream, event.data.slotAttempt);
      if (endsExecution(event)) open.delete(stream);
      all.push(new Map(open));
    }
  return all;
};

/** The stream of slots in which each attempt has taken one. */
const plansOfAttempts = async (after: bigint): Promise<ReadonlyMap<string, string>> => {
  const plans = new Map<string, string>();
  for await (const { events } of store.readLog({ after, filter: { types: ['SlotTaken'] } }))
    for (const event of events) {
      const { data } = slotsAggregate.codec.decode(event.type, event.data, 1);
      plans.set(data.attempt, event.stream);
    }
  return plans;
};

describe('the slots of launch plans, as two processes take them', () => {
  it('are held by executions that have not ended, never exceed the limit, and are never lost, in any order of all steps', async () => {
    let [full, held] = [0, 0];
    await fc.assert(
      fc.asyncProperty(fc.scheduler(), steps, async (scheduler, all) => {
        const run = randomUUID();
        const ids: Ids = {
          plan: (which) => ({ project: 'p', domain: 'd', name: `plan-${which}-${run}` }),
          execution: (name) => ({ project: 'p', domain: 'd', name: `${name}-${run}` }),
        };
        const clock = { now: 1_700_000_000_000 };
        const before = await store.head();
        await runAll(scheduler, all, ids, clock);

        const plans = await plansOfAttempts(before);
        const counted = await openAfterEach(before);
        for (const open of counted) {
          const ofPlans = [...open.values()].map((attempt) => plans.get(attempt));
          for (const plan of new Set(ofPlans)) {
            const running = ofPlans.filter((each) => each === plan).length;
            expect(running).toBeLessThanOrEqual(MAX);
            if (running === MAX) full += 1;
          }
        }

        clock.now += FENCED_AFTER_MS;
        const { sessions, slots } = openProcess(store, clock);
        for (const which of [0, 1]) {
          const stream = slotsStream(ids.plan(which));
          await slots.releaseAllUnneeded(stream);
          const holders = await sessions.read(slotsAggregate, stream, ({ state }) => [...state.holders.values()]);
          const isOf = ([, attempt]: [string, string]): boolean => plans.get(attempt) === stream;
          const open = [...(counted.at(-1) ?? [])].filter(isOf).map(([name]) => name);
          expect(holders.map(({ execution }) => executionStream(execution))).toEqual(open);
          held += open.length;
        }
      }),
      { numRuns: 100 },
    );
    expect(full).toBeGreaterThan(50);
    expect(held).toBeGreaterThan(50);
  });
});
