import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';
import {
  ExecutionCreatedSchema,
  ExecutionExpiredSchema,
  ExecutionStateChangedSchema,
  ExecutionTaggedSchema,
  ExecutionVoidedSchema,
  SignalCreatedSchema,
  SignalSetSchema,
  TerminationAnnouncedSchema,
  TerminationRequestedSchema,
  WorkLeasedSchema,
  WorkReturnedSchema,
} from '../../../proto/gen/platformidl/eventlog/execution_pb.js';
import {
  endsExecution,
  ENGINE_REPORTED,
  type EngineReport,
  executionCodec,
  type ExecutionEvent,
  phaseReported,
  recordsEnd,
} from '../../../services/execution/events.js';
import { WORKFLOW } from '../../../services/execution/phases.js';
import type { RecordedEvent } from '../../../services/kernel/event.js';
import { CorruptEvent, StreamParked } from '../../../services/kernel/fault.js';
import type { Content } from '../../../services/kernel/ports/payload-store.js';
import { id, stream } from './reports.js';
import { EXECUTION_CATEGORY } from '../../../services/kernel/execution-id.js';

const inline = (text: string): Content => ({ content: { case: 'inline', value: new TextEncoder().encode(text) } });
const ref = (sha256: string): Content => ({
  content: { case: 'ref', value: { scope: 'inputs', sha256, sizeBytes: 70_000n, keyId: '' } },
});
const report = (entity: EngineReport['entity'], more: Partial<EngineReport> = {}): EngineReport => ({
  ...{ entity, nodeId: entity === 'workflow' ? '' : 'n0', taskId: undefined, retryAttempt: 0, phaseVersion: 0 },
  ...{ phase: WORKFLOW.RUNNING, occurredAt: { seconds: 1n, nanos: 2 }, producerId: 'engine-0' },
  ...{ message: inline('message'), messageHash: 3n, closed: undefined, samePhase: false },
  ...more,
});

/**
 * An event of every type, with at least one field set, and the texts of those parts that may be stored beside the log.
 */
const events: readonly (readonly [ExecutionEvent, readonly string[]])[] = [
  [
    {
      type: 'ExecutionCreated',
      data: create(ExecutionCreatedSchema, { id, inputs: inline('i'), userInputs: inline('u') }),
    },
    ['i', 'u'],
  ],
  [{ type: 'ExecutionVoided', data: create(ExecutionVoidedSchema, { attempt: 'a' }) }, []],
  [phaseReported(report('workflow', { message: inline('w'), closed: inline('c') })), ['w', 'c']],
  [phaseReported(report('node', { message: inline('n') })), ['n']],
  [phaseReported(report('task', { message: inline('t') })), ['t']],
  [{ type: 'TerminationRequested', data: create(TerminationRequestedSchema, { cause: 'late' }) }, []],
  [{ type: 'TerminationAnnounced', data: create(TerminationAnnouncedSchema, { id }) }, []],
  [
    {
      type: 'ExecutionExpired',
      data: create(ExecutionExpiredSchema, { cause: 'late', closed: inline('open') }),
    },
    ['open'],
  ],
  [{ type: 'ExecutionStateChanged', data: create(ExecutionStateChangedSchema, { principal: 'ada' }) }, []],
  [{ type: 'ExecutionTagged', data: create(ExecutionTaggedSchema, { tags: ['nightly'] }) }, []],
  [{ type: 'SignalCreated', data: create(SignalCreatedSchema, { signalId: 'approve' }) }, []],
  [{ type: 'SignalSet', data: create(SignalSetSchema, { signalId: 'approve', value: inline('yes') }) }, ['yes']],
  [{ type: 'WorkLeased', data: create(WorkLeasedSchema, { id, number: 1n }) }, []],
  [{ type: 'WorkReturned', data: create(WorkReturnedSchema, { id, number: 1n }) }, []],
];
const cases = events.map(([event, parts]) => [event.type, event, parts] as const);

/** The fields of a message, without the names of its types. */
const plain = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (key, each: unknown) => {
      if (key.startsWith('$')) return undefined;
      return typeof each === 'bigint' ? each.toString() : each;
    }),
  );

const recorded = (type: string, data: Uint8Array): RecordedEvent => ({
  ...{ stream, id: Buffer.alloc(16), type, data, revision: 0n, position: 1n },
  metadata: JSON.stringify({ recordedAtMs: 1_000, actor: '', commandId: 'c', schema: 1 }),
});
/** The report of a phase of the workflow. */
const workflowReport = (phase: number, more: Partial<EngineReport> = {}) =>
  phaseReported(report('workflow', { phase, ...more }));

