import { create, type DescMessage, fromBinary, type MessageShape, toBinary } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  NodeExecutionEventRequestSchema,
  TaskExecutionEventRequestSchema,
  WorkflowExecutionEventRequestSchema,
} from '../../../proto/gen/platformidl/admin/event_pb.js';
import {
  NodeExecutionEventSchema,
  TaskExecutionEventSchema,
  WorkflowExecutionEventSchema,
} from '../../../proto/gen/platformidl/event/event_pb.js';
import { ResourceType, type TaskExecutionIdentifier } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import {
  EngineReportedSchema,
  NodePhaseReportedSchema,
  TaskPhaseReportedSchema,
  WorkflowPhaseReportedSchema,
} from '../../../proto/gen/platformidl/eventlog/execution_pb.js';
import {
  decodeEngineReported,
  decodeReport,
  encodeEngineReported,
  encodeReport,
  type EngineReport,
} from '../../../services/execution/wire/engine-report.js';
import { envelopeScan } from '../../../services/execution/wire/envelope-scan.js';
import { RpcError } from '../../../services/kernel/rpc.js';
import { eventSequences } from '../../support/requests/fixtures.js';

const MAX_OUTPUT_BYTES = 1_000;
const { TASK, WORKFLOW } = ResourceType;

/** Texts of one to four bytes a character, and one whose length takes two bytes. */
const word = fc.constantFrom('', 'a', 'flytesnacks', 'é–𐍈', 'x'.repeat(200));
/** From the beginning of the year 1 to the end of the year 9999. */
const seconds = fc.bigInt({ min: -62_135_596_800n, max: 253_402_300_799n });
const timestamp = fc.record({ seconds, nanos: fc.integer({ min: 0, max: 999_999_999 }) });
const executionId = fc.record({ project: word, domain: word, name: word, org: word }, { requiredKeys: [] });
const nodeId = fc.record({ nodeId: word, executionId }, { requiredKeys: [] });
/** The id of a task, mostly with the resource type TASK; any other is refused. */
const task = fc.record(
  {
    resourceType: fc.constantFrom(...[TASK, TASK, TASK, WORKFLOW]),
    project: word,
    domain: word,
    name: word,
    version: word,
    org: word,
  },
  { requiredKeys: [] },
);
const literals = fc.record({ literals: fc.dictionary(word, fc.record({ hash: word })) });
const outputs = fc.oneof(
  fc.record({ case: fc.constant('outputUri'), value: word }),
  fc.record({ case: fc.constant('error'), value: fc.record({ code: word, message: word }) }),
  fc.record({ case: fc.constant('outputData'), value: literals }),
);

/**
 * One field of an event; a drawn event has any of them in any order, also repeated. Phases include numbers that the
 * interface does not have.
 */
const workflowFields = fc.oneof(
  fc.record({ executionId }),
  fc.record({ producerId: word }),
  fc.record({ phase: fc.integer({ min: -1, max: 12 }) }),
  fc.record({ occurredAt: timestamp }),
  fc.record({ outputResult: outputs }),
);
const nodeFields = fc.oneof(
  fc.record({ id: nodeId }),
  fc.record({ producerId: word }),
  fc.record({ phase: fc.integer({ min: -1, max: 12 }) }),
  fc.record({ occurredAt: timestamp }),
  fc.record({ reportedAt: timestamp }),
  fc.record({ outputResult: outputs }),
  fc.record({ parentNodeMetadata: fc.record({ nodeId: word }) }),
  fc.record({
    parentTaskMetadata: fc.record({
      id: fc.record({ taskId: task, nodeExecutionId: nodeId, retryAttempt: fc.nat() }, { requiredKeys: [] }),
    }),
  }),
  fc.record({
    targetMetadata: fc.oneof(
      fc.record({ case: fc.constant('workflowNodeMetadata'), value: fc.record({ executionId }) }),
      fc.record({ case: fc.constant('taskNodeMetadata'), value: fc.record({ checkpointUri: word }) }),
    ),
  }),
  fc.record({ isParent: fc.boolean(), deckUri: word }),
);
const taskFields = fc.oneof(
  fc.record({ taskId: task }),
  fc.record({ parentNodeExecutionId: nodeId }),
  fc.record({ retryAttempt: fc.nat() }),
  fc.record({ phase: fc.integer({ min: -1, max: 9 }) }),
  fc.record({ phaseVersion: fc.nat() }),
  fc.record({ producerId: word }),
  fc.record({ occurredAt: timestamp }),
  fc.record({ outputResult: outputs }),
  fc.record({ logs: fc.array(fc.record({ uri: word, name: word })) }),
  fc.record({ reasons: fc.array(fc.record({ reason: word })) }),
);

