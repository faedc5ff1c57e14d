import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { EventFailureReasonSchema } from '../../../proto/gen/platformidl/admin/event_pb.js';
import { typeText } from '../../compiler/types/type-text.js';
import { RpcError, type StatusCode, type StatusDetail } from '../../kernel/rpc.js';
import { executionAbsent, nodeAbsent } from '../execution-id.js';
import { phaseName } from '../phases.js';
import type { Entity } from '../wire/engine-report.js';
import type { TaskAttempt } from '../wire/envelope.js';
import type { ExecutionRefusal } from '../refusals.js';
import { type ExecutionId, executionText } from '../../kernel/execution-id.js';

/** The execution, node or task attempt that a refusal is about, for the error text. */
export type RefusedEntity = { readonly id: ExecutionId; readonly nodeId?: string } & Partial<
  Pick<TaskAttempt, 'retryAttempt'>
> & { readonly taskId?: TaskAttempt['taskId'] | undefined };

const subjectText = ({ id, nodeId = '' }: RefusedEntity): string =>
  nodeId === '' ? `execution [${executionText(id)}]` : `node [${nodeId}] of execution [${executionText(id)}]`;

/** The entity of a report, as FlyteAdmin names its kind. */
const entityText: Readonly<Record<Entity, (subject: RefusedEntity) => string>> = {
  workflow: ({ id }) => `workflow execution [${executionText(id)}]`,
  node: ({ id, nodeId = '' }) => `node execution [${nodeId}] of execution [${executionText(id)}]`,
  task: ({ taskId, retryAttempt = 0, ...subject }) =>
    `task execution [${taskId?.name ?? ''}], attempt ${retryAttempt} of ${subjectText(subject)}`,
};

const recordedText: Readonly<Record<Entity, (phase: string, version: number) => string>> = {
  workflow: (phase) => `This phase ${phase} was already recorded`,
  node: (phase) => `This phase was already recorded ${phase}`,
  task: (phase, version) => `have already recorded task execution phase ${phase} (version: ${version})`,
};

const detail = (
  reason: MessageInitShape<typeof EventFailureReasonSchema>['reason'] & object,
): readonly StatusDetail[] => [
  { schema: EventFailureReasonSchema, message: create(EventFailureReasonSchema, { reason }) },
];

const terminalDetail = (currentPhase: string): readonly StatusDetail[] =>
  detail({ case: 'alreadyInTerminalState', value: { currentPhase } });

const clusterDetail = (cluster: string): readonly StatusDetail[] =>
  detail({ case: 'incompatibleCluster', value: { cluster } });

type Status = { readonly code: StatusCode; readonly text: string; readonly details?: readonly StatusDetail[] };
type Kind = ExecutionRefusal['kind'];
type Of<K extends Kind> = Extract<ExecutionRefusal, { readonly kind: K }>;

