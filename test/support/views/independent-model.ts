import { type DescMessage, fromBinary, type MessageShape } from '@bufbuild/protobuf';
import { type Timestamp, timestampMs } from '@bufbuild/protobuf/wkt';
import {
  ExecutionCreatedSchema,
  ExecutionExpiredSchema,
  type NodePhaseReported,
  NodePhaseReportedSchema,
  OpenEntitiesSchema,
  type TaskPhaseReported,
  TaskPhaseReportedSchema,
  type WorkflowPhaseReported,
  WorkflowPhaseReportedSchema,
} from '../../../proto/gen/platformidl/eventlog/execution_pb.js';
import {
  NodeExecutionEventSchema,
  type TaskExecutionEvent,
  TaskExecutionEventSchema,
  WorkflowExecutionEventSchema,
} from '../../../proto/gen/platformidl/event/event_pb.js';
import type { Content } from '../../../proto/gen/platformidl/eventlog/content_pb.js';
import type { Identifier } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import type { RecordedEvent } from '../../../services/kernel/event.js';
import type { EventLog } from '../../../services/kernel/ports/event-store.js';

/**
 * The content that the views must have, computed from the bytes of the log by the rules of the contract alone. It
 * shares nothing with the projections but the generated messages, so that an error in one does not hide in the other.
 */
export type ModelExecution = {
  phase: number;
  startedAtMs?: number;
  readonly nodes: Map<string, ModelNode>;
  readonly tasks: Map<string, ModelTask>;
};
/** A node execution; `parent` is the id of the node that it is in, empty for none. */
export type ModelNode = {
  phase: number;
  readonly createdAtMs: number;
  startedAtMs?: number;
  deckUri: string;
  isParent: boolean;
  isDynamic: boolean;
  isArray: boolean;
  readonly parent: string;
};
export type ModelTask = {
  phase: number;
  readonly createdAtMs: number;
  startedAtMs?: number;
  readonly reasons: string[];
};

/** The enum numbers of the contract, written here independently. */
const WORKFLOW: Readonly<Record<'queued' | 'running' | 'aborting', number>> = { queued: 1, running: 2, aborting: 9 };
/** SUCCEEDED, FAILED, ABORTED and TIMED_OUT. */
const ENDED: ReadonlySet<number> = new Set([4, 6, 7, 8]);
const NODE: Readonly<Record<'running' | 'aborted', number>> = { running: 2, aborted: 6 };
const TASK: Readonly<Record<'running' | 'aborted', number>> = { running: 2, aborted: 4 };

const ms = (time: Timestamp | undefined): number => (time === undefined ? 0 : timestampMs(time));
const earliest = (known: number | undefined, time: number): number => Math.min(known ?? Infinity, time);

/** `node/project:domain:name:version/attempt`. */
export const taskKey = (node: string, id: Identifier | undefined, attempt: number): string =>
  `${node}/${id?.project}:${id?.domain}:${id?.name}:${id?.version}/${attempt}`;

/** Reads the bytes of a content, from the event itself or from the payload store. */
export type ReadContent = (content: Content) => Promise<Uint8Array>;

const read = async <Desc extends DescMessage>(
  schema: Desc,
  content: Content | undefined,
  bytesOf: ReadContent,
): Promise<MessageShape<Desc>> => fromBinary(schema, content === undefined ? new Uint8Array() : await bytesOf(content));

/** Aborts the nodes and tasks that were open when the execution ended. */
const close = async (execution: ModelExecution, closed: Content | undefined, bytesOf: ReadContent): Promise<void> => {
  const open = await read(OpenEntitiesSchema, closed, bytesOf);
  for (const id of open.nodes) {
    const node = execution.nodes.get(id);
    if (node !== undefined) node.phase = NODE.aborted;
  }
  for (const { node, taskId, attempt } of open.tasks) {
    const task = execution.tasks.get(taskKey(node, taskId, attempt));
    if (task !== undefined) task.phase = TASK.aborted;
  }
};