const validId = { project: 'p', domain: 'd', name: 'n' };
const time = { seconds: 1n, nanos: 2 };
const validTask = { resourceType: ResourceType.TASK, ...validId, version: 'v' };

const join = (parts: readonly Uint8Array[]): Uint8Array => Uint8Array.from(parts.flatMap((part) => [...part]));

/** A request that has each part of an event as a field 2, `event`. */
const requestWith = (parts: readonly Uint8Array[]): Uint8Array =>
  join(parts.flatMap((part) => [Uint8Array.of(0x12, ...lengthOf(part.length)), part]));

/** The bytes of a length as a varint. */
const lengthOf = (length: number): readonly number[] =>
  length < 128 ? [length] : [(length & 0x7f) | 0x80, ...lengthOf(length >>> 7)];

/** Fields as a full decoder of the request gives them. */
type Expected = Record<string, unknown>;

const plain = (id: { project: string; domain: string; name: string } | undefined): Expected => ({
  project: id?.project ?? '',
  domain: id?.domain ?? '',
  name: id?.name ?? '',
});

const plainTask = (id: MessageShape<typeof TaskExecutionEventSchema>['taskId']): Expected => ({
  resourceType: id?.resourceType ?? 0,
  ...plain(id),
  version: id?.version ?? '',
  org: id?.org ?? '',
});

const plainAttempt = (id: TaskExecutionIdentifier | undefined): Expected => ({
  nodeId: id?.nodeExecutionId?.nodeId ?? '',
  execution: plain(id?.nodeExecutionId?.executionId),
  taskId: plainTask(id?.taskId),
  retryAttempt: id?.retryAttempt ?? 0,
});

const instant = (time: { seconds: bigint; nanos: number } | undefined): Expected => ({
  seconds: time?.seconds,
  nanos: time?.nanos,
});

/**
 * For each entity: the schemas of its event and of the request, the fields that a drawn event may have, those that each
 * event needs to be accepted, and what the scan must find in an event.
 */
const cases = [
  {
    entity: 'workflow' as const,
    schema: WorkflowExecutionEventSchema as DescMessage,
    request: WorkflowExecutionEventRequestSchema as DescMessage,
    fields: workflowFields as fc.Arbitrary<object>,
    needed: { executionId: validId, occurredAt: time, phase: 1 },
    expected: (event: MessageShape<typeof WorkflowExecutionEventSchema>): Expected => ({
      execution: plain(event.executionId),
      nodeId: '',
      phase: event.phase,
      producerId: event.producerId,
      occurredAt: instant(event.occurredAt),
    }),
  },
  {
    entity: 'node' as const,
    schema: NodeExecutionEventSchema as DescMessage,
    request: NodeExecutionEventRequestSchema as DescMessage,
    fields: nodeFields as fc.Arbitrary<object>,
    needed: { id: { nodeId: 'n0', executionId: validId }, occurredAt: time },
    expected: (event: MessageShape<typeof NodeExecutionEventSchema>): Expected => ({
      execution: plain(event.id?.executionId),
      nodeId: event.id?.nodeId,
      phase: event.phase,
      producerId: event.producerId,
      occurredAt: instant(event.occurredAt),
      parentNodeId: event.parentNodeMetadata?.nodeId,
      parentTask: event.parentTaskMetadata && plainAttempt(event.parentTaskMetadata.id),
      child:
        event.targetMetadata.case === 'workflowNodeMetadata'
          ? plain(event.targetMetadata.value.executionId)
          : undefined,
    }),
  },
  {
    entity: 'task' as const,
    schema: TaskExecutionEventSchema as DescMessage,
    request: TaskExecutionEventRequestSchema as DescMessage,
    fields: taskFields as fc.Arbitrary<object>,
    needed: {
      taskId: validTask,
      parentNodeExecutionId: { nodeId: 'n0', executionId: validId },
      occurredAt: time,
    },
    expected: (event: MessageShape<typeof TaskExecutionEventSchema>): Expected => ({
      execution: plain(event.parentNodeExecutionId?.executionId),
      nodeId: event.parentNodeExecutionId?.nodeId,
      taskId: plainTask(event.taskId),
      retryAttempt: event.retryAttempt,
      phase: event.phase,
      phaseVersion: event.phaseVersion,
      producerId: event.producerId,
      occurredAt: instant(event.occurredAt),
    }),
  },
];

/** The result of a scan, or the refusal that it throws. */
const scanned = (scan: () => object): object | RpcError => {
  try {
    return scan();
  } catch (error) {
    if (error instanceof RpcError) return error;
    throw error;
  }
};

/** The code and text of a refusal; empty for an accepted event. */
const outcome = (found: object): string => (found instanceof RpcError ? `${found.code} ${found.message}` : '');

