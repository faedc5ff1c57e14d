import { create, type DescMessage, toBinary } from '@bufbuild/protobuf';
import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  NodeExecutionEventRequestSchema,
  TaskExecutionEventRequestSchema,
  WorkflowExecutionEventRequestSchema,
} from '../../../proto/gen/platformidl/admin/event_pb.js';
import { ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { NodeExecutionEventSchema } from '../../../proto/gen/platformidl/event/event_pb.js';
import { WORKFLOW } from '../../../services/execution/phases.js';
import { envelopeScan } from '../../../services/execution/wire/envelope-scan.js';
import { fieldsOf, has, longIn, messageIn, numberIn, sizeIn, textIn } from '../../../services/execution/wire/fields.js';

const MAX_OUTPUT_BYTES = 100;

const execution = { project: 'p', domain: 'd', name: 'n' };
const id = { nodeId: 'n0', executionId: execution };
const occurredAt = { seconds: 1n, nanos: 2 };
const node = { id, occurredAt };
const taskId = { resourceType: ResourceType.TASK, ...execution, version: 'v' };
const task = { taskId, parentNodeExecutionId: id, occurredAt };
const workflow = { executionId: execution, occurredAt, phase: WORKFLOW.QUEUED };

const REQUESTS = {
  workflow: WorkflowExecutionEventRequestSchema,
  node: NodeExecutionEventRequestSchema,
  task: TaskExecutionEventRequestSchema,
} as const;

type Entity = keyof typeof REQUESTS;

const requestOf = (entity: Entity, event: object): Uint8Array => {
  const schema: DescMessage = REQUESTS[entity];
  return toBinary(schema, create(schema, { requestId: 'r1', event }));
};

/** Scans the concatenation of requests, whose fields protobuf merges. */
const scan = (entity: Entity, ...requests: readonly Uint8Array[]): ReturnType<ReturnType<typeof envelopeScan>> =>
  envelopeScan(entity, MAX_OUTPUT_BYTES)(Buffer.concat(requests));

/** The bytes that a map of one literal takes beside the hash of the literal, when the map has less than 128 bytes. */
const MAP_BYTES = 10;

const map = (hashBytes: number): object => ({ literals: { o0: { hash: 'x'.repeat(hashBytes) } } });
const outputData = (hashBytes: number): object => ({ outputResult: { case: 'outputData', value: map(hashBytes) } });
const outputUri = { outputResult: { case: 'outputUri', value: 's3://b' } };
const child = { targetMetadata: { case: 'workflowNodeMetadata', value: { executionId: execution } } };
const taskNode = { targetMetadata: { case: 'taskNodeMetadata', value: { checkpointUri: 's3://c' } } };

describe('an event in several parts', () => {
  it('has the fields of all its parts, between other fields of the request', () => {
    const found = scan('node', requestOf('node', { id }), requestOf('node', { occurredAt, producerId: 'e1' }));
    expect(found).toMatchObject({ nodeId: 'n0', occurredAt, producerId: 'e1', execution });
    expect(Buffer.from(found.message)).toEqual(
      Buffer.concat([{ id }, { occurredAt, producerId: 'e1' }].map((part) => bytesOfNode(part))),
    );
  });

  it('has a nested message that is merged from its parts', () => {
    const first = { id: { nodeId: 'n0', executionId: { project: 'p', domain: 'before' } }, occurredAt };
    const second = { id: { executionId: { domain: 'd', name: 'n' } } };
    expect(scan('node', requestOf('node', first), requestOf('node', second))).toMatchObject({
      nodeId: 'n0',
      execution,
    });
  });

  it('has a nested message of a nested one that is merged from its parts', () => {
    const halves = [
      { project: 'p', domain: 'before' },
      { domain: 'd', name: 'n' },
    ];
    // One `id`, in which `execution_id` occurs twice.
    const ids = halves.map((executionId) => bytesOfNode({ id: { executionId } }).subarray(2)); // without tag and length of `id`
    const name = bytesOfNode({ id: { nodeId: 'n0' } }).subarray(2);
    const whole = Buffer.concat([...ids, name]);
    const event = Buffer.concat([Uint8Array.of(0x0a /* id */, whole.length), whole, bytesOfNode({ occurredAt })]);
    expect(scan('node', Uint8Array.of(0x12 /* event */, event.length), event)).toMatchObject({
      nodeId: 'n0',
      execution,
    });
  });

  it.each([
    ['workflow', workflow],
    ['node', node],
    ['task', task],
  ] as const)('has only the last outputs of a %s', (entity, event) => {
    const [large, small] = [requestOf(entity, outputData(MAX_OUTPUT_BYTES)), requestOf(entity, outputUri)];
    expect(scan(entity, requestOf(entity, event), large, small)).toMatchObject({ entity });
    expect(() => scan(entity, requestOf(entity, event), small, large)).toThrow('Output data size exceeds');
  });

  it('has a child execution only when no metadata of a task follow it', () => {
    const parts = [child, taskNode].map((part) => requestOf('node', part));
    const event = requestOf('node', node);
    expect(scan('node', event, parts[0]!, parts[1]!).child).toBeUndefined();
    expect(scan('node', event, parts[1]!, parts[0]!).child).toEqual(execution);
  });
});

const bytesOfNode = (event: object): Uint8Array =>
  toBinary(NodeExecutionEventSchema, create(NodeExecutionEventSchema, event));

describe('the limits of an event', () => {
  it('allow outputs of exactly the largest size', () => {
    const encoded = toBinary(
      NodeExecutionEventSchema,
      create(NodeExecutionEventSchema, outputData(MAX_OUTPUT_BYTES - MAP_BYTES)),
    );
    expect(encoded.length).toBe(MAX_OUTPUT_BYTES + 2); // the tag and the length
    expect(scan('node', requestOf('node', { ...node, ...outputData(MAX_OUTPUT_BYTES - MAP_BYTES) })).entity).toBe(
      'node',
    );
    expect(() => scan('node', requestOf('node', { ...node, ...outputData(MAX_OUTPUT_BYTES - MAP_BYTES + 1) }))).toThrow(
      '(101 > 100)',
    );
  });

  // From the beginning of the year 1 to the end of the year 9999.
  it.each([
    [-62_135_596_800n, 0, true],
    [-62_135_596_801n, 0, false],
    [253_402_300_799n, 999_999_999, true],
    [253_402_300_800n, 0, false],
    [1n, -1, false],
    [1n, 1_000_000_000, false],
  ])('allow a time of %d seconds and %d nanoseconds: %s', (seconds, nanos, isAllowed) => {
    const request = requestOf('node', { ...node, occurredAt: { seconds, nanos } });
    if (isAllowed) expect(scan('node', request).occurredAt).toEqual({ seconds, nanos });
    else expect(() => scan('node', request)).toThrow(/occurred_at/u);
  });

  it.each([
    ['node', 'missing execution_id', { id: {}, occurredAt }],
    [
      'task',
      'resource_type: task_id must be of type TASK',
      { ...task, taskId: { ...taskId, resourceType: ResourceType.WORKFLOW } },
    ],
    ['task', 'missing project of task_id', { ...task, taskId: { ...taskId, project: '' } }],
    ['task', 'missing domain of task_id', { ...task, taskId: { ...taskId, domain: '' } }],
    ['task', 'missing name of task_id', { ...task, taskId: { ...taskId, name: '' } }],
  ] as const)('refuse a %s event: %s', (entity, text, event) => {
    expect(() => scan(entity, requestOf(entity, event))).toThrow(text);
  });

  it('refuse a malformed event with the position of its first wrong byte', () => {
    // An event of two bytes: the tag of `id`, and a length of nine.
    expect(() => scan('node', Uint8Array.of(0x12, 2, 0x0a, 9))).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARGUMENT',
        message: 'malformed node event: ends early: 9 bytes announced, 0 there at byte 1',
      }) as Error,
    );
  });
});

