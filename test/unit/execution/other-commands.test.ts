import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import { ExecutionState } from '../../../proto/gen/platformidl/admin/execution_pb.js';
import { LiteralTypeSchema } from '../../../proto/gen/platformidl/core/types_pb.js';
import { ExecutionCreatedSchema } from '../../../proto/gen/platformidl/eventlog/execution_pb.js';
import { executionAggregate } from '../../../services/execution/aggregate.js';
import type { ExecutionCommand } from '../../../services/execution/commands.js';
import { WORKFLOW } from '../../../services/execution/phases.js';
import type { PayloadStore } from '../../../services/kernel/ports/payload-store.js';
import { creation, creationOf, expiry, id, node, openStream, task, termination, workflow } from './reports.js';

const voidOf = (attempt: string) => ({ type: 'VoidExecution', id, attempt }) as const;
/** Requests the termination of an execution that has run for 90 s, its time limit. */
const timeOut = { type: 'TimeOutExecution', id, afterMs: 90_000 } as const;
const lastEvent = (...commands: readonly ExecutionCommand[]) =>
  openStream(...commands)
    .events()
    .at(-1);

describe('an attempt to create an execution', () => {
  it('that was voided creates nothing, and another one does', async () => {
    const stream = openStream(voidOf('a'));
    expect(stream.events()).toMatchObject([{ type: 'ExecutionVoided', data: { attempt: 'a' } }]);
    expect(await stream.answer(voidOf('b'))).toBe('OK');
    for (const attempt of ['a', 'b']) expect(await stream.answer(creationOf(id, attempt))).toBe('execution-voided');
    expect(await stream.answer(creationOf(id, 'c'))).toBe('OK');
    expect(stream.state().slotAttempt).toBe('c');
  });

  it('is voided once, and not when the execution exists', () => {
    expect(openStream(voidOf('a'), voidOf('a')).recorded).toHaveLength(1);
    expect(openStream(creation, voidOf('a')).recorded).toHaveLength(1);
  });
});

describe('an execution that has run longer than execution.timeout', () => {
  it('gets a termination request that names the timeout', () => {
    expect(lastEvent(creation, timeOut)).toMatchObject({
      type: 'TerminationRequested',
      data: { id, cause: 'execution.timeout of 90 s is over', principal: '', timedOut: true },
    });
  });

  it.each([
    ['it is not there', []],
    ['it is ABORTING', [creation, termination]],
    ['it has ended', [creation, workflow('FAILED')]],
  ])('gets no termination request when %s', (_, past) => {
    expect(openStream(...past, timeOut).recorded).toHaveLength(past.length);
  });

  it.each([
    ['its engine aborts it', workflow('ABORTED'), 'TIMED_OUT'],
    ['the control plane ends it', expiry, 'TIMED_OUT'],
    ['its engine fails it', workflow('FAILED'), 'FAILED'],
    ['its engine reports its success', workflow('SUCCEEDED'), 'SUCCEEDED'],
  ] as const)('is TIMED_OUT at its end unless its engine reports another end than ABORTED: %s', (_, end, phase) => {
    expect(openStream(creation, timeOut, end).state().phase).toBe(WORKFLOW[phase]);
    expect(openStream(creation, timeOut, termination, end).state().phase).toBe(WORKFLOW[phase]);
  });
});

it('an execution that its engine began to abort expires with the control plane as cause, and without a principal', () => {
  const event = lastEvent(creation, workflow('ABORTING'), expiry);
  expect(event).toMatchObject({
    type: 'ExecutionExpired',
    data: {
      phase: WORKFLOW.ABORTED,
      cause: 'ended by the control plane, because the engine had not ended it within 600 s',
      principal: '',
    },
  });
});

it('open nodes and attempts of an execution stay open while it is RUNNING', () => {
  const { nodes } = openStream(creation, node('RUNNING'), task('RUNNING'), workflow('RUNNING')).state();
  expect(nodes.get('n0')).toMatchObject({ isInferred: false, tasks: [{ isInferred: false }] });
});

