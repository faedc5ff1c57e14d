import { create } from '@bufbuild/protobuf';

import {
  type NodeExecution,
  type NodeExecutionClosure,
  type NodeExecutionMetaData,
  NodeExecutionMetaDataSchema,
  NodeExecutionSchema,
  type TaskNodeMetadata,
  TaskNodeMetadataSchema,
  WorkflowNodeMetadataSchema,
} from '../../proto/gen/platformidl/admin/node_execution_pb.js';
import { CatalogCacheStatus } from '../../proto/gen/platformidl/core/catalog_pb.js';
import { NodeExecution_Phase as Phase } from '../../proto/gen/platformidl/core/execution_pb.js';
import type { TaskNodeMetadata as ReportedTaskNode } from '../../proto/gen/platformidl/event/event_pb.js';
import type { EngineReport, NodeEventFields } from '../../services/execution/events.js';
import type { SeenEvent } from '../runtime/read-model.js';
import { nodeExecutionKey, taskExecutionKey } from '../query/execution-identifiers.js';
import { durationBetween, earliest, given, type Instant, latest, timestampOf } from '../query/times.js';
import { closureOf, type NodeDocument, TERMINAL } from './document.js';

const metadataOf = (node: NodeExecution): NodeExecutionMetaData =>
  (node.metadata ??= create(NodeExecutionMetaDataSchema));

/** The parents that the node's first event names. A task counts as the parent when no node is named. */
const parentsOf = (
  { parentNodeMetadata, parentTaskMetadata }: NodeEventFields,
  { stream }: SeenEvent,
): Pick<NodeDocument, 'parent' | 'parentTask'> => {
  const id = parentTaskMetadata?.id;
  const parentTask = id ? taskExecutionKey(stream, { ...id, nodeId: id.nodeExecutionId?.nodeId ?? '' }) : '';
  return {
    parent: parentNodeMetadata ? nodeExecutionKey(stream, parentNodeMetadata.nodeId) : parentTask,
    parentTask,
  };
};

/** Sets field by field: this runs for every node, and `create` copies its argument at many times the cost. */
const openedNode = ({ first, occurredAt }: NodeEventFields): NodeExecution => {
  const { id, retryGroup, specNodeId } = first();
  const node = create(NodeExecutionSchema);
  if (id) node.id = id;
  const closure = closureOf(node);
  if (occurredAt) closure.createdAt = occurredAt;
  const metadata = metadataOf(node);
  metadata.retryGroup = retryGroup;
  metadata.specNodeId = specNodeId;
  return node;
};

/** Creates the document at the first event of a node. */
export const opened = (message: NodeEventFields, event: SeenEvent): NodeDocument => ({
  node: openedNode(message),
  ...parentsOf(message, event),
  recorded: Number(event.position),
  closedBy: '',
  inputsRevision: null,
  outputsRevision: null,
  dynamicWorkflowRevision: null,
});

/** Engines send flags on some events only: once set, a flag stays set. */
const keepFlags = ({ node }: NodeDocument, message: NodeEventFields): void => {
  const metadata = metadataOf(node);
  metadata.isParentNode ||= message.isParent;
  metadata.isDynamic ||= message.isDynamic;
  metadata.isArray ||= message.isArray;
  metadata.isEager ||= message.isEager;
};

/** Keeps the first reported location of the inputs, and the first reported inputs themselves. */
const keepInputs = (document: NodeDocument, { inputValue }: NodeEventFields, revision: number): void => {
  if (inputValue.case === 'inputUri') document.node.inputUri ||= inputValue.value;
  if (inputValue.case === 'inputData') document.inputsRevision ??= revision;
};

/** True when the event reports the phase for the first time; an inferred end does not count as reported. */
const isPhaseChange = ({ closedBy }: NodeDocument, { phase }: NodeEventFields, { samePhase }: EngineReport): boolean =>
  !samePhase || (closedBy !== '' && TERMINAL.has(phase));

/**
 * Adds the reported result. With a repeated phase it is added only where there was none; with a new phase it replaces
 * an earlier one.
 *
 * Outputs sent inside the event are shown in the closure as they are: they are stored in the log, so there is no
 * location that could be shown instead. Lists omit them.
 */