describe('the envelope scan', () => {
  for (const { entity, schema, request, fields, needed, expected } of cases) {
    const scan = envelopeScan(entity, MAX_OUTPUT_BYTES);
    const encode = (field: object): Uint8Array => toBinary(schema, create(schema, field as never));

    /** The event of a request that has these parts, as the decoder of the library merges them. */
    const merged = (parts: readonly Uint8Array[]): never =>
      (fromBinary(request, requestWith(parts)) as unknown as { event: never }).event;

    it.each([
      ['in one part', (parts: readonly Uint8Array[]) => [join(parts)]],
      ['in several parts', (parts: readonly Uint8Array[]) => parts],
    ])(`reads a ${entity} event that comes %s as a full decoder does`, (_, cut) => {
      let accepted = 0;
      fc.assert(
        fc.property(fc.array(fields, { maxLength: 12 }), fc.nat(12), (drawn, place) => {
          const parts = [...drawn.slice(0, place), needed, ...drawn.slice(place)].map(encode);
          const event = merged(parts);
          const found = scanned(() => scan(requestWith(cut(parts))));
          const canonical = scanned(() => scan(requestWith([toBinary(schema, event)])));
          expect(outcome(found)).toEqual(outcome(canonical));
          if (found instanceof RpcError) return;
          accepted += 1;
          expect(found).toMatchObject(expected(event));
          expect(fromBinary(schema, (found as { message: Uint8Array }).message)).toEqual(event);
        }),
        { numRuns: 150 },
      );
      expect(accepted).toBeGreaterThan(75);
    });

    it(`ignores unknown fields of a newer ${entity} event, and keeps their bytes`, () => {
      const unknown = Uint8Array.of(0xf2, 0x01, 1, 65, 0xf2, 0x01, 1, 66); // field 30, twice
      const event = join([encode(needed), unknown]);
      expect(scan(requestWith([event]))).toMatchObject({ entity, message: event });
    });

    it(`throws nothing but a refusal for a ${entity} event that is cut short or changed at any byte`, () => {
      const bytes = requestWith([encode({ ...needed, outputResult: { case: 'outputUri', value: 's3://b' } })]);
      for (let end = 0; end < bytes.length; end += 1) scanned(() => scan(bytes.subarray(0, end)));
      for (let place = 0; place < bytes.length; place += 1)
        for (const value of [0, 1, 7, 0x7f, 0x80, 0xff])
          scanned(() => scan(bytes.map((byte, index) => (index === place ? value : byte))));
    });

    it(`refuses outputs of a ${entity} above the limit, with both sizes`, () => {
      const big = { case: 'outputData', value: { literals: { o0: { hash: 'x'.repeat(MAX_OUTPUT_BYTES) } } } };
      const error = scanned(() => scan(requestWith([encode({ ...needed, outputResult: big })])));
      expect(error).toMatchObject({
        code: 'RESOURCE_EXHAUSTED',
        message: 'Output data size exceeds platform configured threshold (1013 > 1000)',
      });
    });
  }

  const refusals: readonly (readonly ['workflow' | 'node' | 'task', object | undefined, string])[] = [
    ['workflow', undefined, 'missing event'],
    ['workflow', { occurredAt: time }, 'missing execution_id'],
    ['workflow', { executionId: { ...validId, project: '' } }, 'missing project'],
    ['workflow', { executionId: { ...validId, domain: '' } }, 'missing domain'],
    ['workflow', { executionId: { ...validId, name: '' } }, 'missing name'],
    ['workflow', { executionId: validId, phase: 1 }, 'missing occurred_at'],
    ['workflow', { executionId: validId, occurredAt: time }, 'phase: UNDEFINED'],
    ['workflow', { executionId: validId, occurredAt: time, phase: 77 }, 'phase: 77'],
    [
      'workflow',
      { executionId: validId, occurredAt: { seconds: 1n << 50n /* after the year 9999 */ }, phase: 1 },
      'occurred_at',
    ],
    ['node', undefined, 'missing event'],
    ['node', { occurredAt: time }, 'missing id'],
    ['node', { id: { nodeId: 'n0' } }, 'missing execution_id'],
    ['node', { id: { executionId: validId } }, 'missing node_id'],
    ['node', { id: { nodeId: 'n0', executionId: { ...validId, name: '' } } }, 'missing name'],
    ['node', { id: { nodeId: 'n0', executionId: validId } }, 'missing occurred_at'],
    ['task', undefined, 'missing event'],
    ['task', { taskId: validTask }, 'missing occurred_at'],
    ['task', { taskId: validTask, occurredAt: time }, 'missing node_execution_id'],
    ['task', { parentNodeExecutionId: { nodeId: 'n', executionId: validId }, occurredAt: time }, 'missing task_id'],
    [
      'task',
      {
        taskId: { ...validTask, resourceType: ResourceType.WORKFLOW },
        parentNodeExecutionId: { nodeId: 'n', executionId: validId },
        occurredAt: time,
      },
      'resource_type',
    ],
    [
      'task',
      {
        taskId: { ...validTask, version: '' },
        parentNodeExecutionId: { nodeId: 'n', executionId: validId },
        occurredAt: time,
      },
      'missing version of task_id',
    ],
  ];

  for (const [entity, event, text] of refusals)
    it(`refuses a ${entity} event, with the reason: ${text}`, () => {
      const { schema } = cases.find((each) => each.entity === entity)!;
      const bytes =
        event === undefined ? new Uint8Array() : requestWith([toBinary(schema, create(schema, event as never))]);
      const error = scanned(() => envelopeScan(entity, MAX_OUTPUT_BYTES)(bytes));
      expect(error).toMatchObject({ code: 'INVALID_ARGUMENT' });
      expect((error as RpcError).message).toContain(text);
    });

  it.each([
    [{ id: { project: 'p' } }, 'compiled dynamic workflow'],
    [{ id: { project: 'p' }, compiledWorkflow: {} }, 'primary dynamic workflow'],
    [{ id: { project: 'p' }, compiledWorkflow: { primary: { connections: {} } } }, 'primary dynamic workflow template'],
    [{ compiledWorkflow: {} }, 'id of dynamic_workflow'],
  ])('refuses a dynamic node with an incomplete dynamic workflow: %j', (dynamicWorkflow, text) => {
    const event = create(NodeExecutionEventSchema, {
      id: { nodeId: 'n0', executionId: validId },
      occurredAt: time,
      targetMetadata: { case: 'taskNodeMetadata', value: { dynamicWorkflow } },
    });
    const error = scanned(() =>
      envelopeScan('node', MAX_OUTPUT_BYTES)(requestWith([toBinary(NodeExecutionEventSchema, event)])),
    );
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', message: `missing ${text}` });
  });
});

