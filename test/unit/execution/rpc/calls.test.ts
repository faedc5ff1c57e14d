import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create, type DescMessage, type MessageInitShape, type MessageShape, toBinary } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  NodeExecutionEventRequestSchema,
  TaskExecutionEventRequestSchema,
  WorkflowExecutionEventRequestSchema,
} from '../../../../proto/gen/platformidl/admin/event_pb.js';
import {
  ExecutionState,
  ExecutionTerminateRequestSchema,
  ExecutionUpdateRequestSchema,
} from '../../../../proto/gen/platformidl/admin/execution_pb.js';
import {
  SignalGetOrCreateRequestSchema,
  type SignalSchema,
  SignalSetRequestSchema,
} from '../../../../proto/gen/platformidl/admin/signal_pb.js';
import { LiteralSchema } from '../../../../proto/gen/platformidl/core/literals_pb.js';
import { LiteralTypeSchema, SimpleType } from '../../../../proto/gen/platformidl/core/types_pb.js';
import { NODE, TASK, WORKFLOW } from '../../../../services/execution/phases.js';
import { literalProblem } from '../../../../services/compiler/types/literal-map.js';
import { executionAggregate } from '../../../../services/execution/aggregate.js';
import { terminateExecution, updateExecution } from '../../../../services/execution/rpc/change.js';
import { eventRoutes } from '../../../../services/execution/rpc/events.js';
import type { LaunchRefusal } from '../../../../services/execution/launch/answer.js';
import { answerLaunch } from '../../../../services/execution/rpc.js';
import { signalRoutes } from '../../../../services/execution/rpc/signals.js';
import type { EventStore, ReadStreamOptions } from '../../../../services/kernel/ports/event-store.js';
import { MAX_INLINE_BYTES, type PayloadStore } from '../../../../services/kernel/ports/payload-store.js';
import { type Call, RpcError } from '../../../../services/kernel/rpc.js';
import { type OpenSessions, openSessions } from '../../../../services/sessions/sessions.js';
import { filePayloadStore } from '../../../../services/store/payloads/file-payload-store.js';
import { sqliteEventStore } from '../../../../services/store/log/sqlite-event-store.js';
import { creation, creationOf, id, taskId } from '../reports.js';
import { executionStream } from '../../../../services/kernel/execution-id.js';

const MAX_OUTPUT_BYTES = 100_000;
const occurredAt = timestampFromMs(1_700_000_000_000);

let directory: string;
let store: EventStore;
let payloads: PayloadStore;
let sessions: OpenSessions;
/** The positions that calls were answered with. */
let answered: bigint[];
/** The number of calls that were reported as queued. */
let queued: number;
/** The reads of streams by the routes. */
let reads: (ReadStreamOptions | undefined)[];

const aggregate = () => executionAggregate({ payloads });
const call: Call = {
  principal: 'ada',
  requestId: 'r',
  isCancelled: () => false,
  answeredAt: (position) => void answered.push(position),
  onQueued: () => void (queued += 1),
};
const services = () => ({
  sessions,
  aggregate: aggregate(),
  payloads,
  maxOutputBytes: MAX_OUTPUT_BYTES,
  log: {
    readStream: (...given: Parameters<EventStore['readStream']>) => {
      reads.push(given[1]);
      return store.readStream(...given);
    },
  },
});

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'flightlog-calls-'));
  store = await sqliteEventStore({ directory });
  payloads = filePayloadStore({ directory });
  sessions = openSessions({ store, payloads, now: () => 1_000 });
  [answered, queued, reads] = [[], 0, []];
  await sessions.handle(aggregate(), executionStream(id), creation, { actor: '', commandId: 'creation' });
});

afterEach(async () => {
  await payloads.close();
  await store.close();
  rmSync(directory, { recursive: true });
});