describe('the metadata of a task node', () => {
  const template = { primary: { template: { id: { project: 'p' } } } };
  const dynamic = (compiledWorkflow: object): object => ({
    targetMetadata: {
      case: 'taskNodeMetadata',
      value: { dynamicWorkflow: { id: { project: 'p' }, compiledWorkflow } },
    },
  });

  it('is accepted without a dynamic workflow, and with a complete one', () => {
    expect(scan('node', requestOf('node', { ...node, ...taskNode })).nodeId).toBe('n0');
    expect(scan('node', requestOf('node', { ...node, ...dynamic(template) })).nodeId).toBe('n0');
  });

  it('is accepted with a workflow whose lists have several entries', () => {
    const compiled = { ...template, subWorkflows: [template.primary, template.primary], tasks: [{}, {}] };
    expect(scan('node', requestOf('node', { ...node, ...dynamic(compiled) })).nodeId).toBe('n0');
  });
});

describe('the fields of a message', () => {
  const field = fc.record({ number: fc.integer({ min: 1, max: 70 }), value: fc.nat(2 ** 31 - 1) });

  it('are those up to number 31, each with its last value; higher numbers are ignored', () => {
    fc.assert(
      fc.property(fc.array(field, { maxLength: 20 }), fc.nat(5), (drawn, offset) => {
        const writer = new BinaryWriter();
        for (const { number, value } of drawn) writer.tag(number, WireType.Varint).uint32(value);
        const bytes = Buffer.concat([new Uint8Array(offset).fill(0xff), writer.finish()]);
        const fields = fieldsOf(bytes, offset, bytes.length);
        const numbers = Array.from({ length: 31 }, (_, index) => index + 1);
        const read = numbers.map((number) => ({
          has: has(fields, number),
          isRepeated: (fields.repeated & (1 << number)) !== 0,
          number: numberIn(fields, number),
          long: longIn(fields, number),
        }));
        const expected = numbers.map((number) => {
          const same = drawn.filter((each) => each.number === number);
          const value = same.at(-1)?.value ?? 0;
          return { has: same.length > 0, isRepeated: same.length > 1, number: value, long: BigInt(value) };
        });
        expect(read).toEqual(expected);
      }),
      { numRuns: 100 },
    );
  });

  it('that are absent are empty or 0', () => {
    const none = fieldsOf(new Uint8Array(), 0, 0);
    expect([textIn(none, 1), sizeIn(none, 1), messageIn(none, 1).present, numberIn(none, 1)]).toEqual(['', 0, 0, 0]);
  });
});
