import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { create } from '@bufbuild/protobuf';
import { AttributesUpdatedSchema } from '../../../proto/gen/platformidl/eventlog/attributes_pb.js';
import { WorkflowExecution_Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import { LiteralTypeSchema, SimpleType } from '../../../proto/gen/platformidl/core/types_pb.js';
import { LaunchPlanRegisteredSchema } from '../../../proto/gen/platformidl/eventlog/launch_plan_pb.js';
import {
  EngineSessionOpenedSchema,
  EngineSessionRenewedSchema,
} from '../../../proto/gen/platformidl/eventlog/engine_session_pb.js';
import {
  ScheduleTicksDecidedSchema,
  ScheduleTickSkipRequestedSchema,
} from '../../../proto/gen/platformidl/eventlog/schedule_pb.js';
import { DeadLetterRecordedSchema } from '../../../proto/gen/platformidl/eventlog/dead_letter_pb.js';
import { RoleGrantedSchema } from '../../../proto/gen/platformidl/eventlog/role_binding_pb.js';
import { SlotTakenSchema } from '../../../proto/gen/platformidl/eventlog/launch_plan_slots_pb.js';
import { NamedEntityUpdatedSchema } from '../../../proto/gen/platformidl/eventlog/named_entity_pb.js';
import { NamedEntityState } from '../../../proto/gen/platformidl/admin/common_pb.js';
import { NotificationStartedSchema } from '../../../proto/gen/platformidl/eventlog/notification_pb.js';
import { ProjectRegisteredSchema } from '../../../proto/gen/platformidl/eventlog/project_pb.js';
import { TaskRegisteredSchema } from '../../../proto/gen/platformidl/eventlog/task_pb.js';
import { WorkflowRegisteredSchema } from '../../../proto/gen/platformidl/eventlog/workflow_pb.js';
import {
  ExecutionCreatedSchema,
  ExecutionTaggedSchema,
  SignalCreatedSchema,
  SignalSetSchema,
} from '../../../proto/gen/platformidl/eventlog/execution_pb.js';
import { attributesAggregate } from '../../../services/attributes/decider.js';
import { engineSessionAggregate } from '../../../services/engine-session/decider.js';
import { executionAggregate } from '../../../services/execution/aggregate.js';
import type { ExecutionCommand } from '../../../services/execution/commands.js';
import type { ExecutionEvent } from '../../../services/execution/events.js';
import { type SizedClosure, sizedClosure } from '../../../services/execution/work/launch-message.js';
import type { Aggregate } from '../../../services/kernel/aggregate.js';
import { sha256Hex } from '../../../services/kernel/encoding/hash.js';
import { type KnownKeys, noteKey, sizeOfKeys } from '../../../services/kernel/idempotency.js';
import type { PayloadStore } from '../../../services/kernel/ports/payload-store.js';
import { streamName } from '../../../services/kernel/stream.js';
import { deadLetterAggregate } from '../../../services/dead-letter/decider.js';
import { roleBindingAggregate } from '../../../services/role-binding/decider.js';
import { scheduleAggregate } from '../../../services/schedule/decider.js';
import { slotsAggregate } from '../../../services/launch-plan-slots/decider.js';
import { launchPlanAggregate } from '../../../services/launch-plan/decider.js';
import { namedEntityAggregate } from '../../../services/named-entity/decider.js';
import { notificationAggregate } from '../../../services/notification/decider.js';
import { projectAggregate } from '../../../services/project/decider.js';
import {
  type DefinitionsOptions,
  type RegisteredDefinitions,
  registeredDefinitions,
} from '../../../services/reference/definitions.js';
import { openSessions } from '../../../services/sessions/sessions.js';
import { sqliteEventStore } from '../../../services/store/log/sqlite-event-store.js';
import { taskAggregate } from '../../../services/task/decider.js';
import { workflowAggregate } from '../../../services/workflow/decider.js';
import { heapBytes, heapBytesOfEach } from '../../support/costs/heap.js';
import { withNeeds } from '../../support/requests/fixtures.js';
import { purse } from '../../support/streams/purse.js';
import { openRegistry } from '../../support/streams/registry.js';
import { creation, node, task, taskId, termination, workflow } from '../execution/reports.js';

type Folding<State, Event> = Pick<Aggregate<State, never, Event, never>, 'codec'> & {
  readonly decider: { initial(): State; evolve(state: State, event: Event): State };
  sizeOf(state: State): number;
};

/** The schema version of the events. */
const SCHEMA = 1;

/** Returns a function that folds events as they come from the log: they are encoded once, and decoded for each fold. */
const folding = <State, Event>({ decider, codec }: Folding<State, Event>, events: readonly Event[]): (() => State) => {
  const encoded = events.map((event) => codec.encode(event));
  return () =>
    encoded.reduce(
      (state, { type, data }) => decider.evolve(state, codec.decode(type, data, SCHEMA)),
      decider.initial(),
    );
};

/** The bytes that are measured together, so many that V8's own use of the heap is small in comparison. */
const MEASURED_BYTES = 3_000_000;

/** The number of nodes, versions or other things in a stream of each size. */
const THINGS = { small: 1, large: 1_100 } as const;

/** The leases of a large stream: if their memory were kept, these would be several times the size that is declared. */
const LEASES = { small: 1, large: 50 } as const;
type Size = keyof typeof THINGS;

/** The ratio of the real memory of a folded state to the size that its aggregate declares. */
const ratio = <State, Event>(aggregate: Folding<State, Event>, events: readonly Event[]): number => {
  const fold = folding(aggregate, events);
  const declared = aggregate.sizeOf(fold());
  return heapBytesOfEach(Math.ceil(MEASURED_BYTES / declared), fold) / declared;
};

/** The numbers of the things in a stream of a size, from 0. */
const range = (size: Size, things: Readonly<Record<Size, number>> = THINGS): readonly number[] =>
  Array.from({ length: things[size] }, (_, index) => index);
const digest = (): Uint8Array => new Uint8Array(32);
const idOf = (version: string) => ({
  resourceType: 1, // its size is the same for all types
  project: 'flytesnacks',
  domain: 'development',
  name: 'core.a_workflow',
  version,
});
/** Content of an event that the state does not keep, small enough to stay in the event. */
const INLINE = { content: { case: 'inline', value: new Uint8Array(2_000) } } as const;

const noPayloads: PayloadStore = {
  put: () => Promise.reject(new Error('no content here is too large for an event')),
  get: () => Promise.resolve(undefined),
  close: () => Promise.resolve(),
};
const executions = executionAggregate({ payloads: noPayloads });

/** The events of commands that are decided one after another. */
const decided = (commands: readonly ExecutionCommand[]): readonly ExecutionEvent[] => {
  let state = executions.decider.initial();
  return commands.flatMap((command) => {
    const decision = executions.decider.decide(state, command);
    const events = decision.kind === 'accepted' ? decision.events : [];
    for (const event of events) state = executions.decider.evolve(state, event);
    return events;
  });
};

const withNodes = (size: Size) =>
  decided([
    creation,
    workflow('RUNNING'),
    ...range(size).flatMap((each) => [
      node('QUEUED', { node: `n${each}` }),
      node('RUNNING', { node: `n${each}` }),
      node('SUCCEEDED', { node: `n${each}` }),
    ]),
  ]);

const withTasks = (size: Size) =>
  decided([
    creation,
    workflow('RUNNING'),
    ...range(size).flatMap((each) => [
      node('RUNNING', { node: `n${each}` }),
      task('QUEUED', { node: `n${each}` }),
      task('RUNNING', { node: `n${each}` }),
    ]),
  ]);

/** Only the last lease is kept. */
const withLeases = (size: Size) =>
  decided([
    creation,
    ...range(size, LEASES).map((each) => {
      const session = `0f1d1a52-7c39-4b0e-8d5b-${String(each).padStart(12, '0')}`;
      const to = { group: 'default', engine: 'engine-0', session, producerId: 'engine-0' };
      const over = each === 0 ? undefined : each; // the number of the lease before, which has ended
      return { type: 'LeaseWork', id: creation.id, to, untilMs: 1_700_000_000_000, over } as const;
    }),
  ]);

const withSignals = (size: Size): readonly ExecutionEvent[] => [
  ...decided([creation]),
  ...range(size).flatMap((each): readonly ExecutionEvent[] => {
    const type = create(LiteralTypeSchema, { type: { case: 'simple', value: SimpleType.INTEGER } });
    const signalId = `approve-${each}`;
    return [
      { type: 'SignalCreated', data: create(SignalCreatedSchema, { id: creation.id, signalId, type }) },
      { type: 'SignalSet', data: create(SignalSetSchema, { signalId, value: INLINE, digest: digest() }) },
    ];
  }),
];

const withTags = (size: Size): readonly ExecutionEvent[] => {
  const tags = range(size).map((each) => `team-${each}`);
  return [
    { type: 'ExecutionCreated', data: create(ExecutionCreatedSchema, { id: creation.id, spec: { tags } }) },
    { type: 'ExecutionTagged', data: create(ExecutionTaggedSchema, { tags: tags.map((tag) => `${tag}-b`) }) },
  ];
};

/** A text of 2,000 characters. Ids of nodes, task names and versions may be that long. */
const longText = (each: number): string => String(each).padEnd(2_000, 'x');

/** The ids of nodes, tasks and signals, and the cause of a termination, are long. */
const withLongTexts = (): readonly ExecutionEvent[] => {
  const nodes = range('large').slice(0, 100).map(longText);
  const type = create(LiteralTypeSchema, { type: { case: 'simple', value: SimpleType.INTEGER } });
  return [
    ...decided([
      creation,
      ...nodes.flatMap((each) => [
        node('RUNNING', { node: each }),
        task('RUNNING', { node: each, taskId: { ...taskId, name: each } }),
      ]),
      { ...termination, cause: 'x'.repeat(30_000) },
    ]),
    ...nodes.map((signalId): ExecutionEvent => {
      const data = create(SignalCreatedSchema, { id: creation.id, signalId, type });
      return { type: 'SignalCreated', data };
    }),
  ];
};

/** Streams that can hold many things. */
const cases: Readonly<Record<string, (size: Size) => number>> = {
  'an execution and its nodes': (size) => ratio(executions, withNodes(size)),
  'an execution and its tasks': (size) => ratio(executions, withTasks(size)),
  'an execution and its signals': (size) => ratio(executions, withSignals(size)),
  'an execution that is leased': (size) => ratio(executions, withLeases(size)),
  'an execution and its tags': (size) => ratio(executions, withTags(size)),
  'a launch plan and its versions': (size) =>
    ratio(
      launchPlanAggregate,
      range(size).map((each) => ({
        type: 'LaunchPlanRegistered',
        data: create(LaunchPlanRegisteredSchema, { id: idOf(`v${each}`), spec: INLINE, digest: digest() }),
      })),
    ),
  'slots and their holders': (size) =>
    ratio(
      slotsAggregate,
      range(size).map((each) => ({
        type: 'SlotTaken',
        data: create(SlotTakenSchema, {
          execution: { project: 'flytesnacks', domain: 'development', name: `f0123456789${each}` },
          attempt: `00000000-0000-0000-0000-${each}`,
          takenAt: { seconds: BigInt(each) },
        }),
      })),
    ),
  'notifications and their messages': (size) =>
    ratio(
      notificationAggregate,
      range(size).map((each) => ({
        type: 'NotificationStarted',
        data: create(NotificationStartedSchema, {
          message: {
            id: sha256Hex(String(each)).slice(0, 32),
            execution: { project: 'flytesnacks', domain: 'development', name: 'f0123456789' },
            revision: BigInt(each),
            phase: WorkflowExecution_Phase.FAILED,
            channel: 'mail',
            recipient: `team-${each}@example.com`,
          },
          attempt: `00000000-0000-0000-0000-${each}`,
          startedAt: { seconds: BigInt(each) },
        }),
      })),
    ),
  'a schedule and its open ticks': (size) =>
    ratio(scheduleAggregate, [
      {
        type: 'ScheduleTicksDecided',
        data: create(ScheduleTicksDecidedSchema, {
          until: { seconds: 1n },
          fire: range(size).map((each) => ({
            at: { seconds: BigInt(each) },
            version: `v${each}`,
            principal: `person-${each}`,
          })),
        }),
      },
    ]),
  'a schedule and the requests that fired it': (size) =>
    ratio(
      scheduleAggregate,
      range(size).map((each) => ({
        type: 'ScheduleTicksDecided',
        data: create(ScheduleTicksDecidedSchema, {
          fire: [
            {
              at: { seconds: BigInt(each) },
              version: 'v1',
              principal: 'ada',
              request: sha256Hex(String(each)).slice(0, 32),
            },
          ],
        }),
      })),
    ),
  'a schedule and its skips': (size) =>
    ratio(
      scheduleAggregate,
      range(size).map((each) => ({
        type: 'ScheduleTickSkipRequested',
        data: create(ScheduleTickSkipRequestedSchema, { at: { seconds: BigInt(1_700_000_000 + each) } }),
      })),
    ),
  'a reactor and its dead letters': (size) =>
    ratio(
      deadLetterAggregate,
      range(size).map((each) => ({
        type: 'DeadLetterRecorded',
        data: create(DeadLetterRecordedSchema, {
          letter: {
            reactor: 'release-slots',
            position: BigInt(each + 1),
            stream: `launchPlanSlots-flytesnacks:development:hello.plan-${each}`,
            reason: `payload ${each} of the execution cannot be read`,
            since: { seconds: 1n },
          },
        }),
      })),
    ),
  'a principal and its roles': (size) =>
    ratio(
      roleBindingAggregate,
      range(size).map((each) => ({
        type: 'RoleGranted',
        data: create(RoleGrantedSchema, {
          binding: { principal: 'ada@example.com', role: 'contributor', project: `project-${each}`, domain: 'staging' },
        }),
      })),
    ),
  'a project and its labels': (size) =>
    ratio(projectAggregate, [
      {
        type: 'ProjectRegistered',
        data: create(ProjectRegisteredSchema, {
          project: {
            id: 'flytesnacks',
            name: 'flytesnacks',
            description: 'what there is to try',
            domains: ['development', 'staging', 'production'].map((id) => ({ id, name: id })),
            labels: { values: Object.fromEntries(range(size).map((each) => [`label-${each}`, `value-${each}`])) },
          },
        }),
      },
    ]),
  'attributes and their rows': (size) =>
    ratio(
      attributesAggregate,
      range(size).map((each) => ({
        type: 'AttributesUpdated',
        data: create(AttributesUpdatedSchema, {
          scope: { project: 'flytesnacks', domain: 'development', workflow: `w${each}` },
          attributes: {
            target: { case: 'clusterResourceAttributes', value: { attributes: { cpu: '2', memory: `${each}Gi` } } },
          },
        }),
      })),
    ),
};

/** Streams that are measured in one size. */
const singleCases: Readonly<Record<string, () => number>> = {
  'a launch plan with long versions': () =>
    ratio(
      launchPlanAggregate,
      range('large').map((each) => ({
        type: 'LaunchPlanRegistered',
        data: create(LaunchPlanRegisteredSchema, { id: idOf(longText(each)), spec: INLINE, digest: digest() }),
      })),
    ),
  'an execution with long texts': () => ratio(executions, withLongTexts()),
  'a version of a task': () =>
    ratio(taskAggregate, [
      { type: 'TaskRegistered', data: create(TaskRegisteredSchema, { compiled: INLINE, digest: digest() }) },
    ]),
  'a version of a workflow': () =>
    ratio(workflowAggregate, [
      { type: 'WorkflowRegistered', data: create(WorkflowRegisteredSchema, { compiled: INLINE, digest: digest() }) },
    ]),
  'a session of an engine': () => {
    const session = '0f1d1a52-7c39-4b0e-8d5b-000000000000';
    const opened = create(EngineSessionOpenedSchema, { group: 'default', engine: 'engine-0', session });
    const renewed = create(EngineSessionRenewedSchema, { session });
    return ratio(engineSessionAggregate, [
      { type: 'EngineSessionOpened', data: opened },
      { type: 'EngineSessionRenewed', data: renewed },
    ]);
  },
  'a named entity': () =>
    ratio(namedEntityAggregate, [
      {
        type: 'NamedEntityUpdated',
        data: create(NamedEntityUpdatedSchema, {
          metadata: { description: 'what it is good for', state: NamedEntityState.NAMED_ENTITY_ARCHIVED },
        }),
      },
    ]),
};

/**
 * The ratio of the real memory of the session cache, with its bookkeeping for each stream, to its declared size.
 * The streams are of `purse`, the small aggregate of tests.
 */
const liveRatio = async (streams: number): Promise<number> => {
  const directory = mkdtempSync(join(tmpdir(), 'flightlog-sizes-'));
  const store = await sqliteEventStore({ directory });
  const sessions = openSessions({ store, payloads: noPayloads, now: () => 1_000, maxCachedBytes: Infinity });
  const begin = (): Promise<unknown> => {
    const stream = streamName('purse', ['flytesnacks', 'development', randomUUID()]);
    return sessions.handle(purse, stream, { kind: 'add' }, { actor: 'tester', commandId: randomUUID() });
  };
  const before = heapBytes();
  for (let remaining = streams; remaining > 0; remaining -= 1_000)
    await Promise.all(Array.from({ length: 1_000 }, begin));
  const measured = (heapBytes() - before) / sessions.cached().bytes;
  await store.close();
  rmSync(directory, { recursive: true });
  return measured;
};

/** The ratio of the real memory of the cached definitions to their declared size. */
const definitionsRatio = async (): Promise<number> => {
  const registry = await openRegistry();
  const entries = withNeeds('02-diamond', '03-branches', '05-launch-plans', '09-task-kinds').flatMap(
    (each) => each.entries,
  );
  const registrations = entries.filter(({ kind }) => kind === 'task' || kind === 'workflow' || kind === 'launch_plan');
  for (const { method, bytes } of registrations) await registry.send(method, bytes);
  const fill = async (): Promise<RegisteredDefinitions> => {
    const readLaunchPlan: DefinitionsOptions['readLaunchPlan'] = (stream, select) =>
      registry.sessions.read(launchPlanAggregate, stream, select);
    const definitions = registeredDefinitions({ log: registry.store, payloads: noPayloads, readLaunchPlan });
    for (const { kind, id: fixtureId } of registrations) {
      const id = { ...fixtureId, name: fixtureId.name ?? '', version: fixtureId.version ?? '' };
      if (kind === 'task') await definitions.task(id);
      else if (kind === 'workflow') await definitions.workflow(id);
      else await definitions.launchPlan(id);
    }
    return definitions;
  };
  await fill(); // allocates what is made only once
  const before = heapBytes();
  const filled: RegisteredDefinitions[] = [];
  for (let each = 0; each < 10; each += 1) filled.push(await fill());
  const taken = heapBytes() - before;
  await registry.close();
  return taken / filled.reduce((bytes, each) => bytes + each.rememberedBytes(), 0);
};

/** The ratio of the real memory of the decoded workflows that engines get to their declared size. */
const workflowsRatio = async (): Promise<number> => {
  const registry = await openRegistry();
  const entries = withNeeds('03-branches', '05-launch-plans', '12-big').flatMap((each) => each.entries);
  for (const { kind, method, bytes } of entries)
    if (kind === 'task' || kind === 'workflow' || kind === 'launch_plan') await registry.send(method, bytes);
  const readLaunchPlan: DefinitionsOptions['readLaunchPlan'] = (stream, select) =>
    registry.sessions.read(launchPlanAggregate, stream, select);
  const definitions = registeredDefinitions({ log: registry.store, payloads: noPayloads, readLaunchPlan });
  const fill = async (): Promise<SizedClosure[]> => {
    const workflows = entries.filter(({ kind }) => kind === 'workflow');
    const ids = workflows.map(({ id }) => ({ ...id, name: id.name ?? '', version: id.version ?? '' }));
    return Promise.all(ids.map(async (id) => sizedClosure((await definitions.compiledWorkflow(id))!)));
  };
  await fill(); // allocates what is made only once
  const before = heapBytes();
  const filled: SizedClosure[] = [];
  for (let each = 0; each < 10; each += 1) filled.push(...(await fill()));
  const taken = heapBytes() - before;
  await registry.close();
  return taken / filled.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0);
};