const workflowReported = async (
  execution: ModelExecution,
  report: WorkflowPhaseReported,
  bytesOf: ReadContent,
): Promise<void> => {
  const { phase, occurredAt } = await read(WorkflowExecutionEventSchema, report.message, bytesOf);
  if ((phase as number) === WORKFLOW.running) execution.startedAtMs = earliest(execution.startedAtMs, ms(occurredAt));
  if (report.samePhase) return;
  execution.phase = phase;
  if (ENDED.has(phase)) await close(execution, report.closed, bytesOf);
};

const nodeReported = async (
  execution: ModelExecution,
  report: NodePhaseReported,
  bytesOf: ReadContent,
): Promise<void> => {
  const event = await read(NodeExecutionEventSchema, report.message, bytesOf);
  const node = execution.nodes.get(report.node) ?? {
    phase: event.phase,
    createdAtMs: ms(event.occurredAt),
    deckUri: '',
    isParent: false,
    isDynamic: false,
    isArray: false,
    parent: event.parentNodeMetadata?.nodeId ?? '',
  };
  if (!report.samePhase) node.phase = event.phase;
  if ((event.phase as number) === NODE.running) node.startedAtMs = earliest(node.startedAtMs, ms(event.occurredAt));
  if (event.deckUri !== '') node.deckUri = event.deckUri;
  node.isParent ||= event.isParent;
  node.isDynamic ||= event.isDynamic;
  node.isArray ||= event.isArray;
  execution.nodes.set(report.node, node);
};

/** The reasons that an event adds to a task, whose last is `known`; older engines repeat a single reason. */
const reasonsIn = ({ reasons, reason }: TaskExecutionEvent, known: string): readonly string[] => {
  if (reasons.length > 0) return reasons.map((each) => each.reason);
  return reason === '' || reason === known ? [] : [reason];
};

const taskReported = async (
  execution: ModelExecution,
  report: TaskPhaseReported,
  bytesOf: ReadContent,
): Promise<void> => {
  const event = await read(TaskExecutionEventSchema, report.message, bytesOf);
  const key = taskKey(report.node, report.taskId, report.attempt);
  const task = execution.tasks.get(key) ?? { phase: event.phase, createdAtMs: ms(event.occurredAt), reasons: [] };
  if (!report.samePhase) task.phase = event.phase;
  if ((event.phase as number) === TASK.running) task.startedAtMs = earliest(task.startedAtMs, ms(event.occurredAt));
  task.reasons.push(...reasonsIn(event, task.reasons.at(-1) ?? ''));
  execution.tasks.set(key, task);
};

const reported = async (
  execution: ModelExecution,
  type: string,
  data: Uint8Array,
  bytesOf: ReadContent,
): Promise<void> => {
  if (type === 'WorkflowPhaseReported')
    await workflowReported(execution, fromBinary(WorkflowPhaseReportedSchema, data), bytesOf);
  if (type === 'NodePhaseReported') await nodeReported(execution, fromBinary(NodePhaseReportedSchema, data), bytesOf);
  if (type === 'TaskPhaseReported') await taskReported(execution, fromBinary(TaskPhaseReportedSchema, data), bytesOf);
};

/** Folds the whole log into executions, by `project/domain/name`. */
export const modelOf = async (log: EventLog, bytesOf: ReadContent): Promise<Map<string, ModelExecution>> => {
  const byStream = new Map<string, ModelExecution>();
  const byId = new Map<string, ModelExecution>();
  const apply = async ({ stream, type, data }: RecordedEvent): Promise<void> => {
    if (type === 'ExecutionCreated') {
      const { id } = fromBinary(ExecutionCreatedSchema, data);
      const execution: ModelExecution = { phase: WORKFLOW.queued, nodes: new Map(), tasks: new Map() };
      byStream.set(stream, execution);
      byId.set(`${id?.project}/${id?.domain}/${id?.name}`, execution);
    }
    const execution = byStream.get(stream);
    if (execution === undefined) return;
    if (type === 'TerminationRequested') execution.phase = WORKFLOW.aborting;
    await reported(execution, type, data, bytesOf);
    if (type === 'ExecutionExpired') {
      const { phase, closed } = fromBinary(ExecutionExpiredSchema, data);
      execution.phase = phase;
      await close(execution, closed, bytesOf);
    }
  };
  for await (const { events } of log.readLog({ after: 0n, filter: { categories: ['execution'] } })) {
    for (const event of events) await apply(event);
  }
  return byId;
};