/** Texts of errors that FlyteAdmin has too keep its words, because clients may look for them. */
const statuses: { readonly [K in Kind]: (refusal: Of<K>, subject: RefusedEntity) => Status } = {
  'execution-exists': (_, { id }) => ({
    code: 'ALREADY_EXISTS',
    text: `value with matching already exists (execution ${executionText(id)})`,
  }),
  'execution-voided': (_, { id }) => ({
    code: 'ABORTED',
    text: `execution ${executionText(id)} was not created in time, so its slot of the launch plan was released: retry the request`,
  }),
  'execution-not-found': (_, { id }) => ({ code: 'NOT_FOUND', text: executionAbsent(id).message }),
  'node-not-found': ({ nodeId }, { id }) => ({ code: 'NOT_FOUND', text: nodeAbsent(id, nodeId).message }),
  'task-not-found': ({ task: { nodeId, taskId, retryAttempt } }, { id }) => ({
    code: 'NOT_FOUND',
    text:
      `missing entity of type task execution with identifier task_id:{name:${JSON.stringify(taskId.name)} ` +
      `version:${JSON.stringify(taskId.version)}} node_id:${JSON.stringify(nodeId)} ` +
      `retry_attempt:${retryAttempt} of execution ${executionText(id)}`,
  }),
  'child-not-found': (_, subject) => ({
    code: 'NOT_FOUND',
    text: `missing entity of type execution: the one that ${subjectText(subject)} names in workflow_node_metadata`,
  }),
  'phase-recorded': ({ entity, phase, version }, subject) => ({
    code: 'ALREADY_EXISTS',
    text: `${recordedText[entity](phaseName(entity, phase), version)} for ${entityText[entity](subject)}`,
  }),
  'phase-stale': ({ from, to }, subject) => ({
    code: 'ALREADY_EXISTS',
    text: `${phaseName('workflow', to)} is not a later phase: ${subjectText(subject)} is ${phaseName('workflow', from)}`,
  }),
  'already-terminal': ({ entity, current, to }, subject) => ({
    code: 'FAILED_PRECONDITION',
    text: `Invalid phase change from ${phaseName(entity, current)} to ${phaseName(entity, to)} for ${entityText[entity](subject)}`,
    details: terminalDetail(phaseName(entity, current)),
  }),
  'cannot-abort': ({ current }) => ({
    code: 'FAILED_PRECONDITION',
    text: 'Cannot abort an already terminated workflow execution',
    details: terminalDetail(phaseName('workflow', current)),
  }),
  'back-to-queued': (_, subject) => ({
    code: 'FAILED_PRECONDITION',
    text: `Cannot go from RUNNING to QUEUED for ${entityText.workflow(subject)}`,
  }),
  aborting: ({ to }, subject) => ({
    code: 'FAILED_PRECONDITION',
    text: `Invalid phase change from aborting to ${phaseName('workflow', to)} for ${entityText.workflow(subject)}`,
  }),
  'incompatible-cluster': ({ cluster, stored }, subject) => ({
    code: 'FAILED_PRECONDITION',
    text: `the event comes from cluster [${cluster}], but ${subjectText(subject)} belongs to cluster [${stored}]`,
    details: clusterDetail(cluster),
  }),
  'signal-not-found': ({ signalId }, { id }) => ({
    code: 'INVALID_ARGUMENT',
    text: `failed to validate that signal [${signalId}] of execution [${executionText(id)}] exists, err: signal does not exist`,
  }),
  'signal-type-differs': ({ signalId, type }, { id }) => ({
    code: 'ALREADY_EXISTS',
    text: `value with matching already exists (signal [${signalId}] of execution [${executionText(id)}], which is ${typeText(type)})`,
  }),
  'signal-not-castable': ({ signalId, type }) => ({
    code: 'INVALID_ARGUMENT',
    text: `requested signal value is not castable to ${typeText(type)}, which signal [${signalId}] is`,
  }),
  'too-many-signals': ({ limit }, { id }) => ({
    code: 'RESOURCE_EXHAUSTED',
    text: `execution [${executionText(id)}] has ${limit} signals, which is the limit`,
  }),
  'execution-ended': ({ current }, { id }) => ({
    code: 'FAILED_PRECONDITION',
    text: `execution [${executionText(id)}] has ended: it is ${phaseName('workflow', current)}`,
    details: terminalDetail(phaseName('workflow', current)),
  }),
  'lease-held': ({ engine }, { id }) => ({
    code: 'FAILED_PRECONDITION',
    text: `execution [${executionText(id)}] is leased to engine [${engine}]`,
  }),
  'lease-lost': ({ producer, engine }, subject) => ({
    code: 'FAILED_PRECONDITION',
    text:
      `${producer === '' ? 'the event has no producer_id, and so' : `the event comes from [${producer}], which has`} ` +
      `no lease of ${subjectText(subject)}` +
      (engine === '' ? '' : `: engine [${engine}] has it`),
    details: clusterDetail(producer),
  }),
  'runs-without-lease': (_, { id }) => ({
    code: 'FAILED_PRECONDITION',
    text: `execution [${executionText(id)}] is already run by an engine that takes no leases, so it cannot be leased`,
  }),
};

/** Turns a refusal into the error of its kind. */
export const refusalError = (refusal: ExecutionRefusal, subject: RefusedEntity): RpcError => {
  // The row of a kind takes exactly the refusals of that kind, which TypeScript cannot infer.
  const row = statuses[refusal.kind] as (refusal: ExecutionRefusal, subject: RefusedEntity) => Status;
  const { code, text, details } = row(refusal, subject);
  return new RpcError(code, text, details);
};
