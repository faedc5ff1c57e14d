import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { Sort_Direction as Direction } from '../../../proto/gen/platformidl/admin/common_pb.js';
import type { SignalListRequestSchema } from '../../../proto/gen/platformidl/admin/signal_pb.js';
import { WorkflowExecution_Phase as Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import { type Literal, LiteralSchema } from '../../../proto/gen/platformidl/core/literals_pb.js';
import { type LiteralType, LiteralTypeSchema, SimpleType } from '../../../proto/gen/platformidl/core/types_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { SignalService } from '../../../proto/gen/platformidl/service/signal_pb.js';
import { type ControlPlane, register, startControlPlane } from '../../support/processes/control-plane.js';
import { withNeeds } from '../../support/requests/fixtures.js';
import { launchHello, literal } from '../../support/requests/hello.js';
import { allPages } from '../../support/clients/lists.js';
import { PLACE } from '../../support/requests/registrations.js';
import { type ExecutionId, workflowReport } from '../../support/requests/reports.js';
import type { Transport } from '../../support/clients/transports.js';

const { method } = SignalService;

type List = Partial<Exclude<MessageInitShape<typeof SignalListRequestSchema>, { $typeName: string }>>;

const simpleType = (value: SimpleType): LiteralType => create(LiteralTypeSchema, { type: { case: 'simple', value } });
const { INTEGER, STRING, BOOLEAN, FLOAT, NONE } = SimpleType;
const listOf = (element: LiteralType): LiteralType =>
  create(LiteralTypeSchema, { type: { case: 'collectionType', value: element } });
const optional = (element: LiteralType): LiteralType =>
  create(LiteralTypeSchema, { type: { case: 'unionType', value: { variants: [element, simpleType(NONE)] } } });

const value = (given: bigint | string): Literal => create(LiteralSchema, literal(given));
/** A list of integers. */
const values = (...given: bigint[]): Literal =>
  create(LiteralSchema, { value: { case: 'collection', value: { literals: given.map((each) => literal(each)) } } });

let plane: ControlPlane;
beforeAll(async () => {
  plane = await startControlPlane();
  await register(plane.grpc, withNeeds('01-hello'));
});
afterAll(() => plane.close());

describe.each(['grpc', 'rest'] as const)('signals over %s', (way) => {
  let transport: Transport;
  let execution: ExecutionId;
  const idOf = (signalId: string, executionId = execution) => ({ signalId, executionId });
  const getOrCreate = (signalId: string, wanted = simpleType(INTEGER), of = execution) =>
    transport.call(method.getOrCreateSignal, { id: idOf(signalId, of), type: wanted });
  const set = (signalId: string, given: Literal) =>
    transport.call(method.setSignal, { id: idOf(signalId), value: given });

  beforeAll(async () => {
    transport = plane[way];
    execution = await launchHello(transport, `signals-${way}`);
  });

  it('are created by the first caller, without a value, and found by later calls', async () => {
    const made = await getOrCreate('first');
    expect(made).toMatchObject({ id: { signalId: 'first', executionId: execution }, type: simpleType(INTEGER) });
    expect(made.value).toBeUndefined();
    expect(await plane.unchanged(() => getOrCreate('first'))).toEqual(made);
  });

  it('have the value that was set last; the same value again is not recorded', async () => {
    await getOrCreate('counted');
    await set('counted', value(1n));
    expect((await getOrCreate('counted')).value).toEqual(value(1n));
    await plane.unchanged(() => set('counted', value(1n)));
    await set('counted', value(2n));
    expect((await getOrCreate('counted')).value).toEqual(value(2n));
  });

  it('keep a value of 500,000 characters', async () => {
    await getOrCreate('large', simpleType(STRING));
    const text = 'x'.repeat(500_000);
    await set('large', value(text));
    expect((await getOrCreate('large', simpleType(STRING))).value).toEqual(value(text));
    const { signals } = await transport.call(method.listSignals, {
      workflowExecutionId: execution,
      filters: 'eq(signal_id,large)',
    });
    expect(signals[0]!.value).toEqual(value(text));
  });

  it.each<[string, () => LiteralType, () => Literal, boolean]>([
    ['an integer', () => simpleType(INTEGER), () => value(1n), true],
    ['a text for an integer', () => simpleType(INTEGER), () => value('1'), false],
    ['a text', () => simpleType(STRING), () => value('x'), true],
    ['an integer for a boolean', () => simpleType(BOOLEAN), () => value(1n), false],
    ['an integer for a float', () => simpleType(FLOAT), () => value(1n), false],
    ['a list', () => listOf(simpleType(INTEGER)), () => values(1n, 2n), true],
    ['an empty list', () => listOf(simpleType(INTEGER)), () => values(), true],
    ['integers for a list of texts', () => listOf(simpleType(STRING)), () => values(1n), false],
    ['a list for an integer', () => simpleType(INTEGER), () => values(1n), false],
    ['an integer for an optional integer', () => optional(simpleType(INTEGER)), () => value(1n), true],
    ['a text for an optional integer', () => optional(simpleType(INTEGER)), () => value('x'), false],
  ])('take only values that can be cast to their type: %s', async (what, wanted, given, isCast) => {
    await getOrCreate(what, wanted());
    const attempt = () => transport.attempt(method.setSignal, { id: idOf(what), value: given() });
    const answer = isCast ? await attempt() : await plane.unchanged(attempt);
    expect(answer.code).toBe(isCast ? 'OK' : 'INVALID_ARGUMENT');
    if (!isCast) expect(answer.message).toContain('is not castable');
  });

  it.each<[string, () => object, string, string]>([
    ['no identifier', () => ({ id: undefined }), 'INVALID_ARGUMENT', 'missing id'],
    ['no execution', () => ({ id: { signalId: 'x' } }), 'INVALID_ARGUMENT', 'missing execution_id'],
    ['no signal id', () => ({ id: { executionId: execution } }), 'INVALID_ARGUMENT', 'missing signal_id'],
    ['no project', () => ({ id: idOf('x', { ...execution, project: '' }) }), 'INVALID_ARGUMENT', 'missing project'],
    ['no domain', () => ({ id: idOf('x', { ...execution, domain: '' }) }), 'INVALID_ARGUMENT', 'missing domain'],
    ['no name', () => ({ id: idOf('x', { ...execution, name: '' }) }), 'INVALID_ARGUMENT', 'missing name'],
    ['a signal id of 1,025 bytes', () => ({ id: idOf('x'.repeat(1_025)) }), 'INVALID_ARGUMENT', 'signal_id'],
    ['no type', () => ({ type: undefined }), 'INVALID_ARGUMENT', 'missing type'],
    ['an empty type', () => ({ type: {} }), 'INVALID_ARGUMENT', 'missing type'],
    [
      'an execution that is not there',
      () => ({ id: idOf('x', { ...PLACE, name: 'unknown' }) }),
      'NOT_FOUND',
      'execution',
    ],
  ])('are not created with %s', async (_what, change, code, text) => {
    const request = { id: idOf('never'), type: simpleType(INTEGER), ...change() };
    const answer = await plane.unchanged(() => transport.attempt(method.getOrCreateSignal, request));
    expect([answer.code, answer.message]).toEqual([code, expect.stringContaining(text)]);
  });

  it('keep their type: another one gets ALREADY_EXISTS', async () => {
    await getOrCreate('typed');
    const request = { id: idOf('typed'), type: simpleType(STRING) };
    const answer = await plane.unchanged(() => transport.attempt(method.getOrCreateSignal, request));
    expect([answer.code, answer.message]).toEqual(['ALREADY_EXISTS', expect.stringContaining('integer')]);
  });

  it.each<[string, () => object, string, string]>([
    ['no identifier', () => ({ id: undefined }), 'INVALID_ARGUMENT', 'missing id'],
    ['no execution', () => ({ id: { signalId: 'x' } }), 'INVALID_ARGUMENT', 'missing execution_id'],
    ['no signal id', () => ({ id: { executionId: execution } }), 'INVALID_ARGUMENT', 'missing signal_id'],
    ['no value', () => ({ value: undefined }), 'INVALID_ARGUMENT', 'missing value'],
    ['an empty value', () => ({ value: {} }), 'INVALID_ARGUMENT', 'value'],
    [
      'a signal that no gate has asked for',
      () => ({ id: idOf('unasked') }),
      'INVALID_ARGUMENT',
      'failed to validate that signal [unasked]',
    ],
    [
      'an execution that is not there',
      () => ({ id: idOf('x', { ...PLACE, name: 'unknown' }) }),
      'INVALID_ARGUMENT',
      'signal does not exist',
    ],
    [
      'a value of more than 2 MiB',
      () => ({ value: value('x'.repeat(2 * 1024 * 1024)) }),
      'RESOURCE_EXHAUSTED',
      'Signal value size exceeds',
    ],
  ])('are not set with %s', async (_what, change, code, text) => {
    await getOrCreate('first');
    const request = { id: idOf('first'), value: value(1n), ...change() };
    const answer = await plane.unchanged(() => transport.attempt(method.setSignal, request));
    expect([answer.code, answer.message]).toEqual([code, expect.stringContaining(text)]);
  });

  it('of an execution that has ended are read, and neither created nor set', async () => {
    const over = await launchHello(transport, `over-${way}`);
    await getOrCreate('left', simpleType(INTEGER), over);
    await transport.call(AdminService.method.createWorkflowEvent, workflowReport(over, { phase: Phase.SUCCEEDED }));
    await plane.unchanged(() => getOrCreate('left', simpleType(INTEGER), over));
    for (const asked of [
      () => transport.attempt(method.setSignal, { id: idOf('left', over), value: value(1n) }),
      () => transport.attempt(method.getOrCreateSignal, { id: idOf('new', over), type: simpleType(INTEGER) }),
    ]) {
      const answer = await plane.unchanged(asked);
      expect([answer.code, answer.message]).toEqual(['FAILED_PRECONDITION', expect.stringContaining('SUCCEEDED')]);
    }
  });

  describe('in a list', () => {
    const NAMES = ['delta', 'alpha', 'charlie', 'bravo', 'echo'];
    let listed: ExecutionId;
    beforeAll(async () => {
      listed = await launchHello(transport, `listed-${way}`);
      for (const name of NAMES) await getOrCreate(name, simpleType(INTEGER), listed);
    });
    const page = (request: List = {}) =>
      transport.call(method.listSignals, { workflowExecutionId: listed, ...request });
    const names = async (request: List = {}) => (await page(request)).signals.map(({ id }) => id!.signalId);

    it('are those of the execution, in the order in which gates asked, with type and value', async () => {
      await transport.call(method.setSignal, { id: idOf('delta', listed), value: value(3n) });
      const { signals, token } = await page();
      expect(signals.map(({ id }) => id!.signalId)).toEqual(NAMES);
      expect(token).toBe('');
      expect(signals[0]).toMatchObject({ id: idOf('delta', listed), type: simpleType(INTEGER), value: value(3n) });
      expect(signals[1]!.value).toBeUndefined();
    });

    it.each<[List, readonly string[]]>([
      [{ filters: 'eq(signal_id,alpha)' }, ['alpha']],
      [{ filters: 'eq(signal.signal_id,alpha)' }, ['alpha']],
      [{ filters: 'value_in(signal_id,alpha;echo)' }, ['alpha', 'echo']],
      [{ filters: 'contains(signal_id,l)' }, ['delta', 'alpha', 'charlie']],
      [
        { filters: 'eq(execution_project,flytesnacks)+eq(execution_domain,development)+ne(signal_id,echo)' },
        NAMES.slice(0, 4),
      ],
      [{ filters: 'eq(execution_name,other)' }, []],
      [{ filters: 'lt(created_at,2024-01-01T00:00:00Z)' }, []],
      [{ sortBy: { key: 'signal_id', direction: Direction.ASCENDING } }, NAMES.toSorted()],
      [{ sortBy: { key: 'created_at', direction: Direction.DESCENDING } }, NAMES.toReversed()],
      [{ sortBy: { key: 'id', direction: Direction.ASCENDING } }, NAMES],
      // Columns in which no signal has a value that can be compared: a sort keeps the order, a filter finds nothing.
      ...['deleted_at', 'type', 'value'].flatMap((key): [List, readonly string[]][] => [
        [{ sortBy: { key, direction: Direction.ASCENDING } }, NAMES],
        [{ filters: `eq(${key},nothing)` }, []],
      ]),
      [{ filters: 'eq(signal.id,0)' }, []],
      [{ token: '3' }, NAMES.slice(3)],
    ])('are listed by %j', async (request, expected) => {
      expect(await names(request)).toEqual(expected);
    });

    it('come in pages', async () => {
      const found = await allPages(async (token) => {
        const { signals, token: next } = await page({ limit: 2, token });
        return { elements: signals.map(({ id }) => id!.signalId), token: next };
      });
      expect(found).toEqual(NAMES);
    });

    it('are none for an execution that does not exist', async () => {
      expect(await names({ workflowExecutionId: { ...PLACE, name: 'unknown' } })).toEqual([]);
    });

    it.each<[string, List, string]>([
      ['an unknown column', { filters: 'eq(colour,x)' }, "'s.colour' is invalid filter"],
      ['another entity', { filters: 'eq(execution.phase,RUNNING)' }, "'e' entity is not allowed in filters"],
      ['an unknown sort key', { sortBy: { key: 'colour' } }, "invalid sort key 'colour'"],
      ['an invalid token', { token: 'x' }, 'ListSignals'],
    ])('are not listed with %s', async (_what, request, text) => {
      const answer = await transport.attempt(method.listSignals, { workflowExecutionId: listed, ...request });
      expect([answer.code, answer.message]).toEqual(['INVALID_ARGUMENT', expect.stringContaining(text)]);
    });
  });
});

it.each<[string, List, string]>([
  ['no execution', {}, 'missing execution_id'],
  ['no project', { workflowExecutionId: { domain: 'd', name: 'n' } }, 'missing execution_id.project'],
  ['no domain', { workflowExecutionId: { project: 'p', name: 'n' } }, 'missing execution_id.domain'],
  ['no name', { workflowExecutionId: { project: 'p', domain: 'd' } }, 'missing execution_id.name'],
])('signals are not listed with %s', async (_what, request, text) => {
  const answer = await plane.grpc.attempt(method.listSignals, request);
  expect([answer.code, answer.message]).toEqual(['INVALID_ARGUMENT', expect.stringContaining(text)]);
});

it('50 calls that set a signal at once all succeed, and the signal has one of their values', async () => {
  const execution = await launchHello(plane.grpc, 'crowded');
  const id = { signalId: 'crowded', executionId: execution };
  await plane.grpc.call(method.getOrCreateSignal, { id, type: simpleType(INTEGER) });
  const sent = Array.from({ length: 50 }, (_, index) => value(BigInt(index)));
  await Promise.all(sent.map((each) => plane.grpc.call(method.setSignal, { id, value: each })));
  const { value: last } = await plane.grpc.call(method.getOrCreateSignal, { id, type: simpleType(INTEGER) });
  const { signals } = await plane.grpc.call(method.listSignals, { workflowExecutionId: execution });
  expect(sent).toContainEqual(last);
  expect(signals[0]!.value).toEqual(last);
});

it('an acknowledged value of a signal is there after the process was killed', async () => {
  const first = await startControlPlane();
  await register(first.grpc, withNeeds('01-hello'));
  const execution = await launchHello(first.grpc, 'killed');
  const id = { signalId: 'go', executionId: execution };
  const given = value('y'.repeat(300_000));
  await first.grpc.call(method.getOrCreateSignal, { id, type: simpleType(STRING) });
  await first.grpc.call(method.setSignal, { id, value: given });
  await first.kill();
  const again = await startControlPlane({}, first.directory);
  try {
    expect((await again.grpc.call(method.getOrCreateSignal, { id, type: simpleType(STRING) })).value).toEqual(given);
    const { signals } = await again.grpc.call(method.listSignals, { workflowExecutionId: execution });
    expect(signals[0]!.value).toEqual(given);
  } finally {
    await again.close();
  }
});