it('the phase version of an attempt whose end was only inferred does not count', async () => {
  const ended = [creation, node('RUNNING'), task('RUNNING', { version: 3 }), workflow('FAILED', { second: 1 })];
  const stream = openStream(...ended, task('ABORTED', { second: 2 }));
  expect(await stream.answer(task('ABORTED', { second: 3, version: 1 }))).toBe('already-terminal');
});

it('a lease of the default producer leaves an execution to every cluster', () => {
  const to = { group: 'default', engine: 'e', session: 's', producerId: 'propeller' };
  const lease = { type: 'LeaseWork', id, to, untilMs: 0, over: undefined } as const;
  expect(openStream(creation, lease).state().cluster).toBe('');
});

describe('an update', () => {
  const created = create(ExecutionCreatedSchema, { id, spec: { tags: ['a', 'b'] } });
  const tagged = (...tags: string[]) =>
    ({ type: 'UpdateExecution', id, state: ExecutionState.EXECUTION_ACTIVE, tags, principal: 'ada' }) as const;

  it.each([[['a', 'b']], [['a', 'c']], [['c', 'b']], [['a']], [['a', 'b', 'c']], [[]]])(
    'to the tags %j records them unless they are those of the execution',
    (tags) => {
      const events = openStream({ ...creation, created }, tagged(...tags)).events();
      const isSame = tags.join() === 'a,b';
      expect(events.slice(1)).toMatchObject(isSame ? [] : [{ type: 'ExecutionTagged', data: { tags } }]);
    },
  );

  it('to no tags records nothing when the execution was created without a spec', () => {
    expect(openStream({ ...creation, created: create(ExecutionCreatedSchema) }, tagged()).recorded).toHaveLength(1);
  });
});

describe('the aggregate of executions', () => {
  const aggregate = executionAggregate({ payloads: {} as PayloadStore });
  const update = {
    type: 'UpdateExecution',
    id,
    state: ExecutionState.EXECUTION_ACTIVE,
    tags: undefined,
    principal: '',
  } as const;
  const signal = { type: 'CreateSignal', id, signalId: 'go', wanted: create(LiteralTypeSchema) } as const;
  const [value, isCastableTo] = [new Uint8Array(), () => true];
  const set = { type: 'SetSignal', id, signalId: 'stop', value, digest: value, isCastableTo, principal: '' } as const;

  it.each<[string, string, string, ExecutionCommand]>([
    ['a creation', 'start', '', creation],
    ['an update', 'progress', '', update],
    ['a termination', 'end', '', termination],
    ['the phase RUNNING of the workflow', 'progress', '', workflow('RUNNING')],
    ['the phase FAILED of the workflow', 'end', '', workflow('FAILED')],
    ['the phase RUNNING of a node', 'progress', '["n0",null,0]', node('RUNNING')],
    ['the phase FAILED of a node', 'end', '["n0",null,0]', node('FAILED')],
    ['the creation of a signal', 'end', '["go"]', signal],
    ['the value of a signal', 'end', '["stop"]', set],
  ])('gives %s the urgency %s and the target %j', (_, urgency, target, command) => {
    expect(aggregate.urgencyOf?.(command)).toBe(urgency);
    expect(aggregate.targetOf?.(command)).toBe(target);
  });

  it('gives each attempt of a task a target of its own', () => {
    const targets = [task('RUNNING'), task('RUNNING', { attempt: 1 }), task('RUNNING', { node: 'n1' })];
    expect(new Set(targets.map((each) => aggregate.targetOf?.(each))).size).toBe(3);
  });

  it('creates a stream by the creation of an execution alone, and stores its payloads under its name', () => {
    expect([creation, termination].map((each) => aggregate.createsStream?.(each))).toEqual([true, false]);
    expect(aggregate.payloadScope(creation)).toBe('runs/flytesnacks/development/run');
  });

  it('is over once the execution has ended', () => {
    const isOver = (...past: readonly ExecutionCommand[]) => aggregate.isOver?.(openStream(...past).state());
    expect([isOver(creation), isOver(creation, termination), isOver(creation, workflow('FAILED'))]).toEqual([
      false,
      false,
      true,
    ]);
  });
});
