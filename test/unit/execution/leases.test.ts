import { create } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { WorkReturnedSchema } from '../../../proto/gen/platformidl/eventlog/execution_pb.js';
import type { ExecutionCommand, LeaseWork, ReturnWork } from '../../../services/execution/commands.js';
import { executionDecider } from '../../../services/execution/decider.js';
import type { ExecutionEvent } from '../../../services/execution/events.js';
import { expiry, creation, id, node, openStream, task, termination, workflow } from './reports.js';

/** The end of each lease, in milliseconds since 1970; the decider does not compare it with the time. */
const UNTIL_MS = 1_700_000_030_000;

/** Leases the execution to an engine. `over` is the number of the lease before, when that is over. */
const leaseTo = (engine: string, over?: number, producerId = engine): LeaseWork => ({
  type: 'LeaseWork',
  id,
  to: { group: 'default', engine, session: `session of ${engine}`, producerId },
  untilMs: UNTIL_MS,
  over,
});

const returnBy = (engine: string, number: number): ReturnWork => ({
  type: 'ReturnWork',
  id,
  number,
  session: `session of ${engine}`,
  reason: 'going home',
});

describe('a lease of an execution', () => {
  it('is given to an engine, with the number 1', () => {
    const stream = openStream(creation, leaseTo('a'));
    expect(stream.events().slice(1)).toMatchObject([
      { type: 'WorkLeased', data: { number: 1n, engine: 'a', session: 'session of a', producerId: 'a' } },
    ]);
  });

  it.each<[string, readonly ExecutionCommand[], LeaseWork, string]>([
    ['an execution that is not there', [], leaseTo('a'), 'execution-not-found'],
    ['one that has ended', [creation, workflow('FAILED')], leaseTo('a'), 'execution-ended'],
    ['one that another engine has', [creation, leaseTo('a')], leaseTo('b'), 'lease-held'],
    ['one whose newest lease is not over', [creation, leaseTo('a'), leaseTo('b', 1)], leaseTo('c', 1), 'lease-held'],
    [
      'one that an engine without a lease has begun',
      [creation, workflow('RUNNING')],
      leaseTo('a'),
      'runs-without-lease',
    ],
  ])('is refused for %s', async (_, past, command, kind) => {
    const stream = openStream(...past);
    expect(await stream.answer(command)).toBe(kind);
  });

  it.each<[string, readonly ExecutionCommand[], LeaseWork]>([
    ['has been returned', [creation, leaseTo('a'), returnBy('a', 1)], leaseTo('b')],
    ['is over', [creation, leaseTo('a')], leaseTo('b', 1)],
    [
      'is over after a report of its engine',
      [creation, leaseTo('a'), workflow('RUNNING', { producer: 'a' })],
      leaseTo('b', 1),
    ],
    ['is over while the execution is ABORTING', [creation, leaseTo('a'), termination], leaseTo('b', 1)],
  ])('follows another that %s', async (_, past, command) => {
    const stream = openStream(...past);
    expect(await stream.answer(command)).toBe('OK');
    expect(stream.state().lease).toMatchObject({ number: 2, engine: 'b', isHeld: true });
  });

  it('is returned once, by the session that has it', async () => {
    const stream = openStream(creation, leaseTo('a'));
    expect(await stream.answer(returnBy('b', 1))).toBe('lease-lost');
    expect(await stream.answer(returnBy('a', 2))).toBe('lease-lost');
    expect([await stream.answer(returnBy('a', 1)), await stream.answer(returnBy('a', 1))]).toEqual(['OK', 'OK']);
    expect(stream.events().filter(({ type }) => type === 'WorkReturned')).toHaveLength(1);
    expect(await openStream().answer(returnBy('a', 1))).toBe('execution-not-found');
  });

  it('is not returned when there is none', async () => {
    // The refusal names the session that returns it as the producer.
    const refusal = { kind: 'lease-lost', producer: 'session of a', engine: '' };
    expect(await openStream(creation).refusal(returnBy('a', 1))).toEqual(refusal);
  });

  it('is not changed by the return of another lease', () => {
    const returned = { type: 'WorkReturned', data: create(WorkReturnedSchema, { number: 1n }) } as const;
    const leaseAfter = (...past: readonly ExecutionCommand[]) =>
      executionDecider.evolve(openStream(...past).state(), returned).lease;
    expect(leaseAfter(creation, leaseTo('a'), leaseTo('b', 1))).toMatchObject({ number: 2, isHeld: true });
    expect(leaseAfter(creation)).toBeUndefined();
  });

  it('is not returned after the end of its execution', () => {
    const stream = openStream(creation, leaseTo('a'), workflow('SUCCEEDED', { producer: 'a' }), returnBy('a', 1));
    expect(stream.events().at(-1)?.type).toBe('WorkflowPhaseReported');
  });
});

