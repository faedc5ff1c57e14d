import { rmSync } from 'node:fs';
import {
  clone,
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  type MessageInitShape,
  toBinary,
} from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { AnnotationsSchema } from '../../proto/gen/platformidl/admin/common_pb.js';
import { ExecutionCreateRequestSchema, ExecutionState } from '../../proto/gen/platformidl/admin/execution_pb.js';
import { LaunchPlanCreateRequestSchema, LaunchPlanState } from '../../proto/gen/platformidl/admin/launch_plan_pb.js';
import { TaskCreateRequestSchema } from '../../proto/gen/platformidl/admin/task_pb.js';
import { WorkflowCreateRequestSchema } from '../../proto/gen/platformidl/admin/workflow_pb.js';
import {
  NodeExecution_Phase as NodePhase,
  TaskExecution_Phase as TaskPhase,
  WorkflowExecution_Phase as Phase,
} from '../../proto/gen/platformidl/core/execution_pb.js';
import { LiteralMapSchema } from '../../proto/gen/platformidl/core/literals_pb.js';
import { WorkflowMetadataSchema } from '../../proto/gen/platformidl/core/workflow_pb.js';
import { SimpleType } from '../../proto/gen/platformidl/core/types_pb.js';
import { SignalService } from '../../proto/gen/platformidl/service/signal_pb.js';
import {
  MatchableResource,
  type MatchingAttributesSchema,
} from '../../proto/gen/platformidl/admin/matchable_resource_pb.js';
import { ResourceType } from '../../proto/gen/platformidl/core/identifier_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { type ControlPlane, register, startControlPlane } from '../support/processes/control-plane.js';
import { fixtureFolder, withNeeds } from '../support/requests/fixtures.js';
import { helloRequest, launchHello, literal } from '../support/requests/hello.js';
import { nodeReport, taskReport, workflowReport } from '../support/requests/reports.js';
import type { Answer, Transport } from '../support/clients/transports.js';

const { method } = AdminService;

const entryOf = <Desc extends DescMessage>(kind: string, schema: Desc) =>
  fromBinary(schema, fixtureFolder('01-hello').entries.find((entry) => entry.kind === kind)!.bytes);
const task = entryOf('task', TaskCreateRequestSchema);
const workflow = entryOf('workflow', WorkflowCreateRequestSchema);
const plan = entryOf('launch_plan', LaunchPlanCreateRequestSchema);

/** A command, and a second request of the same RPC for the same target; both encoded. */
type Keyed = { readonly rpc: string; readonly request: Uint8Array; readonly other: Uint8Array };

/** Encodes the two requests of a command. */
const keyed = <I extends DescMessage>(
  { name, input }: DescMethodUnary<I>,
  request: MessageInitShape<I>,
  other: MessageInitShape<I>,
): Keyed => ({
  rpc: name,
  request: toBinary(input, create(input, request)),
  other: toBinary(input, create(input, other)),
});

const PLACE = { project: 'flytesnacks', domain: 'development' };
const runningOf = (way: string) => ({ ...PLACE, name: `running-${way}` });
const failedOf = (way: string) => ({ ...PLACE, name: `failed-${way}` });

const GREET = { ...PLACE, name: 'hello.greet' };
const simple = (value: SimpleType) => ({ type: { case: 'simple', value } }) as const;

/** Attributes that differ for each transport. */
const parallelism = (way: string): MessageInitShape<typeof MatchingAttributesSchema> => ({
  target: { case: 'workflowExecutionConfig', value: { maxParallelism: way.length, envs: { values: [{ key: way }] } } },
});

