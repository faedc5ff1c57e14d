import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { executionAggregate } from '../../../services/execution/aggregate.js';
import { WORKFLOW } from '../../../services/execution/phases.js';
import type { ExecutionCommand } from '../../../services/execution/commands.js';
import { executionCodec } from '../../../services/execution/events.js';
import { recordedMetadata } from '../../../services/kernel/decode-event.js';
import { uuidText } from '../../../services/kernel/encoding/id-text.js';
import type { RecordedEvent } from '../../../services/kernel/event.js';
import type { EventStore } from '../../../services/kernel/ports/event-store.js';
import type { Sessions } from '../../../services/kernel/ports/sessions.js';
import type { Checkpoint } from '../../../services/kernel/ports/checkpoint.js';
import type { Timers } from '../../../services/kernel/ports/timers.js';
import {
  type ExpiryOptions,
  expireTerminations,
  timeOutExecutions,
} from '../../../services/reactors/expire-terminations/reactor.js';
import { openSessions } from '../../../services/sessions/sessions.js';
import { fileCheckpoint } from '../../../services/store/file-checkpoint.js';
import { filePayloadStore } from '../../../services/store/payloads/file-payload-store.js';
import { sqliteEventStore } from '../../../services/store/log/sqlite-event-store.js';
import { manualTimers } from '../../support/manual-timers.js';
import { creation, id, node, termination, workflow } from './reports.js';
import { executionStream } from '../../../services/kernel/execution-id.js';

const START_MS = 1_700_000_000_000;
/** The time that an engine has to end a terminated execution, and the time limit of executions, in milliseconds. */
const AFTER_MS = 600_000;

let directory: string;
let store: EventStore;
let sessions: Sessions;
let commands = 0;
const stream = executionStream(id);
const aggregate = executionAggregate({ payloads: undefined as never });

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'flightlog-expire-'));
  store = await sqliteEventStore({ directory });
  sessions = openSessions({ store, payloads: filePayloadStore({ directory }), now: () => START_MS });
});

afterEach(async () => {
  await store.close();
  rmSync(directory, { recursive: true });
});

/** Handles a command of the execution. */
const run = async (command: ExecutionCommand): Promise<void> => {
  commands += 1;
  await sessions.handle(aggregate, stream, command, { actor: '', commandId: `command-${commands}` });
};

/** The types of all events of the execution. */
const types = async (): Promise<readonly string[]> => {
  const found: string[] = [];
  for await (const page of store.readStream(stream)) found.push(...page.map(({ type }) => type));
  return found;
};

/** Waits until the reactor has made a condition true. */
const until = async (isTrue: () => boolean | Promise<boolean>): Promise<void> => {
  while (!(await isTrue())) await new Promise((resolve) => setImmediate(resolve));
};

const checkpoint = (name = 'checkpoint'): Checkpoint => fileCheckpoint({ directory, name, logId: store.logId });

const options = (timers: Timers, failures: unknown[] = [], handle?: ExpiryOptions['handle']): ExpiryOptions => ({
  log: store,
  checkpoint: checkpoint(),
  handle: handle ?? ((to, command, context) => sessions.handle(aggregate, to, command, context)),
  afterMs: AFTER_MS,
  timers,
  onFailure: (error) => failures.push(error),
});

/**
 * Starts a reactor; each of its failures is added to `failures`, its commands go to `handle`, by default the sessions.
 */
const startReactor = (
  timers: Timers,
  failures: unknown[] = [],
  handle?: ExpiryOptions['handle'],
  start = expireTerminations,
) => start(options(timers, failures, handle));

/** The last event of the execution. */
const last = async (): Promise<unknown> => {
  let found: unknown;
  for await (const page of store.readStream(stream))
    for (const event of page) found = executionCodec.decode(event.type, event.data, 1);
  return found;
};