describe('a report of an execution that was leased', () => {
  it.each([
    ['its engine', 'b', 'OK'],
    ['the engine before', 'a', 'lease-lost'],
    ['an engine that never had a lease', 'c', 'lease-lost'],
    ['an engine without a name', '', 'lease-lost'],
  ])('by %s, producer %j, is answered with %s', async (_, producer, answer) => {
    const past = [creation, leaseTo('a'), workflow('RUNNING', { producer: 'a' }), leaseTo('b', 1)];
    expect(await openStream(...past).answer(node('RUNNING', { producer }))).toBe(answer);
  });

  it.each([
    [
      'a node under a lease of a bridge',
      'OK',
      leaseTo('bridge', undefined, 'propeller'),
      node('RUNNING', { node: 'n1' }),
    ],
    ['a task under a lease of a bridge', 'OK', leaseTo('bridge', undefined, 'east'), task('RUNNING')],
    ['a task under a lease of an engine named propeller', 'OK', leaseTo('propeller'), task('RUNNING')],
    ['a task under a lease of another engine', 'lease-lost', leaseTo('a'), task('RUNNING')],
    ['a workflow', 'lease-lost', leaseTo('bridge', undefined, 'east'), workflow('SUCCEEDING')],
  ])('without a producer, of %s, is answered with %s', async (_, answer, lease, report) => {
    const { producerId: producer } = lease.to;
    const stream = openStream(creation, lease, workflow('RUNNING', { producer }), node('RUNNING', { producer }));
    expect(await stream.answer(report)).toBe(answer);
  });

  it('by an engine that has returned its lease is refused', async () => {
    const stream = openStream(creation, leaseTo('a'), returnBy('a', 1));
    expect(await stream.refusal(workflow('RUNNING', { producer: 'a' }))).toEqual({
      kind: 'lease-lost',
      producer: 'a',
      engine: '',
    });
  });

  it('continues from the phase that the engine before has reported', async () => {
    const stream = openStream(creation, leaseTo('a'), workflow('RUNNING', { producer: 'a' }), leaseTo('b', 1));
    expect(await stream.answer(workflow('SUCCEEDING', { producer: 'b', second: 1 }))).toBe('OK');
    expect(await stream.answer(workflow('SUCCEEDED', { producer: 'b', second: 2 }))).toBe('OK');
  });

  it('is not needed for the execution to expire', async () => {
    expect(await openStream(creation, leaseTo('a'), termination).answer(expiry)).toBe('OK');
  });
});

const ENGINES = ['a', 'b', 'c'] as const;
const engine = fc.constantFrom(...ENGINES);
const number = fc.integer({ min: 1, max: 4 });

const command: fc.Arbitrary<ExecutionCommand> = fc.oneof(
  fc.tuple(engine, fc.option(number, { nil: undefined })).map(([to, over]) => leaseTo(to, over)),
  fc.tuple(engine, number).map(([by, of]) => returnBy(by, of)),
  fc
    .tuple(engine, fc.constantFrom('QUEUED', 'RUNNING', 'SUCCEEDING'), fc.nat(9))
    .map(([producer, phase, second]) => workflow(phase as 'RUNNING', { producer, second })),
);

describe('any sequence of leases, returns and reports', () => {
  it('has one holder at a time, and records the reports of no other', async () => {
    const compared = { leases: 0, reports: 0 };
    type Held = { readonly by: string | undefined; readonly number: bigint };

    /** Compares an event with the lease before it and the command that it came from; gives the lease after it. */
    const after = (held: Held, { type, data }: ExecutionEvent, cause: ExecutionCommand): Held => {
      if (type === 'WorkLeased') {
        expect(data.number).toBe(held.number + 1n);
        // Only a command that names the lease before as over takes it from its holder.
        if (held.by !== undefined) expect(cause).toMatchObject({ over: Number(held.number) });
        compared.leases += 1;
        return { by: data.engine, number: data.number };
      }
      if (type === 'WorkReturned') {
        expect(cause).toMatchObject({ session: `session of ${held.by}`, number: Number(held.number) });
        return { ...held, by: undefined };
      }
      if (type !== 'WorkflowPhaseReported') return held;
      expect(data.producerId).toBe(held.by);
      compared.reports += 1;
      return held;
    };

    const property = fc.asyncProperty(fc.array(command, { maxLength: 30 }), async (commands) => {
      const stream = openStream(creation, leaseTo('a'));
      let held: Held = { by: 'a', number: 1n };
      for (const each of commands) {
        const before = stream.recorded.length;
        await stream.refusal(each);
        for (const event of stream.events().slice(before)) held = after(held, event, each);
      }
    });
    await fc.assert(property, { numRuns: 200 });
    expect(compared.leases).toBeGreaterThan(20);
    expect(compared.reports).toBeGreaterThan(20);
  });
});
