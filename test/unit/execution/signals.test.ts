import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import { WorkflowExecution_Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import { type LiteralType, LiteralTypeSchema, SimpleType } from '../../../proto/gen/platformidl/core/types_pb.js';
import { SignalCreatedSchema, SignalSetSchema } from '../../../proto/gen/platformidl/eventlog/execution_pb.js';
import { executionDecider } from '../../../services/execution/decider.js';
import type { ExecutionEvent } from '../../../services/execution/events.js';
import { sizeOfState } from '../../../services/execution/state.js';
import { given } from '../../support/streams/given.js';
import { creation } from './reports.js';

const { id, created } = creation;
const CREATED: ExecutionEvent = { type: 'ExecutionCreated', data: created };
const { ABORTED, QUEUED } = WorkflowExecution_Phase;

const simple = (value: SimpleType): LiteralType => create(LiteralTypeSchema, { type: { case: 'simple', value } });
const INTEGER = simple(SimpleType.INTEGER);
const STRING = simple(SimpleType.STRING);

const signalCreated = (signalId: string, type = INTEGER): ExecutionEvent => ({
  type: 'SignalCreated',
  data: create(SignalCreatedSchema, { id, signalId, type }),
});
/** The value is this byte, and the digest is the byte twice. */
const signalSet = (signalId: string, byte: number): ExecutionEvent => ({
  type: 'SignalSet',
  data: create(SignalSetSchema, {
    signalId,
    value: { content: { case: 'inline', value: new Uint8Array([byte]) } },
    digest: new Uint8Array([byte, byte]),
    principal: 'ada',
  }),
});
const ended: ExecutionEvent = {
  type: 'ExecutionExpired',
  data: { $typeName: 'platformidl.eventlog.ExecutionExpired', phase: ABORTED, cause: '', principal: '' },
};
const terminated: ExecutionEvent = {
  type: 'TerminationRequested',
  data: { $typeName: 'platformidl.eventlog.TerminationRequested', cause: 'enough', principal: 'ada', timedOut: false },
};

/** The command of a gate that waits for a signal. */
const createSignal = (signalId: string, wanted = INTEGER) => ({ type: 'CreateSignal', id, signalId, wanted }) as const;
/** The command that sets the value of a signal: this byte, with the byte twice as digest. */
const setSignal = (signalId: string, byte: number, isCastable = true) =>
  ({
    type: 'SetSignal',
    id,
    signalId,
    value: new Uint8Array([byte]),
    digest: new Uint8Array([byte, byte]),
    isCastableTo: () => isCastable,
    principal: 'ada',
  }) as const;

const folded = (...facts: readonly ExecutionEvent[]) =>
  facts.reduce((state, fact) => executionDecider.evolve(state, fact), executionDecider.initial());

describe('a signal', () => {
  it('is created once when a gate asks for it', () => {
    given(executionDecider, CREATED).when(createSignal('go')).then(signalCreated('go'));
    given(executionDecider, CREATED, signalCreated('go')).when(createSignal('go')).thenNothing();
    given(executionDecider, CREATED, signalCreated('go')).when(createSignal('stop')).then(signalCreated('stop'));
  });

  it('is not created again with another type', () => {
    given(executionDecider, CREATED, signalCreated('go'))
      .when(createSignal('go', STRING))
      .thenRefused({ kind: 'signal-type-differs', signalId: 'go', type: INTEGER });
  });

  it('is not created for an unknown execution', () => {
    given(executionDecider).when(createSignal('go')).thenRefused({ kind: 'execution-not-found' });
  });

  it('is not created after its execution has ended, but a request for an existing one is accepted', () => {
    given(executionDecider, CREATED, ended)
      .when(createSignal('go'))
      .thenRefused({ kind: 'execution-ended', current: ABORTED });
    given(executionDecider, CREATED, signalCreated('go'), ended).when(createSignal('go')).thenNothing();
  });

  it('is not created in an execution that has ten thousand, but a request for an existing one is accepted', () => {
    const many = Array.from({ length: 10_000 }, (_, index) => signalCreated(`s${index}`));
    given(executionDecider, CREATED, ...many)
      .when(createSignal('go'))
      .thenRefused({ kind: 'too-many-signals', limit: 10_000 });
    given(executionDecider, CREATED, ...many)
      .when(createSignal('s17'))
      .thenNothing();
  });

  it('takes a value, and another one in its place', () => {
    given(executionDecider, CREATED, signalCreated('go')).when(setSignal('go', 1)).then(signalSet('go', 1));
    given(executionDecider, CREATED, signalCreated('go'), signalSet('go', 1))
      .when(setSignal('go', 2))
      .then(signalSet('go', 2));
  });

  it('does not record a value again that it has already', () => {
    given(executionDecider, CREATED, signalCreated('go'), signalSet('go', 1)).when(setSignal('go', 1)).thenNothing();
    given(executionDecider, CREATED, signalCreated('go'), signalSet('go', 1), signalSet('go', 2))
      .when(setSignal('go', 1))
      .then(signalSet('go', 1));
  });

  it('takes no value before it is created', () => {
    given(executionDecider, CREATED).when(setSignal('go', 1)).thenRefused({ kind: 'signal-not-found', signalId: 'go' });
    given(executionDecider).when(setSignal('go', 1)).thenRefused({ kind: 'signal-not-found', signalId: 'go' });
  });

  it('takes no value that cannot be cast to its type', () => {
    given(executionDecider, CREATED, signalCreated('go'))
      .when(setSignal('go', 1, false))
      .thenRefused({ kind: 'signal-not-castable', signalId: 'go', type: INTEGER });
  });

  it('takes a value while the execution is being aborted, and none after the execution has ended', () => {
    given(executionDecider, CREATED, signalCreated('go'), terminated).when(setSignal('go', 1)).then(signalSet('go', 1));
    given(executionDecider, CREATED, signalCreated('go'), terminated, ended)
      .when(setSignal('go', 1))
      .thenRefused({ kind: 'execution-ended', current: ABORTED });
  });

  it('is counted in the memory of its execution, and has the revision of its value', () => {
    const before = executionDecider.evolve(executionDecider.initial(), CREATED);
    const bytes = sizeOfState(before);
    const after = [signalCreated('go'), signalSet('go', 1)].reduce(
      (state, fact) => executionDecider.evolve(state, fact),
      before,
    );
    expect(sizeOfState(after)).toBeGreaterThan(bytes);
    expect(after.signals?.get('go')?.setAt).toBe(2);
    expect(after.phase).toBe(QUEUED);
  });

  it('adds the size of its type to the memory of its execution', () => {
    const sizeWith = (type: LiteralType) => sizeOfState(folded(CREATED, signalCreated('go', type)));
    const long = create(LiteralTypeSchema, { type: { case: 'enumType', value: { values: ['x'.repeat(1_000)] } } });
    expect(sizeWith(long) - sizeWith(INTEGER)).toBeGreaterThan(1_000);
    expect(folded(CREATED, signalCreated('go', long), signalCreated('stop', long)).signalTypeBytes).toBeGreaterThan(
      2_000,
    );
  });

  it('keeps only a copy of the digest of a value, and not the bytes of its event', () => {
    const { data } = signalSet('go', 1);
    const event = new Uint8Array(10_000);
    const digest = event.subarray(500, 502);
    const set = { type: 'SignalSet', data: { ...data, digest } } as ExecutionEvent;
    const kept = folded(CREATED, signalCreated('go'), set).signals?.get('go')?.digest;
    expect(kept).toEqual(digest);
    expect(kept?.buffer.byteLength).toBe(2);
  });

  it('is folded without a type too, and a value of an unknown signal is ignored', () => {
    const untyped = { type: 'SignalCreated', data: create(SignalCreatedSchema, { id, signalId: 'go' }) } as const;
    expect(folded(CREATED, untyped).signals?.get('go')).toEqual({ type: new Uint8Array() });
    expect(folded(CREATED, signalSet('go', 1)).signals).toBeUndefined();
    expect([...(folded(CREATED, signalCreated('stop'), signalSet('go', 1)).signals?.keys() ?? [])]).toEqual(['stop']);
  });
});