/** Commands of many RPCs, in the order in which they are sent. */
const commandsOf = (way: string): readonly Keyed[] => {
  const running = runningOf(way);
  const version = `keyed-${way}`;
  const spec = clone(WorkflowCreateRequestSchema, workflow).spec!;
  spec.template!.nodes = [...spec.template!.nodes, { ...spec.template!.nodes[0]!, id: 'one-more' }];
  const nameless = helloRequest('');
  return [
    keyed(
      method.registerProject,
      { project: { id: `p-${way}`, name: 'a' } },
      { project: { id: `p-${way}`, name: 'b' } },
    ),
    keyed(method.updateProject, { id: 'flytesnacks', name: `by ${way}` }, { id: 'flytesnacks', name: `not ${way}` }),
    keyed(
      method.createTask,
      { ...task, id: { ...task.id!, version } },
      {
        ...task,
        id: { ...task.id!, version },
        spec: { ...task.spec!, template: { ...task.spec!.template!, type: 'another' } },
      },
    ),
    keyed(
      method.createWorkflow,
      { ...workflow, id: { ...workflow.id!, version } },
      { ...workflow, id: { ...workflow.id!, version }, spec },
    ),
    keyed(
      method.createLaunchPlan,
      { ...plan, id: { ...plan.id!, version } },
      { ...plan, id: { ...plan.id!, version }, spec: { ...plan.spec!, maxParallelism: 7 } },
    ),
    keyed(
      method.updateLaunchPlan,
      { id: { ...plan.id!, version }, state: LaunchPlanState.ACTIVE },
      { id: { ...plan.id!, version }, state: LaunchPlanState.INACTIVE },
    ),
    keyed(
      method.createExecution,
      helloRequest(`keyed-${way}`),
      helloRequest(`keyed-${way}`, ({ spec: s }) => (s!.maxParallelism = 3)),
    ),
    keyed(
      method.createExecution,
      nameless,
      helloRequest('', ({ spec: s }) => (s!.maxParallelism = 3)),
    ),
    keyed(method.relaunchExecution, { id: running }, { id: running, overwriteCache: true }),
    keyed(method.recoverExecution, { id: failedOf(way) }, { id: failedOf(way), metadata: { nesting: 2 } }),
    keyed(
      method.updateExecution,
      { id: running, state: ExecutionState.EXECUTION_ARCHIVED },
      { id: running, state: ExecutionState.EXECUTION_ACTIVE },
    ),
    keyed(
      method.createWorkflowEvent,
      workflowReport(running, { phase: Phase.RUNNING }),
      workflowReport(running, { phase: Phase.SUCCEEDING }),
    ),
    keyed(
      method.createNodeEvent,
      nodeReport(running, 'n0', { phase: NodePhase.RUNNING }),
      nodeReport(running, 'n0', { phase: NodePhase.SUCCEEDED }),
    ),
    keyed(
      method.createTaskEvent,
      taskReport(running, 'n0', { phase: TaskPhase.RUNNING }),
      taskReport(running, 'n0', { phase: TaskPhase.FAILED }),
    ),
    keyed(
      SignalService.method.getOrCreateSignal,
      { id: { signalId: 'gate', executionId: running }, type: simple(SimpleType.INTEGER) },
      { id: { signalId: 'gate', executionId: running }, type: simple(SimpleType.STRING) },
    ),
    keyed(
      SignalService.method.setSignal,
      { id: { signalId: 'gate', executionId: running }, value: literal(1n) },
      { id: { signalId: 'gate', executionId: running }, value: literal(2n) },
    ),
    keyed(method.terminateExecution, { id: running, cause: 'enough' }, { id: running, cause: 'another' }),
    keyed(
      method.updateNamedEntity,
      { resourceType: ResourceType.TASK, id: GREET, metadata: { description: `by ${way}` } },
      { resourceType: ResourceType.TASK, id: GREET, metadata: { description: `not by ${way}` } },
    ),
    keyed(
      method.updateProjectAttributes,
      { attributes: { project: PLACE.project, matchingAttributes: parallelism(way) } },
      { attributes: { project: PLACE.project, matchingAttributes: parallelism('another') } },
    ),
    keyed(
      method.updateProjectDomainAttributes,
      { attributes: { ...PLACE, matchingAttributes: parallelism(way) } },
      { attributes: { ...PLACE, matchingAttributes: parallelism('another') } },
    ),
    keyed(
      method.updateWorkflowAttributes,
      { attributes: { ...PLACE, workflow: way, matchingAttributes: parallelism(way) } },
      { attributes: { ...PLACE, workflow: way, matchingAttributes: parallelism('another') } },
    ),
    keyed(
      method.deleteWorkflowAttributes,
      { ...PLACE, workflow: way, resourceType: MatchableResource.WORKFLOW_EXECUTION_CONFIG },
      { ...PLACE, workflow: way, resourceType: MatchableResource.TASK_RESOURCE },
    ),
  ];
};

const WAYS = ['grpc', 'rest'] as const;
/** The longest idempotency key, in characters. */
const MAX_KEY_LENGTH = 256;
let plane: ControlPlane;
beforeAll(async () => {
  plane = await startControlPlane();
  await register(plane.grpc, withNeeds('01-hello'));
});
afterAll(async () => {
  await plane.kill();
  rmSync(plane.directory, { recursive: true });
});

/** Launches the executions `running-…`, and `failed-…`, which fails. */
const setUp = async (transport: Transport, way: string): Promise<void> => {
  await launchHello(transport, runningOf(way).name);
  const failed = await launchHello(transport, failedOf(way).name);
  await transport.call(method.createWorkflowEvent, workflowReport(failed, { phase: Phase.FAILED }));
};

/** Each command as its RPC, for the title of a test, and its index. */
const named = (commands: readonly Keyed[]): readonly (readonly [string, number])[] =>
  commands.map(({ rpc }, at) => [rpc, at] as const);

