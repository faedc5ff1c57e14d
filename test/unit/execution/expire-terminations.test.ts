import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { executionAggregate, executionStream } from '../../../services/execution/aggregate.js';
import type { ExecutionCommand } from '../../../services/execution/commands.js';
import { executionCodec } from '../../../services/execution/events.js';
import type { EventStore } from '../../../services/kernel/event-store.js';
import type { Sessions } from '../../../services/kernel/sessions.js';
import { expireTerminations, type Timers } from '../../../services/reactors/expire-terminations/reactor.js';
import { openSessions } from '../../../services/sessions/sessions.js';
import { filePayloadStore } from '../../../services/store/file-payload-store.js';
import { sqliteEventStore } from '../../../services/store/sqlite-event-store.js';
import { creation, id, node, termination, workflow } from './reports.js';

const START = 1_700_000_000_000;
const AFTER_MS = 600_000;

/** A clock that is moved by hand. */
const handTimers = (
  start: number,
): Timers & { readonly advance: (ms: number) => void; readonly armed: () => number } => {
  let now = start;
  const waiting = new Set<{ readonly at: number; readonly run: () => void }>();
  return {
    now: () => now,
    after: (delayMs, run) => {
      const entry = { at: now + Math.max(0, delayMs), run };
      waiting.add(entry);
      return () => waiting.delete(entry);
    },
    advance: (ms) => {
      now += ms;
      for (const entry of waiting) {
        if (entry.at > now) continue;
        waiting.delete(entry);
        entry.run();
      }
    },
    armed: () => waiting.size,
  };
};

let directory: string;
let store: EventStore;
let sessions: Sessions;
let commands = 0;
const stream = executionStream(id);
const aggregate = executionAggregate({ payloads: undefined as never });

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'flightlog-expire-'));
  store = await sqliteEventStore({ directory });
  sessions = openSessions({ store, payloads: filePayloadStore({ directory }), now: () => START });
});

afterEach(async () => {
  await store.close();
  rmSync(directory, { recursive: true });
});

const run = async (command: ExecutionCommand): Promise<void> => {
  commands += 1;
  await sessions.handle(aggregate, stream, command, { actor: '', commandId: `command-${commands}` });
};

const types = async (): Promise<readonly string[]> => {
  const found: string[] = [];
  for await (const page of store.readStream(stream)) found.push(...page.map(({ type }) => type));
  return found;
};

/** Resolves when a condition of the reactor's own making has come true. */
const until = async (isTrue: () => boolean | Promise<boolean>): Promise<void> => {
  while (!(await isTrue())) await new Promise((resolve) => setImmediate(resolve));
};

const open = (timers: Timers, failures: unknown[] = [], expire?: () => Promise<unknown>) =>
  expireTerminations({
    log: store,
    expire: expire ?? ((to, command, context) => sessions.handle(aggregate, to, command, context)),
    afterMs: AFTER_MS,
    timers,
    onFailure: (error) => failures.push(error),
  });

describe('a terminated execution', () => {
  it('is ended once its engine has had its time', async () => {
    const timers = handTimers(START);
    const reactor = open(timers);
    await run(creation);
    await run(node('RUNNING'));
    await run(termination);
    await until(() => timers.armed() === 1);
    timers.advance(AFTER_MS - 1);
    expect(await types()).toHaveLength(3);
    timers.advance(1);
    await until(async () => (await types()).length === 4);
    expect((await types()).at(-1)).toBe('ExecutionExpired');
    await reactor.close();
  });

  it('is left alone when its engine has ended it', async () => {
    const timers = handTimers(START);
    const reactor = open(timers);
    await run(creation);
    await run(termination);
    await until(() => timers.armed() === 1);
    await run(workflow('ABORTED', { second: 1 }));
    timers.advance(AFTER_MS);
    await reactor.close();
    expect(await types()).toEqual(['ExecutionCreated', 'TerminationRequested', 'EngineReported']);
  });

  it('is ended after a restart too, counted from the termination, and once', async () => {
    await run(creation);
    await run(termination);
    for (let restart = 0; restart < 2; restart += 1) {
      const timers = handTimers(START + AFTER_MS - 10);
      const reactor = open(timers);
      await until(() => timers.armed() === 1);
      timers.advance(10);
      await until(async () => (await types()).length === 3);
      await reactor.close();
    }
    expect(await types()).toEqual(['ExecutionCreated', 'TerminationRequested', 'ExecutionExpired']);
  });

  it('says in its abort metadata that the control plane has ended it', async () => {
    await run(creation);
    await run(termination);
    const timers = handTimers(START + AFTER_MS);
    const reactor = open(timers);
    await until(() => timers.armed() === 1);
    timers.advance(0);
    await until(async () => (await types()).length === 3);
    await reactor.close();
    for await (const page of store.readStream(stream, { from: 2n }))
      expect(executionCodec.decode(page[0]!.type, page[0]!.data, 1)).toMatchObject({
        type: 'ExecutionExpired',
        data: { cause: expect.stringContaining('ended by the control plane') as string, principal: 'ada' },
      });
  });

  it('is tried again when the store fails', async () => {
    await run(creation);
    await run(termination);
    const timers = handTimers(START + AFTER_MS);
    const failures: unknown[] = [];
    let calls = 0;
    const reactor = open(timers, failures, () => {
      calls += 1;
      return calls === 1 ? Promise.reject(new Error('not now')) : Promise.resolve();
    });
    await until(() => timers.armed() === 1);
    timers.advance(0);
    await until(() => failures.length === 1 && timers.armed() === 1);
    timers.advance(5_000);
    await until(() => calls === 2);
    await reactor.close();
  });

  it('keeps no timer once the reactor is closed', async () => {
    await run(creation);
    await run(termination);
    const timers = handTimers(START);
    const reactor = open(timers);
    await until(() => timers.armed() === 1);
    await reactor.close();
    await expect(reactor.ended).resolves.toBeUndefined();
    expect(timers.armed()).toBe(0);
  });
});
