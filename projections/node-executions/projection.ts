import { fromBinary, toBinary } from '@bufbuild/protobuf';

import {
  type NodeExecution,
  type NodeExecutionClosure,
  NodeExecutionSchema,
} from '../../proto/gen/platformidl/admin/node_execution_pb.js';
import { CatalogCacheStatus } from '../../proto/gen/platformidl/core/catalog_pb.js';
import {
  ExecutionError_ErrorKind,
  NodeExecution_Phase,
  WorkflowExecution_Phase,
} from '../../proto/gen/platformidl/core/execution_pb.js';
import { type OpenEntities, OpenEntitiesSchema } from '../../proto/gen/platformidl/eventlog/execution_pb.js';
import { ENGINE_REPORTED, type ExecutionEvent, readNodeEvent } from '../../services/execution/events.js';
import type { Content } from '../../services/kernel/ports/payload-store.js';
import { loadedMessage, readIn } from '../runtime/decoded.js';
import { streamOfKey } from '../query/document-key.js';
import { enumName } from '../query/enum-name.js';
import type { ReadModel, SeenEvent } from '../runtime/read-model.js';
import { readModel } from '../runtime/typed-read-model.js';
import type { FieldValue, StoredDocument } from '../runtime/read-store.js';
import { nodeExecutionKey } from '../query/execution-identifiers.js';
import { microsOf, timestampOfMs } from '../query/times.js';
import { nodeExecutionCollection } from './columns.js';
import { closureOf, listElement, type NodeDocument, getAnswer } from './document.js';
import { closed, opened, reported } from './fold.js';

type Fields = StoredDocument['fields'];

const resultFields = ({ outputResult: result }: NodeExecutionClosure): Fields => {
  if (result.case !== 'error') return { error_kind: null, error_code: null };
  return { error_kind: enumName(ExecutionError_ErrorKind, result.value.kind), error_code: result.value.code };
};

const cacheStatusOf = ({ targetMetadata: { case: kind, value } }: NodeExecutionClosure): FieldValue =>
  kind === 'taskNodeMetadata' ? enumName(CatalogCacheStatus, value.cacheStatus) : null;

const idFields = ({ id }: NodeExecution): Fields => {
  const { project = '', domain = '', name = '' } = id?.executionId ?? {};
  return { execution_project: project, execution_domain: domain, execution_name: name, node_id: id?.nodeId ?? '' };
};

const fieldsOf = (key: string, document: NodeDocument, closure = closureOf(getAnswer(document))): Fields => ({
  execution: streamOfKey(key),
  parent: document.parent,
  parent_task: document.parentTask || null,
  recorded: document.recorded,
  ...idFields(document.node),
  phase: enumName(NodeExecution_Phase, closure.phase),
  created_at: microsOf(closure.createdAt),
  updated_at: microsOf(closure.updatedAt),
  started_at: microsOf(closure.startedAt),
  duration: microsOf(closure.duration),
  ...resultFields(closure),
  cache_status: cacheStatusOf(closure),
  input_uri: document.node.inputUri,
  closed_by: document.closedBy,
  inputs_at: document.inputsRevision,
  outputs_at: document.outputsRevision,
  dynamic_at: document.dynamicWorkflowRevision,
});

const encode: ReadModel<NodeDocument>['encode'] = (key, document) => {
  const answered = getAnswer(document);
  const element = listElement(answered);
  return {
    fields: fieldsOf(key, document, closureOf(answered)),
    response: toBinary(NodeExecutionSchema, answered),
    ...(element !== answered && { listElement: toBinary(NodeExecutionSchema, element) }),
    ...(answered !== document.node && { foldState: toBinary(NodeExecutionSchema, document.node) }),
  };
};

const numberOr = (value: FieldValue | undefined): number | null => (typeof value === 'number' ? value : null);

const decode = ({ fields, response, foldState }: StoredDocument): NodeDocument => ({
  node: fromBinary(NodeExecutionSchema, foldState ?? response),
  parent: String(fields['parent'] ?? ''),
  parentTask: String(fields['parent_task'] ?? ''),
  recorded: Number(fields['recorded'] ?? 0),
  closedBy: String(fields['closed_by'] ?? ''),
  inputsRevision: numberOr(fields['inputs_at']),
  outputsRevision: numberOr(fields['outputs_at']),
  dynamicWorkflowRevision: numberOr(fields['dynamic_at']),
});

const openIn = (part: Content | undefined): OpenEntities['nodes'] =>
  part === undefined ? [] : loadedMessage(OpenEntitiesSchema, part).nodes;

type EventOf<Type extends ExecutionEvent['type']> = Extract<ExecutionEvent, { readonly type: Type }>;

/** The events that can end an execution, with its open nodes. */
type EndEvent = EventOf<'WorkflowPhaseReported' | 'ExecutionExpired'>;

const nodeReported = (
  document: NodeDocument | undefined,
  event: SeenEvent<EventOf<'NodePhaseReported'>>,
): NodeDocument => {
  const { data } = event.body;
  const message = readIn(readNodeEvent, data.message);
  return reported(document ?? opened(message, event), message, data, event);
};

const openNodes = ({ body, stream }: SeenEvent<EndEvent>): readonly string[] =>
  openIn(body.data.closed).map((nodeId) => nodeExecutionKey(stream, nodeId));

const phaseOf = ({ body }: SeenEvent<EndEvent>): string => enumName(WorkflowExecution_Phase, body.data.phase);

/** Node executions, one document each. The end of an execution closes all its open nodes. */
export const nodeExecutions = readModel<NodeDocument, EventOf<'NodePhaseReported'> | EndEvent>({
  collection: nodeExecutionCollection,
  formerTypes: [ENGINE_REPORTED],
  handlers: {
    NodePhaseReported: {
      touches: ({ body, stream }) => [nodeExecutionKey(stream, body.data.nodeId)],
      fold: nodeReported,
    },
    WorkflowPhaseReported: {
      touches: openNodes,
      fold: (document, event) => document && closed(document, phaseOf(event), event.body.data.occurredAt),
    },
    ExecutionExpired: {
      touches: openNodes,
      fold: (document, event) =>
        document && closed(document, phaseOf(event), timestampOfMs(event.metadata.recordedAtMs)),
    },
  },
  fields: fieldsOf,
  encode,
  decode,
});
