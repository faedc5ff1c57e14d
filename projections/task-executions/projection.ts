import { fromBinary, toBinary } from '@bufbuild/protobuf';

import { type TaskExecution, TaskExecutionSchema } from '../../proto/gen/platformidl/admin/task_execution_pb.js';
import { TaskExecution_Phase, WorkflowExecution_Phase } from '../../proto/gen/platformidl/core/execution_pb.js';
import { TaskExecutionEventSchema } from '../../proto/gen/platformidl/event/event_pb.js';
import { type OpenEntities, OpenEntitiesSchema } from '../../proto/gen/platformidl/eventlog/execution_pb.js';
import { ENGINE_REPORTED, type ExecutionEvent, readNodeEvent } from '../../services/execution/events.js';
import type { Content } from '../../services/kernel/ports/payload-store.js';
import { taskStream } from '../../services/task/events.js';
import { loadedMessage, readIn } from '../runtime/decoded.js';
import { streamOfKey } from '../query/document-key.js';
import { enumName } from '../query/enum-name.js';
import type { ReadModel, SeenEvent } from '../runtime/read-model.js';
import { readModel } from '../runtime/typed-read-model.js';
import type { FieldValue, StoredDocument } from '../runtime/read-store.js';
import { nodeExecutionKey, taskExecutionKey } from '../query/execution-identifiers.js';
import { microsOf, timestampOfMs } from '../query/times.js';
import { taskExecutionCollection } from './columns.js';
import { closureOf, listElement, getAnswer, type TaskExecutionDocument } from './document.js';
import { closed, opened, reported } from './fold.js';

type Fields = StoredDocument['fields'];

const taskFields = ({ id }: TaskExecution): Fields => {
  const { taskId, retryAttempt = 0 } = id ?? {};
  const { project = '', domain = '', name = '', version = '' } = taskId ?? {};
  return { project, domain, name, version, task: taskId ? taskStream(taskId) : null, retry_attempt: retryAttempt };
};

const nodeFields = (key: string, { id }: TaskExecution): Fields => {
  const { nodeId = '', executionId } = id?.nodeExecutionId ?? {};
  const { project = '', domain = '', name = '' } = executionId ?? {};
  const execution = streamOfKey(key);
  return {
    execution,
    node: nodeExecutionKey(execution, nodeId),
    execution_project: project,
    execution_domain: domain,
    execution_name: name,
    node_id: nodeId,
  };
};

const fieldsOf = (key: string, document: TaskExecutionDocument): Fields => {
  const { task, recorded, phaseVersion, closedBy, inputsRevision, outputsRevision } = document;
  const closure = closureOf(task);
  return {
    // The literal does not start with a spread because V8 would then create a slow-mode object: 23 µs instead of 1.
    recorded,
    phase: enumName(TaskExecution_Phase, closure.phase),
    phase_version: phaseVersion,
    created_at: microsOf(closure.createdAt),
    updated_at: microsOf(closure.updatedAt),
    started_at: microsOf(closure.startedAt),
    duration: microsOf(closure.duration),
    input_uri: task.inputUri,
    closed_by: closedBy,
    inputs_at: inputsRevision,
    outputs_at: outputsRevision,
    ...taskFields(task),
    ...nodeFields(key, task),
  };
};

const encode: ReadModel<TaskExecutionDocument>['encode'] = (key, document) => {
  const answered = getAnswer(document);
  const element = listElement(answered);
  return {
    fields: fieldsOf(key, document),
    response: toBinary(TaskExecutionSchema, answered),
    ...(element !== answered && { listElement: toBinary(TaskExecutionSchema, element) }),
    ...(answered !== document.task && { foldState: toBinary(TaskExecutionSchema, document.task) }),
  };
};

const numberOr = (value: FieldValue | undefined): number | null => (typeof value === 'number' ? value : null);

const decode = ({ fields, response, foldState }: StoredDocument): TaskExecutionDocument => ({
  task: fromBinary(TaskExecutionSchema, foldState ?? response),
  recorded: Number(fields['recorded'] ?? 0),
  phaseVersion: numberOr(fields['phase_version']) ?? 0,
  closedBy: String(fields['closed_by'] ?? ''),
  inputsRevision: numberOr(fields['inputs_at']),
  outputsRevision: numberOr(fields['outputs_at']),
});

const openIn = (part: Content | undefined): OpenEntities['tasks'] =>
  part === undefined ? [] : loadedMessage(OpenEntitiesSchema, part).tasks;

type EventOf<Type extends ExecutionEvent['type']> = Extract<ExecutionEvent, { readonly type: Type }>;

/** The events that can end an execution, with its open attempts. */
type EndEvent = EventOf<'WorkflowPhaseReported' | 'ExecutionExpired'>;

/** The key of the task execution that created a node; only old engines report such nodes. */
const parentTask = ({ body, stream }: SeenEvent<EventOf<'NodePhaseReported'>>): readonly string[] => {
  const parent = readIn(readNodeEvent, body.data.message).parentTaskMetadata?.id;
  if (parent === undefined) return [];
  return [taskExecutionKey(stream, { ...parent, nodeId: parent.nodeExecutionId?.nodeId ?? '' })];
};

const openTasks = ({ body, stream }: SeenEvent<EndEvent>): readonly string[] =>
  openIn(body.data.closed).map(({ node, taskId, attempt }) =>
    taskExecutionKey(stream, { nodeId: node, taskId, retryAttempt: attempt }),
  );

const phaseOf = ({ body }: SeenEvent<EndEvent>): string => enumName(WorkflowExecution_Phase, body.data.phase);

const taskReported = (
  document: TaskExecutionDocument | undefined,
  event: SeenEvent<EventOf<'TaskPhaseReported'>>,
): TaskExecutionDocument => {
  const { data } = event.body;
  const message = loadedMessage(TaskExecutionEventSchema, data.message);
  return reported(document ?? opened(message, event), message, data, event);
};

const parentOfNode = (document: TaskExecutionDocument | undefined): TaskExecutionDocument | undefined => {
  if (document) document.task.isParent = true;
  return document;
};

/** Task executions, one document for each attempt. The end of an execution closes all its open attempts. */
export const taskExecutions = readModel<
  TaskExecutionDocument,
  EventOf<'TaskPhaseReported' | 'NodePhaseReported'> | EndEvent
>({
  collection: taskExecutionCollection,
  formerTypes: [ENGINE_REPORTED],
  handlers: {
    TaskPhaseReported: {
      touches: ({ body, stream }) => [taskExecutionKey(stream, body.data)],
      fold: taskReported,
    },
    NodePhaseReported: { touches: parentTask, fold: parentOfNode },
    WorkflowPhaseReported: {
      touches: openTasks,
      fold: (document, event) => document && closed(document, phaseOf(event), event.body.data.occurredAt),
    },
    ExecutionExpired: {
      touches: openTasks,
      fold: (document, event) =>
        document && closed(document, phaseOf(event), timestampOfMs(event.metadata.recordedAtMs)),
    },
  },
  fields: fieldsOf,
  encode,
  decode,
});