/** Sends a command with its idempotency key. */
const send = (transport: Transport, { rpc }: Keyed, bytes: Uint8Array, key: string): Promise<Answer> =>
  transport.send(rpc, bytes, { 'idempotency-key': key });

describe.each(WAYS)('a request that is sent again under its key over %s', (way) => {
  const commands = commandsOf(way);

  beforeAll(() => setUp(plane[way], way));

  it.each(named(commands))('%s has the first answer, and is done once', async (_, at) => {
    const command = commands[at]!;
    const key = `again-${way}-${at}`;
    const before = await plane.head();
    const first = await send(plane[way], command, command.request, key);
    expect([first.code, first.message]).toEqual(['OK', expect.anything()]);
    expect(await plane.head()).toBeGreaterThan(before);
    const again = await plane.unchanged(() => send(plane[way], command, command.request, key));
    expect([again.code, again.bytes]).toEqual(['OK', first.bytes]);
    expect(again.position).toMatch(/\.\d+$/u); // the id of the log, a dot, the position
  });

  it.each(named(commands))('%s is INVALID_ARGUMENT when its content is another', async (_, at) => {
    const command = commands[at]!;
    // The key with which the test above has sent the first content.
    const another = await plane.unchanged(() => send(plane[way], command, command.other, `again-${way}-${at}`));
    expect(another).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('idempotency-key') as string,
    });
  });

  it('is a request of its own when its target or its operation is another', async () => {
    const key = { 'idempotency-key': 'shared' };
    const running = runningOf(`${way}-shared`);
    await launchHello(plane[way], running.name);
    const reports = ['a', 'b'].map((node) => nodeReport(running, node, { phase: NodePhase.QUEUED }));
    for (const report of reports) {
      const bytes = toBinary(method.createNodeEvent.input, create(method.createNodeEvent.input, report));
      expect((await plane[way].send('CreateNodeEvent', bytes, key)).code).toBe('OK');
    }
    const others = [
      ...['a', 'b'].map((signalId) => {
        const { input } = SignalService.method.getOrCreateSignal;
        const id = { signalId, executionId: running };
        return ['GetOrCreateSignal', toBinary(input, create(input, { id, type: simple(SimpleType.NONE) }))] as const;
      }),
      ...['a', 'b'].map((workflow) => {
        const { input } = method.updateWorkflowAttributes;
        const attributes = { ...PLACE, workflow: `${workflow}-${way}`, matchingAttributes: parallelism(way) };
        return ['UpdateWorkflowAttributes', toBinary(input, create(input, { attributes }))] as const;
      }),
    ];
    for (const [rpc, request] of others) expect((await plane[way].send(rpc, request, key)).code).toBe('OK');
    const terminate = create(method.terminateExecution.input, { id: running });
    const bytes = toBinary(method.terminateExecution.input, terminate);
    expect((await plane[way].send('TerminateExecution', bytes, key)).code).toBe('OK');
  });

  it('is refused when the key is too long', async () => {
    const bytes = toBinary(ExecutionCreateRequestSchema, helloRequest(''));
    const answer = await plane.unchanged(() =>
      plane[way].send('CreateExecution', bytes, { 'idempotency-key': 'k'.repeat(MAX_KEY_LENGTH + 1) }),
    );
    expect(answer).toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining('idempotency-key') as string,
    });
  });

  it('is executed when it was refused before', async () => {
    const running = runningOf(`${way}-refused`);
    const bytes = toBinary(method.terminateExecution.input, create(method.terminateExecution.input, { id: running }));
    const key = { 'idempotency-key': 'sent-again-later' };
    expect((await plane[way].send('TerminateExecution', bytes, key)).code).toBe('NOT_FOUND');
    await launchHello(plane[way], running.name);
    expect((await plane[way].send('TerminateExecution', bytes, key)).code).toBe('OK');
  });
});

/** A map of two entries and more than 256 KiB, in one order or the other. */
const largeMap = <Value>(
  large: (text: string) => Value,
  small: NoInfer<Value>,
  isReversed: boolean,
): Record<string, Value> => {
  const entries = [['name', large('x'.repeat(300_000))] as const, ['times', small] as const];
  return Object.fromEntries(isReversed ? entries.reverse() : entries);
};

