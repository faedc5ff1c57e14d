import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { executionAggregate } from '../../../services/execution/aggregate.js';
import type { ExecutionCommand } from '../../../services/execution/commands.js';
import { executionCodec } from '../../../services/execution/events.js';
import { bytesOf, type PayloadStore } from '../../../services/kernel/ports/payload-store.js';
import type { EventStore } from '../../../services/kernel/ports/event-store.js';
import { openSessions } from '../../../services/sessions/sessions.js';
import { filePayloadStore } from '../../../services/store/payloads/file-payload-store.js';
import { sqliteEventStore } from '../../../services/store/log/sqlite-event-store.js';
import { creation, id, node, workflow } from './reports.js';
import { executionStream } from '../../../services/kernel/execution-id.js';

let directory: string;
let store: EventStore;
let payloads: PayloadStore;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'flightlog-large-'));
  store = await sqliteEventStore({ directory });
  payloads = filePayloadStore({ directory });
});

afterEach(async () => {
  await payloads.close();
  await store.close();
  rmSync(directory, { recursive: true });
});

let commands = 0;

/** Starts as a process does. Gives the function that handles a command and returns `OK` or the kind of the refusal. */
const openRun = () => {
  // More requests wait at once than a server admits.
  const sessions = openSessions({ store, payloads, now: Date.now, admits: { starts: Infinity, others: Infinity } });
  const aggregate = executionAggregate({ payloads });
  return async (command: ExecutionCommand): Promise<string> => {
    commands += 1;
    const context = { actor: '', commandId: `command-${commands}` };
    const outcome = await sessions.handle(aggregate, executionStream(id), command, context);
    return outcome.kind === 'refused' ? outcome.refusal.kind : 'OK';
  };
};

const recorded = async () => {
  const events = [];
  for await (const page of store.readStream(executionStream(id)))
    for (const { type, data } of page) events.push(executionCodec.decode(type, data, 1));
  return events;
};

/** Literals of 20,000 bytes each; an event of more than 64 KiB is too large. */
const literals = (names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, { hash: name.repeat(20_000), value: { case: undefined } }]));

const withOutputs = (...names: readonly string[]) =>
  node('SUCCEEDED', { outputResult: { case: 'outputData', value: { literals: literals(names) } } as never });

describe('an event that is too large for the log', () => {
  it('has its whole message in the payload store', async () => {
    const run = openRun();
    await run(creation);
    const command = withOutputs('a', 'b', 'c', 'd');
    expect(await run(command)).toBe('OK');
    const last = (await recorded()).at(-1);
    if (last?.type !== 'NodePhaseReported') throw new Error('the event was not recorded');
    expect(last.data.message.content.case).toBe('ref');
    expect(Buffer.from(await bytesOf(last.data.message, payloads))).toEqual(Buffer.from(command.envelope.message));
  });

  it('is recognized as recorded, with its maps in any order, also after a restart', async () => {
    const first = openRun();
    await first(creation);
    await first(withOutputs('a', 'b', 'c', 'd'));
    for (const run of [first, openRun()]) {
      expect(await run(withOutputs('a', 'b', 'c', 'd'))).toBe('phase-recorded');
      expect(await run(withOutputs('d', 'c', 'b', 'a'))).toBe('phase-recorded');
    }
    expect(await recorded()).toHaveLength(2);
  });

  it('may end an execution with 10,000 open nodes', async () => {
    const run = openRun();
    await run(creation);
    await run(workflow('RUNNING'));
    const one = node('RUNNING');
    const names = Array.from({ length: 10_000 }, (_, at) => `a-node-with-a-longer-name-${at}`);
    await Promise.all(names.map((nodeId) => run({ ...one, envelope: { ...one.envelope, nodeId } })));
    expect(await run(workflow('FAILED', { second: 9 }))).toBe('OK');
    const events = await recorded();
    expect(events).toHaveLength(10_003); // the creation, the phase RUNNING, the nodes, the end
    const last = events.at(-1);
    expect(last?.type === 'WorkflowPhaseReported' && last.data.closed?.content.case).toBe('ref');
    expect(await openRun()(node('RUNNING', { node: names[5]!, second: 10 }))).toBe('already-terminal');
  }, 30_000);
});
