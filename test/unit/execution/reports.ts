import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  NodeExecutionEventRequestSchema,
  TaskExecutionEventRequestSchema,
  WorkflowExecutionEventRequestSchema,
} from '../../../proto/gen/platformidl/admin/event_pb.js';
import { ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import type {
  NodeExecutionEventSchema,
  TaskExecutionEventSchema,
  WorkflowExecutionEventSchema,
} from '../../../proto/gen/platformidl/event/event_pb.js';
import { ExecutionCreatedSchema } from '../../../proto/gen/platformidl/eventlog/execution_pb.js';
import { executionAggregate } from '../../../services/execution/aggregate.js';
import type { CreateExecution, ExecutionCommand, ReportPhase } from '../../../services/execution/commands.js';
import type { Entity } from '../../../services/execution/wire/engine-report.js';
import { envelopeScan } from '../../../services/execution/wire/envelope-scan.js';
import type { ExecutionEvent } from '../../../services/execution/events.js';
import { NODE, TASK, WORKFLOW } from '../../../services/execution/phases.js';
import type { ExecutionRefusal } from '../../../services/execution/refusals.js';
import type { RecordedEvent } from '../../../services/kernel/event.js';
import type { PayloadStore } from '../../../services/kernel/ports/payload-store.js';
import { streamName } from '../../../services/kernel/stream.js';
import type { ExecutionId } from '../../../services/kernel/execution-id.js';

/** The execution of the commands below, unless a caller gives another. */
export const id = { project: 'flytesnacks', domain: 'development', name: 'run' };
/** The stream of this execution. */
export const stream = streamName('execution', [id.project, id.domain, id.name]);

const MAX_OUTPUT_BYTES = 2 * 1024 * 1024;
const scans = {
  workflow: envelopeScan('workflow', MAX_OUTPUT_BYTES),
  node: envelopeScan('node', MAX_OUTPUT_BYTES),
  task: envelopeScan('task', MAX_OUTPUT_BYTES),
};

/** Parses request bytes into the command; `isChildKnown` is false when the report names a child that does not exist. */
export const reportOf = (entity: Entity, request: Uint8Array, isChildKnown = true): ReportPhase => {
  const envelope = scans[entity](request);
  return { type: 'ReportPhase', id: envelope.execution, envelope, isChildKnown };
};

/** A fixed time, plus seconds. */
const at = (second: number) => timestampFromMs(1_700_000_000_000 + second * 1_000);

type More<Schema> = Omit<MessageInitShape<Schema & typeof WorkflowExecutionEventSchema>, '$typeName'>;
/** The time of a report in seconds after a fixed time, and its producer. */
type Timed = { readonly second?: number; readonly producer?: string };

/** An engine's report of the phase of a workflow. */
export const workflow = (
  phase: keyof typeof WORKFLOW,
  { second = 0, producer = '', ...more }: Timed & Partial<More<typeof WorkflowExecutionEventSchema>> = {},
): ReportPhase => {
  const event = { executionId: id, phase: WORKFLOW[phase], producerId: producer, occurredAt: at(second), ...more };
  const request = create(WorkflowExecutionEventRequestSchema, { event: event as never });
  return reportOf('workflow', toBinary(WorkflowExecutionEventRequestSchema, request));
};

/** With `child`, the report names a child execution, which exists when it is `known`. */
type NodeMore = Timed & { readonly child?: 'known' | 'unknown' } & Partial<
    MessageInitShape<typeof NodeExecutionEventSchema>
  >;

/** An engine's report of the phase of a node, by default `n0`. */
export const node = (phase: keyof typeof NODE, more: NodeMore & { readonly node?: string } = {}): ReportPhase => {
  const { second = 0, producer = '', node: nodeId = 'n0', child, ...rest } = more;
  const target =
    child === undefined ? {} : { targetMetadata: { case: 'workflowNodeMetadata', value: { executionId: id } } };
  const event = {
    id: { nodeId, executionId: id },
    phase: NODE[phase],
    producerId: producer,
    occurredAt: at(second),
    ...target,
    ...rest,
  };
  const request = create(NodeExecutionEventRequestSchema, { event: event as never });
  return reportOf('node', toBinary(NodeExecutionEventRequestSchema, request), child !== 'unknown');
};

/** The id of the task in a report of a task, unless the report gives another. */
export const taskId = {
  resourceType: ResourceType.TASK,
  project: 'flytesnacks',
  domain: 'development',
  name: 'greet',
  version: 'v1',
};

/** The node, the phase version and the attempt that the report is about; by default `n0`, 0 and 0. */
type TaskMore = Timed & { readonly node?: string; readonly version?: number; readonly attempt?: number } & Partial<
    MessageInitShape<typeof TaskExecutionEventSchema>
  >;

/** An engine's report of the phase of the task of a node, by default `n0`. */
export const task = (phase: keyof typeof TASK, more: TaskMore = {}): ReportPhase => {
  const { second = 0, producer = '', node: nodeId = 'n0', version = 0, attempt = 0, ...rest } = more;
  const event = {
    taskId,
    parentNodeExecutionId: { nodeId, executionId: id },
    retryAttempt: attempt,
    phase: TASK[phase],
    phaseVersion: version,
    producerId: producer,
    occurredAt: at(second),
    ...rest,
  };
  const request = create(TaskExecutionEventRequestSchema, { event: event as never });
  return reportOf('task', toBinary(TaskExecutionEventRequestSchema, request));
};

/** Creates the execution, without a launch plan or inputs. */
export const creation: CreateExecution = {
  type: 'CreateExecution',
  id,
  created: create(ExecutionCreatedSchema, { id, spec: {} }),
};

/** The command that creates an execution with a slot of its launch plan; an empty `slotAttempt` means no slot. */
export const creationOf = (own: ExecutionId, slotAttempt: string): CreateExecution => ({
  type: 'CreateExecution',
  id: own,
  created: create(ExecutionCreatedSchema, { id: own, spec: {}, slotAttempt }),
});

/** Requests the termination of the execution. */
export const termination = { type: 'TerminateExecution', id, cause: 'enough', principal: 'ada' } as const;
/** Ends the execution because its engine has not ended it within 600 s. */
export const expiry = { type: 'ExpireTermination', id, afterMs: 600_000 } as const;

const noPayloads: PayloadStore = {
  put: () => Promise.reject(new Error('nothing is large here')),
  get: () => Promise.resolve(undefined),
  close: () => Promise.resolve(),
};

const aggregate = executionAggregate({ payloads: noPayloads });
const { decider, codec } = aggregate;

/** `OK`, or the kind of the refusal. */
export type Answer = 'OK' | ExecutionRefusal['kind'];

/** A stream in memory that answers commands as in `services/sessions`. Events are encoded and decoded. */
export const openStream = (...past: readonly ExecutionCommand[]) => {
  const recorded: RecordedEvent[] = [];
  const comparedRevisions: (readonly bigint[])[] = [];
  let state = decider.initial();

  const record = (event: ExecutionEvent): void => {
    const { type, data } = codec.encode(event);
    state = decider.evolve(state, codec.decode(type, data, 1));
    const place = { stream, revision: BigInt(recorded.length), position: BigInt(recorded.length + 1) };
    recorded.push({ id: new Uint8Array(16), type, data, metadata: '{}', ...place });
  };

  type Unsure = Extract<ReturnType<typeof decider.decide>, { kind: 'unsure' }>;
  const isUnsure = (settled: ExecutionRefusal | Unsure | undefined): settled is Unsure => settled?.kind === 'unsure';

  /** Decides a command and records its events, also those of a refusal. Gives the refusal, or the events to compare. */
  const settle = (command: ExecutionCommand): ExecutionRefusal | Unsure | undefined => {
    const decision = decider.decide(state, command);
    if (decision.kind === 'unsure') return decision;
    for (const event of decision.events ?? []) record(event);
    return decision.kind === 'refused' ? decision.refusal : undefined;
  };

  /** Handles a command and records its events; `undefined` when it is accepted. */
  const refusal = async (command: ExecutionCommand): Promise<ExecutionRefusal | undefined> => {
    let known = command;
    let settled = settle(known);
    if (isUnsure(settled)) {
      const { at } = settled;
      comparedRevisions.push(at);
      const past = recorded.filter(({ revision }) => at.includes(revision));
      known = (await aggregate.compareWithRecorded?.(known, past)) ?? known;
      settled = settle(known);
    }
    if (isUnsure(settled)) throw new Error('still unsure after reading the stream');
    return settled;
  };

  for (const command of past) if (isUnsure(settle(command))) throw new Error('the past is unsure');

  return {
    recorded,
    /** The revisions of the recorded events that each comparison has read. */
    comparedRevisions,
    state: () => state,
    refusal,
    answer: async (command: ExecutionCommand): Promise<Answer> => (await refusal(command))?.kind ?? 'OK',
    events: (): readonly ExecutionEvent[] => recorded.map(({ type, data }) => codec.decode(type, data, 1)),
  };
};