const setResult = (
  document: NodeDocument,
  { outputResult: result }: NodeEventFields,
  isPhaseChange: boolean,
  revision: number,
): void => {
  const closure = closureOf(document.node);
  if (result.case === undefined || (!isPhaseChange && closure.outputResult.case !== undefined)) return;
  closure.outputResult = result;
  document.outputsRevision = result.case === 'outputData' ? revision : null;
};

const mergedTaskNode = (known: TaskNodeMetadata | undefined, reported: ReportedTaskNode): TaskNodeMetadata => {
  const { checkpointUri, catalogKey, cacheStatus } = reported;
  const hasCacheStatus = catalogKey !== undefined || cacheStatus !== CatalogCacheStatus.CACHE_DISABLED;
  return {
    ...(known ?? create(TaskNodeMetadataSchema)),
    ...(checkpointUri && { checkpointUri }),
    ...(hasCacheStatus && { cacheStatus }),
    ...(catalogKey && { catalogKey }),
  };
};

const keepDynamic = (document: NodeDocument, { dynamicWorkflow }: ReportedTaskNode, revision: number): void => {
  if (dynamicWorkflow === undefined) return;
  if (dynamicWorkflow.compiledWorkflow) document.dynamicWorkflowRevision = revision;
  if (dynamicWorkflow.dynamicJobSpecUri) {
    closureOf(document.node).dynamicJobSpecUri = dynamicWorkflow.dynamicJobSpecUri;
  }
};

/**
 * Merges the target of the node: a child execution, reported once, or a task, whose cache state is spread over several
 * events.
 */
const keepTarget = (document: NodeDocument, { targetMetadata }: NodeEventFields, revision: number): void => {
  const closure = closureOf(document.node);
  const { case: kind, value: known } = closure.targetMetadata;
  if (targetMetadata.case === undefined) return;
  if (targetMetadata.case === 'taskNodeMetadata') keepDynamic(document, targetMetadata.value, revision);
  if (kind === 'workflowNodeMetadata') return;
  if (targetMetadata.case === 'taskNodeMetadata') {
    closure.targetMetadata = { case: 'taskNodeMetadata', value: mergedTaskNode(known, targetMetadata.value) };
    return;
  }
  const { executionId } = targetMetadata.value;
  const value = create(WorkflowNodeMetadataSchema, { ...(executionId && { executionId }) });
  closure.targetMetadata = { case: 'workflowNodeMetadata', value };
};

const end = (closure: NodeExecutionClosure, phase: Phase, at: Instant): void => {
  closure.phase = phase;
  const duration = TERMINAL.has(phase) ? durationBetween(closure.startedAt, at) : undefined;
  if (duration !== undefined) closure.duration = duration;
};

/** Folds an engine's event into the node. */
export const reported = (
  document: NodeDocument,
  message: NodeEventFields,
  report: EngineReport,
  event: SeenEvent,
): NodeDocument => {
  const closure = closureOf(document.node);
  const at = timestampOf(report.occurredAt);
  const revision = Number(event.revision);
  const isNewPhase = isPhaseChange(document, message, report);
  keepFlags(document, message);
  keepInputs(document, message, revision);
  setResult(document, message, isNewPhase, revision);
  keepTarget(document, message, revision);
  if (message.deckUri) closure.deckUri = message.deckUri;
  if (message.phase === Phase.RUNNING) closure.startedAt = earliest(closure.startedAt, at);
  if (isNewPhase) {
    end(closure, message.phase, at);
    document.closedBy = '';
  }
  closure.updatedAt = latest(closure.updatedAt, given(message.reportedAt) ?? at);
  return document;
};

/** Closes a node that was open when its execution ended. */
export const closed = (document: NodeDocument, closedBy: string, at: Instant): NodeDocument => {
  const closure = closureOf(document.node);
  if (TERMINAL.has(closure.phase)) return document;
  end(closure, Phase.ABORTED, at);
  closure.updatedAt = latest(closure.updatedAt, timestampOf(at));
  document.closedBy = closedBy;
  return document;
};
