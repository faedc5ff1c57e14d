import { QualityOfService_Tier } from '../../proto/gen/platformidl/core/execution_pb.js';
import type { ExecutionCreated } from '../../proto/gen/platformidl/eventlog/execution_pb.js';
import type { Identifier } from '../../proto/gen/platformidl/core/identifier_pb.js';
import { launchPlanStream } from '../../services/launch-plan/events.js';
import { taskStream } from '../../services/task/events.js';
import { workflowStream } from '../../services/workflow/events.js';
import { documentKey } from '../query/document-key.js';
import { enumName } from '../query/enum-name.js';
import type { SeenEvent } from '../runtime/read-model.js';
import type { FieldValue, StoredDocument } from '../runtime/read-store.js';
import { nodeExecutionKey } from '../query/execution-identifiers.js';
import { microsOf } from '../query/times.js';
import { definitionField, originFields } from './columns.js';
import { executionStream } from '../../services/kernel/execution-id.js';

/** Fields that stay the same over the whole life of an execution. */
export type Origin = Readonly<Record<string, FieldValue>>;

const KEYS = {
  launch_plan: (id: Identifier) => documentKey(launchPlanStream(id), id.version),
  workflow: (id: Identifier) => workflowStream(id),
  task: (id: Identifier) => taskStream(id),
} as const;

const definition = (kind: keyof typeof KEYS, id: Identifier | undefined): Origin => ({
  [kind]: id ? KEYS[kind](id) : null,
  [definitionField(kind, 'project')]: id?.project ?? null,
  [definitionField(kind, 'domain')]: id?.domain ?? null,
  [definitionField(kind, 'name')]: id?.name ?? null,
  [definitionField(kind, 'version')]: id?.version ?? null,
});

/** The resolved quality of service. Executions created by earlier releases do not have it. */
const urgency = ({ engine }: ExecutionCreated): Origin => ({
  quality_of_service: engine ? enumName(QualityOfService_Tier, engine.tier) : null,
  queueing_budget: microsOf(engine?.queueingBudget),
});

/**
 * Fields from the creation: the definitions that run, and the source of the execution. Keys are those of the other
 * entities' documents.
 */
export const originOf = (created: ExecutionCreated, { position }: SeenEvent): Origin => {
  const { referenceExecution, parentNodeExecution: parent } = created.spec?.metadata ?? {};
  return {
    recorded: Number(position),
    launch_entity: created.taskId ? 'task' : 'launch_plan',
    ...definition('launch_plan', created.launchPlanId),
    ...definition('workflow', created.workflowId),
    ...definition('task', created.taskId),
    ...urgency(created),
    source: referenceExecution ? executionStream(referenceExecution) : null,
    parent_node: parent?.executionId ? nodeExecutionKey(executionStream(parent.executionId), parent.nodeId) : null,
  };
};

/** Reads these fields from a stored document. */
export const storedOrigin = (fields: StoredDocument['fields']): Origin =>
  Object.fromEntries(originFields.map((field) => [field, fields[field] ?? null]));