describe('a terminated execution', () => {
  it('is ended by the control plane when its engine has not ended it in time', async () => {
    const timers = manualTimers(START_MS);
    const reactor = startReactor(timers);
    await run(creation);
    await run(node('RUNNING'));
    await run(termination);
    await until(() => timers.armed() === 1);
    timers.advance(AFTER_MS - 1);
    expect(timers.armed()).toBe(1);
    timers.advance(1);
    await until(async () => (await types()).length === 4);
    const recorded: RecordedEvent[] = [];
    for await (const page of store.readStream(stream)) recorded.push(...page);
    const [requested, expired] = recorded.slice(-2);
    expect(expired!.type).toBe('ExecutionExpired');
    expect(recordedMetadata(expired!)).toMatchObject({
      actor: 'expire-terminations',
      $causationId: uuidText(requested!.id),
    });
    await reactor.close();
  });

  it('gets no event of the control plane when its engine has ended it', async () => {
    const timers = manualTimers(START_MS);
    const reactor = startReactor(timers);
    await run(creation);
    await run(termination);
    await until(() => timers.armed() === 1);
    await run(workflow('ABORTED', { second: 1 }));
    timers.advance(AFTER_MS);
    await until(async () => (await checkpoint().read()) >= 2n); // the termination has been handled
    await reactor.close();
    expect(await types()).toEqual(['ExecutionCreated', 'TerminationRequested', 'WorkflowPhaseReported']);
  });

  it('is ended after a restart too, counted from the termination, and once', async () => {
    await run(creation);
    await run(termination);
    const first = manualTimers(START_MS + AFTER_MS - 20);
    const stopped = startReactor(first);
    await until(() => first.armed() === 1);
    await stopped.close();
    for (let restart = 0; restart < 2; restart += 1) {
      const timers = manualTimers(START_MS + AFTER_MS - 10 + restart * 10);
      const reactor = startReactor(timers);
      if (restart === 0) await until(() => timers.armed() === 1);
      timers.advance(10);
      await until(async () => (await types()).length === 3);
      await reactor.close();
    }
    expect(await types()).toEqual(['ExecutionCreated', 'TerminationRequested', 'ExecutionExpired']);
  });

  it('is ended once by two reactors', async () => {
    await run(creation);
    await run(termination);
    const timers = manualTimers(START_MS);
    const reactors = ['one', 'other'].map((name) =>
      expireTerminations({ ...options(timers), checkpoint: checkpoint(name) }),
    );
    await until(() => timers.armed() === 2);
    timers.advance(AFTER_MS);
    await until(async () => (await types()).length === 3);
    await Promise.all(reactors.map((reactor) => reactor.close()));
    expect(await types()).toHaveLength(3);
  });

  it('is not handled again after a restart once it has ended', async () => {
    await run(creation);
    await run(termination);
    const settled = manualTimers(START_MS + AFTER_MS);
    const reactor = startReactor(settled);
    await until(async () => (await types()).length === 3);
    await reactor.close();
    const other = { ...id, name: 'other' };
    const otherStream = executionStream(other);
    await sessions.handle(aggregate, otherStream, { ...creation, id: other }, { actor: '', commandId: 'other' });
    await sessions.handle(aggregate, otherStream, { ...termination, id: other }, { actor: '', commandId: 'end' });
    const calls: unknown[] = [];
    const note = (to: unknown): Promise<unknown> => Promise.resolve(calls.push(to));
    const again = startReactor(manualTimers(START_MS + AFTER_MS), [], note);
    await until(() => calls.length > 0);
    await again.close();
    // The log has five events; the last is the termination of the other execution.
    expect([calls, await checkpoint().read()]).toEqual([[otherStream], 5n]);
  });

  it('is ended in time although a clock that was an hour ahead recorded an earlier termination', async () => {
    const ahead = openSessions({ store, payloads: filePayloadStore({ directory }), now: () => START_MS + 3_600_000 });
    const other = { ...id, name: 'ahead' };
    const otherStream = executionStream(other);
    await ahead.handle(aggregate, otherStream, { ...creation, id: other }, { actor: '', commandId: 'ahead' });
    await ahead.handle(aggregate, otherStream, { ...termination, id: other }, { actor: '', commandId: 'ahead-end' });
    await run(creation);
    await run(termination);
    const timers = manualTimers(START_MS);
    const calls: unknown[] = [];
    const reactor = startReactor(timers, [], (to) => Promise.resolve(calls.push(to)));
    await until(() => timers.armed() === 1);
    timers.advance(AFTER_MS);
    await until(() => calls.length === 2);
    await reactor.close();
    expect(new Set(calls)).toEqual(new Set([stream, otherStream]));
  });

  it('shares one timer with all others', async () => {
    for (let at = 0; at < 20; at += 1) {
      const other = { ...id, name: `terminated-${at}` };
      const context = { actor: '', commandId: other.name };
      await sessions.handle(aggregate, executionStream(other), { ...creation, id: other }, context);
      const command = { ...termination, id: other };
      await sessions.handle(aggregate, executionStream(other), command, { ...context, commandId: `${other.name}-end` });
    }
    const timers = manualTimers(START_MS);
    const reactor = startReactor(timers);
    await until(() => timers.armed() > 0);
    expect(timers.armed()).toBe(1);
    await reactor.close();
  });

  it('is ended by an event whose cause names the control plane, with the principal of the termination', async () => {
    await run(creation);
    await run(termination);
    const reactor = startReactor(manualTimers(START_MS + AFTER_MS));
    await until(async () => (await types()).length === 3);
    await reactor.close();
    expect(await last()).toMatchObject({
      type: 'ExecutionExpired',
      data: { cause: expect.stringContaining('ended by the control plane') as string, principal: 'ada' },
    });
  });

  it('is ended with the trace of the request that terminated it', async () => {
    const traceParent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    await run(creation);
    await sessions.handle(aggregate, stream, termination, { actor: '', commandId: 'traced', traceParent });
    const reactor = startReactor(manualTimers(START_MS + AFTER_MS));
    await until(async () => (await types()).length === 3);
    await reactor.close();
    const metadata: string[] = [];
    for await (const page of store.readStream(stream)) metadata.push(...page.map((event) => event.metadata));
    expect(JSON.parse(metadata[2]!)).toMatchObject({ traceparent: traceParent });
  });

  it('is handled by a second try when the first has failed', async () => {
    await run(creation);
    await run(termination);
    const timers = manualTimers(START_MS + AFTER_MS);
    const failures: unknown[] = [];
    let calls = 0;
    const reactor = startReactor(timers, failures, () => {
      calls += 1;
      return calls === 1 ? Promise.reject(new Error('not now')) : Promise.resolve();
    });
    await until(() => failures.length === 1 && timers.armed() === 1);
    timers.advance(5_000); // the pause before the first retry
    await until(() => calls === 2);
    await reactor.close();
  });

  it('has no timer once the reactor is closed', async () => {
    await run(creation);
    await run(termination);
    const timers = manualTimers(START_MS);
    const reactor = startReactor(timers);
    await until(() => timers.armed() === 1);
    await reactor.close();
    await expect(reactor.ended).resolves.toBeUndefined();
    expect(timers.armed()).toBe(0);
  });
});

