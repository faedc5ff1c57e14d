import { create, type DescMessage, type MessageInitShape, type MessageShape } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import { WorkflowExecution_Phase as Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import type { InterfaceClient } from '../../../engine/client.js';
import { STARTED, createFindWork, ENDING, WAITING } from '../../../engine/find-work.js';
import { createActiveExecutions } from '../../../engine/active-executions.js';
import { nextPause } from '../../../engine/poller.js';
import type { Walk } from '../../../engine/walk/effects.js';
import { drive, nextRest } from '../../../engine/walk-execution.js';

/** The answer to each RPC, by its name. */
const ANSWERS: Readonly<Record<string, object>> = {
  ListProjects: { projects: [{ id: 'one' }, { id: 'two' }] },
  GetDomains: { domains: [{ id: 'development' }, { id: 'production' }] },
  ListExecutions: { executions: [{ id: { name: 'a' }, closure: { phase: Phase.QUEUED } }] },
};

/** A control plane; `calls` gives the methods that were called since it was last read, sorted. */
const countingClient = () => {
  const methods: string[] = [];
  const client: InterfaceClient = {
    send: () => Promise.reject(new Error('nothing is reported here')),
    close: () => undefined,
    call: <Input extends DescMessage, Output extends DescMessage>(
      method: { readonly name: string; readonly output: Output },
      _request: MessageInitShape<Input>,
    ): Promise<MessageShape<Output>> => {
      methods.push(method.name);
      return Promise.resolve(create(method.output, ANSWERS[method.name] as MessageInitShape<Output>));
    },
  };
  const calls = (): readonly string[] => methods.splice(0).sort();
  return { client, calls };
};

/** Twenty pauses in milliseconds, each from the one before; the first is from 20. */
const twentyPauses = (next: (ms: number) => number): readonly number[] => {
  let ms = 20;
  return Array.from({ length: 20 }, () => (ms = next(ms)));
};

describe('an engine that polls', () => {
  it('lists projects at each poll, domains once, and executions of all phases once in each domain of each project', async () => {
    const { client, calls } = countingClient();
    const findWork = createFindWork(client);
    const countFound = async (): Promise<number> => {
      let found = 0;
      for await (const { closure } of findWork([...ENDING, ...WAITING, ...STARTED])) found += closure ? 1 : 0;
      return found;
    };
    expect(await countFound()).toBe(4);
    expect(calls()).toEqual(['GetDomains', ...Array<string>(4).fill('ListExecutions'), 'ListProjects']);
    expect(await countFound()).toBe(4);
    expect(calls()).toEqual([...Array<string>(4).fill('ListExecutions'), 'ListProjects']);
  });

  it('pauses up to 1 s, or 5 s when the server wakes it, and 20 ms after a poll in which it acted', () => {
    const [idle, acted] = [false, true];
    const [alone, woken] = [false, true];
    const pauses = twentyPauses((ms) => nextPause(ms, idle, alone));
    expect(pauses[0]).toBe(30);
    expect(pauses.at(-1)).toBe(1_000);
    expect(twentyPauses((ms) => nextPause(ms, idle, woken)).at(-1)).toBe(5_000);
    expect(nextPause(1_000, acted, alone)).toBe(20);
  });

  it('rests up to 1 s, or 20 ms per execution when that is more, while rounds only wait; else 20 ms', () => {
    const [waits, hasMoved] = [false, true];
    expect(twentyPauses((ms) => nextRest(ms, waits, 1)).at(-1)).toBe(1_000);
    expect(twentyPauses((ms) => nextRest(ms, waits, 200)).at(-1)).toBe(4_000);
    expect(nextRest(4_000, hasMoved, 200)).toBe(20);
  });

  it('rests longer after each round in which the whole execution waits', async () => {
    const held = createActiveExecutions().add('an execution');
    const effect = { kind: 'await-time', nodeId: 'n0', milliseconds: 1, reply: () => undefined } as const;
    function* waiting(): Walk<Phase> {
      for (;;) yield [effect];
    }
    const rounds: number[] = [];
    const perform = (): Promise<'gate'> => {
      rounds.push(performance.now());
      if (rounds.length === 7) held.abortCause = 'seen enough';
      return Promise.resolve('gate');
    };
    await drive(waiting(), perform, held, { signal: new AbortController().signal, activeCount: () => 1 });
    const [before = 0, last = 0] = rounds.slice(-2);
    expect(last - before).toBeGreaterThan(100); // the sixth rest; the first takes 20 ms, each other half as long again
  });
});