const send = async (name: string, request: unknown): Promise<unknown> => {
  const own = services();
  const found = [...eventRoutes(own), ...signalRoutes(own)].find(({ method }) => method.name === name)!;
  return found.handle(request as never, call);
};
const sendEvent = (name: string, schema: DescMessage, event: object): Promise<unknown> =>
  send(name, toBinary(schema, create(schema, { event })));

const nodeEvent = (phase: number, more: object = {}): Promise<unknown> =>
  sendEvent('CreateNodeEvent', NodeExecutionEventRequestSchema, {
    ...{ id: { nodeId: 'n0', executionId: id }, phase, occurredAt },
    ...more,
  });

describe('the events of an engine', () => {
  it('are recorded for each kind of entity, answered with their position and nothing else', async () => {
    const workflow = { executionId: id, phase: WORKFLOW.RUNNING, occurredAt };
    const task = { taskId, parentNodeExecutionId: { nodeId: 'n0', executionId: id }, phase: TASK.RUNNING, occurredAt };
    const answers = [
      await sendEvent('CreateWorkflowEvent', WorkflowExecutionEventRequestSchema, workflow),
      await nodeEvent(NODE.RUNNING),
      await sendEvent('CreateTaskEvent', TaskExecutionEventRequestSchema, task),
    ];
    expect(answers).toEqual([new Uint8Array(), new Uint8Array(), new Uint8Array()]);
    expect([answered, queued, reads]).toEqual([[2n, 3n, 4n], 3, []]);
  });

  it('are reported as queued before they are answered, and are answered also in a call without `onQueued`', async () => {
    const answer = nodeEvent(NODE.QUEUED);
    await Promise.resolve();
    expect([queued, answered]).toEqual([1, []]);
    await answer;
    const [own] = eventRoutes(services()).filter(({ method }) => method.name === 'CreateNodeEvent');
    const { onQueued: _, ...callWithoutOnQueued } = call;
    const event = { id: { nodeId: 'n0', executionId: id }, phase: NODE.RUNNING, occurredAt };
    const request = create(NodeExecutionEventRequestSchema, { event });
    await own!.handle(toBinary(NodeExecutionEventRequestSchema, request) as never, callWithoutOnQueued);
    expect(answered).toHaveLength(2);
  });

  it('are refused when they name an unknown child execution', async () => {
    const child = { ...id, name: 'child' };
    const more = { targetMetadata: { case: 'workflowNodeMetadata', value: { executionId: child } } };
    await expect(nodeEvent(NODE.RUNNING, more)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect([reads, answered]).toEqual([[{ from: 0n, limit: 1 }], [1n]]);
    const context = { actor: '', commandId: 'child' };
    await sessions.handle(aggregate(), executionStream(child), creationOf(child, ''), context);
    await nodeEvent(NODE.RUNNING, more);
    expect(reads).toEqual([
      { from: 0n, limit: 1 },
      { from: 0n, limit: 1 },
    ]);
  });

  it('are refused when the only attempt to create the child execution was voided', async () => {
    const child = { ...id, name: 'child' };
    const more = { targetMetadata: { case: 'workflowNodeMetadata', value: { executionId: child } } };
    const context = { actor: '', commandId: 'void' };
    const voiding = { type: 'VoidExecution', id: child, attempt: 'x' } as const;
    await sessions.handle(aggregate(), executionStream(child), voiding, context);
    await expect(nodeEvent(NODE.RUNNING, more)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  });

  it('are refused with the name of their node, and when their outputs are too large', async () => {
    await nodeEvent(NODE.RUNNING);
    await expect(nodeEvent(NODE.RUNNING)).rejects.toMatchObject({ code: 'ALREADY_EXISTS' });
    await expect(nodeEvent(NODE.RUNNING)).rejects.toThrow('n0');
    const large = { literals: { o: { hash: 'x'.repeat(MAX_OUTPUT_BYTES) } } };
    const done = { outputResult: { case: 'outputData', value: large } };
    await expect(nodeEvent(NODE.SUCCEEDED, done)).rejects.toMatchObject({ code: 'RESOURCE_EXHAUSTED' });
  });
});

describe('the answer of a launch', () => {
  it('has the id and the position of the execution, which is launched in the name of the caller', async () => {
    const actors: unknown[] = [];
    const response = await answerLaunch(call, (actor) => {
      actors.push(actor);
      return Promise.resolve({ kind: 'launched', id, position: 7n });
    });
    expect([response.id, answered]).toMatchObject([id, [7n]]);
    expect(actors).toMatchObject([{ actor: 'ada', principal: 'ada' }]);
  });

  it('is the error of each refusal', async () => {
    const refused = (refusal: LaunchRefusal) =>
      answerLaunch(call, () => Promise.resolve({ kind: 'refused', id, refusal }));
    const error = new RpcError('NOT_FOUND', 'no plan');
    await expect(refused({ kind: 'invalid', error })).rejects.toBe(error);
    await expect(refused({ kind: 'execution', refusal: { kind: 'execution-exists' } })).rejects.toMatchObject({
      code: 'ALREADY_EXISTS',
      message: 'value with matching already exists (execution project:"flytesnacks" domain:"development" name:"run")',
    });
    await expect(refused({ kind: 'limit-reached', max: 3, plan: 'p' })).rejects.toMatchObject({
      code: 'ALREADY_EXISTS',
      message: 'concurrency limit (3) reached for launch plan p; skipping execution',
    });
    expect(answered).toEqual([]);
  });
});

describe('changes of an execution', () => {
  const terminate = (cause: string, more: object = { id }) =>
    terminateExecution(services(), create(ExecutionTerminateRequestSchema, { ...more, cause }), call);
  const update = (more: MessageInitShape<typeof ExecutionUpdateRequestSchema>) =>
    updateExecution(services(), create(ExecutionUpdateRequestSchema, more), call);

  it('are answered with their position', async () => {
    await update({ id, state: ExecutionState.EXECUTION_ARCHIVED });
    await terminate('x'.repeat(32_000));
    expect(answered).toEqual([2n, 3n]);
  });

  it('are refused with the invalid field or the unknown execution', async () => {
    await expect(terminate('x'.repeat(32_001))).rejects.toThrow(
      'invalid value for cause: longer than 32000 characters',
    );
    await expect(update({ id, state: 9 as never })).rejects.toThrow(
      'invalid value for state: 9 is not a state of an execution',
    );
    await expect(terminate('', {})).rejects.toThrow('missing id');
    const nowhere = { ...id, name: 'nowhere' };
    await expect(terminate('', { id: nowhere })).rejects.toThrow('name:"nowhere"');
    expect(answered).toHaveLength(1);
  });
});

describe('signals', () => {
  const simple = (value: SimpleType) => ({ type: { case: 'simple', value } }) as const;
  const INTEGER = simple(SimpleType.INTEGER);
  const number = (value: bigint) =>
    ({
      value: {
        case: 'scalar',
        value: {
          value: { case: 'primitive', value: { value: { case: 'integer', value } } },
        },
      },
    }) as const;
  const signalId = { signalId: 'go', executionId: id };
  const ask = (request: MessageInitShape<typeof SignalGetOrCreateRequestSchema>) =>
    send('GetOrCreateSignal', create(SignalGetOrCreateRequestSchema, request)) as Promise<
      MessageShape<typeof SignalSchema>
    >;
  const set = (request: MessageInitShape<typeof SignalSetRequestSchema>) =>
    send('SetSignal', create(SignalSetRequestSchema, request));

  it('are created, and have the value that is set', async () => {
    const made = await ask({ id: signalId, type: INTEGER });
    expect(made).toMatchObject({ id: signalId, type: INTEGER });
    expect(made.value).toBeUndefined();
    expect(reads).toEqual([]);
    await set({ id: signalId, value: number(7n) });
    expect((await ask({ id: signalId, type: INTEGER })).value).toMatchObject(number(7n));
    expect([reads, answered]).toEqual([[{ from: 2n, limit: 1 }], [2n, 3n, 3n]]);
  });

  it('take no value of another type, and none before they are created', async () => {
    await ask({ id: signalId, type: simple(SimpleType.STRING) });
    await expect(set({ id: signalId, value: number(7n) })).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await expect(set({ id: { ...signalId, signalId: 'no' }, value: number(7n) })).rejects.toThrow(
      'failed to validate that signal',
    );
  });

  it('take values up to the largest size of outputs', async () => {
    await ask({ id: signalId, type: simple(SimpleType.STRING) });
    const text = (length: number) =>
      ({
        value: {
          case: 'scalar',
          value: { value: { case: 'primitive', value: { value: { case: 'stringValue', value: 'x'.repeat(length) } } } },
        },
      }) as const;
    const overheadBytes = 12; // tags and lengths
    await expect(set({ id: signalId, value: text(MAX_OUTPUT_BYTES - overheadBytes + 1) })).rejects.toMatchObject({
      code: 'RESOURCE_EXHAUSTED',
      message: 'Signal value size exceeds platform configured threshold (100001 > 100000)',
    });
    await set({ id: signalId, value: text(MAX_OUTPUT_BYTES - overheadBytes) });
  });

  it.each<[string, MessageInitShape<typeof SignalGetOrCreateRequestSchema>, string]>([
    ['no id', {}, 'missing id'],
    ['no execution', { id: { signalId: 'go' } }, 'missing execution_id'],
    ['no name', { id: { executionId: id } }, 'missing signal_id'],
    ['no project', { id: { ...signalId, executionId: { ...id, project: '' } } }, 'missing project'],
    ['no domain', { id: { ...signalId, executionId: { ...id, domain: '' } } }, 'missing domain'],
    ['no name of the execution', { id: { ...signalId, executionId: { ...id, name: '' } } }, 'missing name'],
    [
      'a long name',
      { id: { ...signalId, signalId: 'ä'.repeat(513) /* 1,026 bytes */ } },
      'signal_id: longer than 1024 bytes',
    ],
    ['no type', { id: signalId }, 'missing type'],
    ['an empty type', { id: signalId, type: {} }, 'missing type'],
    [
      'a large type',
      { id: signalId, type: { ...INTEGER, metadata: { text: 'x'.repeat(70_000) } } },
      'invalid value for type: it has more than 65536 bytes',
    ],
  ])('are refused in an incomplete or invalid request: %s', async (_, request, reason) => {
    await expect(ask(request)).rejects.toThrow(reason);
    expect(answered).toEqual([]);
  });

  it('have types of up to 64 KiB', async () => {
    const typeOf = (length: number) =>
      create(LiteralTypeSchema, { ...INTEGER, structure: { tag: 'x'.repeat(length) } });
    const overheadBytes = toBinary(LiteralTypeSchema, typeOf(60_000)).length - 60_000;
    const largest = MAX_INLINE_BYTES - overheadBytes;
    await expect(ask({ id: signalId, type: typeOf(largest + 1) })).rejects.toThrow('it has more than 65536 bytes');
    await ask({ id: signalId, type: typeOf(largest) });
    expect(answered).toEqual([2n]);
  });

  it('need a complete value and a known execution, and may have names of 1,024 bytes', async () => {
    await expect(set({ id: signalId })).rejects.toThrow('missing value');
    const problem = literalProblem('value', create(LiteralSchema))!;
    await expect(set({ id: signalId, value: {} })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: problem,
    });
    await ask({ id: { ...signalId, signalId: 'ä'.repeat(512) }, type: INTEGER });
    const nowhere = { ...signalId, executionId: { ...id, name: 'nowhere' } };
    await expect(ask({ id: nowhere, type: INTEGER })).rejects.toThrow('name:"nowhere"');
  });
});