describe('an execution whose engine reports ABORTING without a termination request', () => {
  it('is ended by the control plane when its engine has not ended it in time', async () => {
    const timers = manualTimers(START_MS);
    const reactor = startReactor(timers);
    await run(creation);
    await run(workflow('ABORTING'));
    await until(() => timers.armed() === 1);
    timers.advance(AFTER_MS);
    await until(async () => (await types()).length === 4);
    await reactor.close();
    expect(await last()).toMatchObject({
      type: 'ExecutionExpired',
      data: {
        phase: WORKFLOW.ABORTED,
        cause: expect.stringMatching(/^ended by the control plane/u) as string,
        principal: '',
      },
    });
  });

  it('gets no further event of the control plane when its engine then reports its end', async () => {
    const timers = manualTimers(START_MS);
    const reactor = startReactor(timers);
    await run(creation);
    await run(workflow('ABORTING'));
    await run(workflow('ABORTED', { second: 1 }));
    await until(() => timers.armed() === 1);
    timers.advance(AFTER_MS);
    await until(async () => (await checkpoint().read()) >= 3n); // the announced termination has been handled
    await reactor.close();
    expect(await types()).toEqual([
      'ExecutionCreated',
      'WorkflowPhaseReported',
      'TerminationAnnounced',
      'WorkflowPhaseReported',
    ]);
  });
});

describe('an execution that runs longer than execution.timeout', () => {
  /** An execution that runs, and whose termination was requested because of its time limit. */
  const timedOut = async (): Promise<void> => {
    await run(creation);
    await run(workflow('RUNNING'));
    const reactor = startReactor(manualTimers(START_MS + AFTER_MS), [], undefined, timeOutExecutions);
    await until(async () => (await types()).length === 3);
    await reactor.close();
  };

  it('gets a termination request that names the timeout', async () => {
    await timedOut();
    expect(await last()).toMatchObject({
      type: 'TerminationRequested',
      data: { cause: 'execution.timeout of 600 s is over', timedOut: true },
    });
  });

  it('is TIMED_OUT when its engine reports ABORTED, and a repetition of that report is recognized', async () => {
    await timedOut();
    await run(workflow('ABORTED', { second: 9 }));
    expect(await last()).toMatchObject({ type: 'WorkflowPhaseReported', data: { phase: WORKFLOW.TIMED_OUT } });
    const again = await sessions.handle(aggregate, stream, workflow('ABORTED', { second: 9 }), {
      actor: '',
      commandId: 'again',
    });
    expect(again).toMatchObject({ kind: 'refused', refusal: { kind: 'phase-recorded' } });
  });

  it.each(['SUCCEEDED', 'FAILED'] as const)('is %s when its engine reports that', async (phase) => {
    await timedOut();
    await run(workflow(phase, { second: 9 }));
    expect(await last()).toMatchObject({ data: { phase: WORKFLOW[phase] } });
  });

  it('is TIMED_OUT when its engine never answers', async () => {
    await timedOut();
    const reactor = startReactor(manualTimers(START_MS + AFTER_MS));
    await until(async () => (await types()).length === 4);
    await reactor.close();
    expect(await last()).toMatchObject({ type: 'ExecutionExpired', data: { phase: WORKFLOW.TIMED_OUT } });
  });

  it('gets no termination request when it has ended or is being aborted', async () => {
    const ended = { ...id, name: 'ended' };
    const endedStream = executionStream(ended);
    await sessions.handle(aggregate, endedStream, { ...creation, id: ended }, { actor: '', commandId: 'ended' });
    const failure = { ...workflow('FAILED'), id: ended };
    await sessions.handle(aggregate, endedStream, failure, { actor: '', commandId: 'failed' });
    await run(creation);
    await run(termination);
    const handled: unknown[] = [];
    const noting: ExpiryOptions['handle'] = async (to, command, context) => {
      await sessions.handle(aggregate, to, command, context);
      handled.push(to);
    };
    const reactor = startReactor(manualTimers(START_MS + AFTER_MS), [], noting, timeOutExecutions);
    await until(() => handled.length > 0);
    await reactor.close();
    expect(handled).toEqual([stream]);
    expect(await types()).toEqual(['ExecutionCreated', 'TerminationRequested']);
  });
});