describe('an event of an execution', () => {
  it.each(cases)('of type %s is read back as it was stored, with all its parts', (type, event, parts) => {
    const stored = executionCodec.encode(event);
    expect(stored.type).toBe(type);
    expect(stored.data.length).toBeGreaterThan(0);
    expect(plain(executionCodec.decode(type, stored.data, 1))).toEqual(plain(event));
    const texts = executionCodec
      .contents(event)
      .map(({ content }) => Buffer.from(content.value as Uint8Array).toString());
    expect(texts).toEqual(parts);
  });

  it.each(cases.filter(([, , parts]) => parts.length > 0))(
    'of type %s keeps the references that its parts are replaced with',
    (type, event, parts) => {
      const moved = executionCodec.decode(type, executionCodec.encode(event).data, 1);
      const contents = executionCodec.contents(moved);
      contents.forEach((each, at) => (each.content = ref(`${type} ${at}`).content));
      const again = executionCodec.decode(type, executionCodec.encode(moved).data, 1);
      expect(executionCodec.contents(again).map(({ content }) => content)).toMatchObject(
        parts.map((_, at) => ref(`${type} ${at}`).content),
      );
    },
  );

  it('is in a stream of its category', () => {
    expect(stream).toBe(`${EXECUTION_CATEGORY}-flytesnacks:development:run`);
    expect(EXECUTION_CATEGORY).toBe('execution');
  });
});

describe('a log of the first format', () => {
  it.each(['workflow', 'node', 'task'] as const)('has one type of report, read as that of a %s', (entity) => {
    const event = phaseReported(report(entity));
    const stored = executionCodec.encode(event, 1);
    expect(stored.type).toBe('EngineReported');
    expect(executionCodec.decode('EngineReported', stored.data, 1)).toEqual(event);
    expect(executionCodec.encode(event, 2).type).toBe(event.type);
    expect(() => executionCodec.decode('EngineReported', Uint8Array.of(0xff), 1)).toThrow(CorruptEvent);
  });

  it.each(['WorkLeased', 'WorkReturned'] as const)('gets no %s', (type) => {
    const [event] = events.find(([each]) => each.type === type)!;
    expect(() => executionCodec.encode(event, 1)).toThrow(`must not get ${type}`);
    expect(executionCodec.encode(event, 2).type).toBe(type);
  });
});

describe('the end of an execution', () => {
  const { SUCCEEDED, FAILED, RUNNING } = WORKFLOW;
  const expired = events.find(([{ type }]) => type === 'ExecutionExpired')![0];
  const [created] = events[0]!;

  it.each([
    ['its expiry', true, expired],
    ['the phase SUCCEEDED of the workflow', true, workflowReport(SUCCEEDED)],
    ['the phase FAILED of the workflow', true, workflowReport(FAILED)],
    ['the phase RUNNING of the workflow', false, workflowReport(RUNNING)],
    ['the phase SUCCEEDED, reported again', false, workflowReport(SUCCEEDED, { samePhase: true })],
    ['the phase of a node with the number of SUCCEEDED', false, phaseReported(report('node', { phase: SUCCEEDED }))],
    ['the phase of a task with the number of SUCCEEDED', false, phaseReported(report('task', { phase: SUCCEEDED }))],
    ['its creation', false, created],
  ])('is recorded by %s: %s', (_, isEnd, event) => {
    expect(endsExecution(event)).toBe(isEnd);
    const { type, data } = executionCodec.encode(event);
    expect(recordsEnd(recorded(type, data))).toBe(isEnd);
  });

  it.each([
    ['the phase SUCCEEDED of the workflow', true, workflowReport(SUCCEEDED)],
    ['the phase RUNNING of the workflow', false, workflowReport(RUNNING)],
    ['the phase of a node with the number of SUCCEEDED', false, phaseReported(report('node', { phase: SUCCEEDED }))],
  ])('is recorded, in the type of reports of the first format, by %s: %s', (_, isEnd, event) => {
    expect(recordsEnd(recorded(ENGINE_REPORTED, executionCodec.encode(event, 1).data))).toBe(isEnd);
  });

  it('is read only from events whose type can record it', () => {
    const broken = Uint8Array.of(0xff); // a tag that ends early
    expect(recordsEnd(recorded('NodePhaseReported', broken))).toBe(false);
    expect(recordsEnd(recorded('ExecutionCreated', broken))).toBe(false);
    for (const type of ['WorkflowPhaseReported', ENGINE_REPORTED, 'ExecutionExpired'])
      expect(() => recordsEnd(recorded(type, broken))).toThrow(StreamParked);
  });
});