/** Commands with large maps, and the same commands with each map in another order. */
const largeCommands = (way: string): readonly Keyed[] => {
  const running = runningOf(way);
  const version = `large-${way}`;
  const texts = (isReversed: boolean) => largeMap((text) => text, 'y', isReversed);
  const literals = (isReversed: boolean) =>
    create(LiteralMapSchema, { literals: largeMap(literal, literal(1n), isReversed) });
  const launch = (name: string) => (isReversed: boolean) =>
    helloRequest(name, (request) => (request.inputs = literals(isReversed)));
  const inOrders = <I extends DescMessage>(
    rpc: DescMethodUnary<I>,
    request: (isReversed: boolean) => MessageInitShape<I>,
  ): Keyed => keyed(rpc, request(false), request(true));
  return [
    inOrders(method.createTask, (isReversed) => ({
      id: { ...task.id!, version },
      spec: { ...task.spec!, template: { ...task.spec!.template!, config: texts(isReversed) } },
    })),
    inOrders(method.createWorkflow, (isReversed) => ({
      id: { ...workflow.id!, version },
      spec: {
        ...workflow.spec!,
        template: {
          ...workflow.spec!.template!,
          metadata: create(WorkflowMetadataSchema, { tags: texts(isReversed) }),
        },
      },
    })),
    inOrders(method.createLaunchPlan, (isReversed) => ({
      id: { ...plan.id!, version: `keyed-${way}-annotated` },
      spec: { ...plan.spec!, annotations: create(AnnotationsSchema, { values: texts(isReversed) }) },
    })),
    inOrders(method.createExecution, launch(version)),
    inOrders(method.createExecution, launch('')),
    inOrders(method.createTaskEvent, (isReversed) =>
      taskReport(running, 'n0', { phase: TaskPhase.RUNNING, customInfo: texts(isReversed) }),
    ),
    inOrders(SignalService.method.setSignal, (isReversed) => ({
      id: { signalId: 'large', executionId: running },
      value: {
        value: {
          case: 'map' as const,
          value: create(LiteralMapSchema, { literals: largeMap(literal, literal('y'), isReversed) }),
        },
      },
    })),
  ];
};

describe.each(WAYS)('a request above 256 KiB that is sent again over %s with its maps in another order', (sentBy) => {
  const way = `turned-${sentBy}`;
  const commands = largeCommands(way);

  beforeAll(async () => {
    const running = await launchHello(plane[sentBy], runningOf(way).name);
    await plane[sentBy].call(method.createNodeEvent, nodeReport(running, 'n0', { phase: NodePhase.RUNNING }));
    await plane[sentBy].call(SignalService.method.getOrCreateSignal, {
      id: { signalId: 'large', executionId: running },
      type: { type: { case: 'mapValueType', value: simple(SimpleType.STRING) } },
    });
  });

  it.each(named(commands))('%s has the first answer under its key, and is done once', async (_, at) => {
    const { rpc, request, other } = commands[at]!;
    expect(Buffer.compare(request, other)).not.toBe(0);
    const key = { 'idempotency-key': `${way}-${at}` };
    const first = await plane[sentBy].send(rpc, request, key);
    expect([first.code, first.message]).toEqual(['OK', expect.anything()]);
    const again = await plane.unchanged(() => plane[sentBy].send(rpc, other, key));
    expect([again.code, again.message, again.bytes]).toEqual(['OK', first.message, first.bytes]);
  });
});

describe('a request whose answer was lost, because the process was killed after the commit', () => {
  const commands = commandsOf('killed');
  const FAIL = { FLIGHTLOG_FAIL_POINT: 'after-commit:1' };

  /** Starts the process anew; it is killed after its next commit. A repeat commits nothing. */
  const restart = async (): Promise<void> => {
    await plane.kill();
    plane = await startControlPlane(FAIL, plane.directory);
  };

  beforeAll(async () => {
    await setUp(plane.grpc, 'killed');
    await restart();
  });

  // Commands for several kinds of streams; among them launches with and without a name.
  const killed = new Set(
    [
      method.registerProject,
      method.createWorkflow,
      method.createLaunchPlan,
      method.createExecution,
      method.createNodeEvent,
      SignalService.method.getOrCreateSignal,
      method.terminateExecution,
      method.updateProjectAttributes,
    ].map(({ name }) => name),
  );

  it.each(named(commands).filter(([rpc]) => killed.has(rpc)))(
    '%s is answered when it is sent again, and done once',
    async (_, at) => {
      const command = commands[at]!;
      const way = WAYS[at % 2]!;
      const before = await plane.head();
      const lost = await send(plane[way], command, command.request, `lost-${at}`).catch(() => undefined);
      expect(lost?.code).not.toBe('OK');
      const after = await plane.head();
      expect(after).toBeGreaterThan(before);
      await restart();
      const again = await plane.unchanged(() => send(plane[way], command, command.request, `lost-${at}`));
      expect([again.code, again.message]).toEqual(['OK', expect.anything()]);
      expect(await plane.head()).toBe(after);
    },
    60_000,
  );
});