/** The schema of the recorded event of each entity. */
const STORED = { workflow: WorkflowPhaseReportedSchema, node: NodePhaseReportedSchema, task: TaskPhaseReportedSchema };

describe('a report', () => {
  const rpcs = { CreateWorkflowEvent: 'workflow', CreateNodeEvent: 'node', CreateTaskEvent: 'task' } as const;
  const reports = eventSequences().flatMap(({ entries }) =>
    entries.map(({ method, bytes }): EngineReport => {
      const { message, ...envelope } = envelopeScan(rpcs[method as keyof typeof rpcs], 2 * 1024 * 1024)(bytes);
      return {
        ...envelope,
        message: { content: { case: 'inline', value: message } },
        closed: undefined,
        samePhase: true,
      };
    }),
  );

  it('is encoded as protobuf encodes a message of its schema, in every format', () => {
    for (const report of reports) {
      for (const [schema, bytes] of [
        [STORED[report.entity], encodeReport(report)],
        [EngineReportedSchema, encodeEngineReported(report)],
      ] as const) {
        const decoded = fromBinary(schema as DescMessage, bytes);
        expect(decoded.$unknown).toBeUndefined();
        expect(toBinary(schema as DescMessage, decoded)).toEqual(bytes);
        expect(decoded).toMatchObject({ phase: report.phase, messageHash: report.messageHash });
      }
    }
  });

  it('is decoded as it was encoded, in every format', () => {
    for (const report of reports) {
      const { entity, nodeId, taskId, retryAttempt, phase, phaseVersion, occurredAt, producerId, message } = report;
      const part = { entity, nodeId, taskId, retryAttempt, phase, phaseVersion, occurredAt, producerId, message };
      const whole = { ...part, messageHash: report.messageHash, closed: undefined, samePhase: true };
      expect(decodeReport(encodeReport(report), entity)).toEqual(whole);
      expect(decodeEngineReported(encodeEngineReported(report))).toEqual(whole);
    }
  });

  it('keeps references to payloads outside the log', () => {
    const value = { scope: 'runs/p/d/n', sha256: 'ab'.repeat(32), sizeBytes: 1n << 40n, keyId: '' };
    const ref = { content: { case: 'ref', value } } as const;
    const bytes = encodeReport({ ...reports[0]!, message: ref, closed: ref, messageHash: (1n << 64n) - 1n });
    const again = decodeReport(bytes, 'workflow');
    expect(again).toMatchObject({ message: ref, closed: ref, messageHash: (1n << 64n) - 1n });
  });
});