/** The ratio of the real memory of callers' idempotency keys to their declared size. */
const keysRatio = (nodeId: (each: number) => string): number => {
  const keys = (): KnownKeys => {
    const known: KnownKeys = new Map();
    for (let each = 0; each < 1_000; each += 1) {
      const idempotency = {
        operation: 'CreateTaskEvent',
        target: JSON.stringify([nodeId(each), {}, each]),
        content: sha256Hex(String(each)),
      };
      const about = { recordedAtMs: each, actor: 'tester', commandId: '', schema: 1 };
      noteKey(known, { ...about, idempotencyKey: randomUUID(), idempotency });
    }
    return known;
  };
  return heapBytesOfEach(8, keys) / sizeOfKeys(keys());
};

/** For each kind of stream and of cache, the ratio of its real memory to the size that it declares. */
const ratios = Object.fromEntries([
  ...Object.entries(cases).flatMap(([name, measured]) =>
    (['small', 'large'] as const).map((size) => [`${name}, ${size}`, measured(size)] as const),
  ),
  ...Object.entries(singleCases).map(([name, measured]) => [name, measured()] as const),
  ['live streams', await liveRatio(8_000)],
  ['keys of callers', keysRatio(() => 'n0')],
  ['keys of callers for nodes with long ids', keysRatio(longText)],
  ['definitions', await definitionsRatio()],
  ['workflows that engines get', await workflowsRatio()],
]);

// Measured in a process of its own: in the process of the test runner, other code uses the heap, too.
process.send?.(ratios);
