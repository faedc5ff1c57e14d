import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import { ResourceType } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { LiteralTypeSchema, SimpleType } from '../../../proto/gen/platformidl/core/types_pb.js';
import { NODE, TASK, WORKFLOW } from '../../../services/execution/phases.js';
import { type ExecutionRefusal, isPermanentRefusal } from '../../../services/execution/refusals.js';
import { type RefusedEntity, refusalError } from '../../../services/execution/rpc/refusals.js';

const id = { project: 'flytesnacks', domain: 'development', name: 'run' };
const RUN = 'project:"flytesnacks" domain:"development" name:"run"';
const EXECUTION = `execution [${RUN}]`;
const type = create(LiteralTypeSchema, { type: { case: 'simple', value: SimpleType.INTEGER } });
const taskId = {
  resourceType: ResourceType.TASK,
  org: '',
  project: 'flytesnacks',
  domain: 'development',
  name: 'greet',
  version: 'v1',
};

type Row = {
  readonly refusal: ExecutionRefusal;
  readonly isPermanent: boolean;
  readonly code: string;
  /** The node or task attempt of the report. */
  readonly of?: Partial<RefusedEntity>;
  readonly text: string;
  /** The reason in the detail of the error, if there is one. */
  readonly reason?: object;
};

/** The reason in the detail of an error: the execution or the node has ended in this phase. */
const ended = (currentPhase: string) => ({ case: 'alreadyInTerminalState', value: { currentPhase } });
/** The reason in the detail of an error: the report comes from this cluster, which may not report. */
const foreign = (cluster: string) => ({ case: 'incompatibleCluster', value: { cluster } });

const ROWS: readonly Row[] = [
  {
    refusal: { kind: 'execution-exists' },
    isPermanent: true,
    code: 'ALREADY_EXISTS',
    text: `value with matching already exists (execution ${RUN})`,
  },
  {
    refusal: { kind: 'execution-voided' },
    isPermanent: true,
    code: 'ABORTED',
    text: `execution ${RUN} was not created in time, so its slot of the launch plan was released: retry the request`,
  },
  {
    refusal: { kind: 'execution-not-found' },
    isPermanent: false,
    code: 'NOT_FOUND',
    text: `missing entity of type execution with identifier ${RUN}`,
  },
  {
    refusal: { kind: 'node-not-found', nodeId: 'n0' },
    isPermanent: false,
    code: 'NOT_FOUND',
    text: `missing entity of type node execution with identifier node_id:"n0" execution_id:{${RUN}}`,
  },
  {
    refusal: { kind: 'task-not-found', task: { nodeId: 'n0', taskId, retryAttempt: 2 } },
    isPermanent: false,
    code: 'NOT_FOUND',
    text: `missing entity of type task execution with identifier task_id:{name:"greet" version:"v1"} node_id:"n0" retry_attempt:2 of execution ${RUN}`,
  },
  {
    refusal: { kind: 'child-not-found' },
    isPermanent: false,
    code: 'NOT_FOUND',
    text: `missing entity of type execution: the one that ${EXECUTION} names in workflow_node_metadata`,
  },
  {
    refusal: { kind: 'phase-recorded', entity: 'node', phase: NODE.RUNNING, version: 3 },
    isPermanent: true,
    code: 'ALREADY_EXISTS',
    of: { nodeId: 'n7' },
    text: `This phase was already recorded RUNNING for node execution [n7] of ${EXECUTION}`,
  },
  {
    refusal: { kind: 'phase-recorded', entity: 'workflow', phase: WORKFLOW.RUNNING, version: 0 },
    isPermanent: true,
    code: 'ALREADY_EXISTS',
    text: `This phase RUNNING was already recorded for workflow ${EXECUTION}`,
  },
  {
    refusal: { kind: 'phase-recorded', entity: 'task', phase: TASK.RUNNING, version: 3 },
    isPermanent: true,
    code: 'ALREADY_EXISTS',
    of: { nodeId: 'n7', taskId, retryAttempt: 2 },
    text: `have already recorded task execution phase RUNNING (version: 3) for task execution [greet], attempt 2 of node [n7] of ${EXECUTION}`,
  },
  {
    refusal: { kind: 'phase-stale', from: WORKFLOW.FAILING, to: WORKFLOW.SUCCEEDING },
    isPermanent: true,
    code: 'ALREADY_EXISTS',
    text: `SUCCEEDING is not a later phase: ${EXECUTION} is FAILING`,
  },
  {
    refusal: { kind: 'already-terminal', entity: 'node', current: NODE.SUCCEEDED, to: NODE.RUNNING },
    isPermanent: true,
    code: 'FAILED_PRECONDITION',
    of: { nodeId: 'n7' },
    text: `Invalid phase change from SUCCEEDED to RUNNING for node execution [n7] of ${EXECUTION}`,
    reason: ended('SUCCEEDED'),
  },
  {
    refusal: { kind: 'cannot-abort', current: WORKFLOW.FAILED },
    isPermanent: true,
    code: 'FAILED_PRECONDITION',
    text: 'Cannot abort an already terminated workflow execution',
    reason: ended('FAILED'),
  },
  {
    refusal: { kind: 'back-to-queued' },
    isPermanent: true,
    code: 'FAILED_PRECONDITION',
    text: `Cannot go from RUNNING to QUEUED for workflow ${EXECUTION}`,
  },
  {
    refusal: { kind: 'aborting', to: WORKFLOW.RUNNING },
    isPermanent: true,
    code: 'FAILED_PRECONDITION',
    text: `Invalid phase change from aborting to RUNNING for workflow ${EXECUTION}`,
  },
  {
    refusal: { kind: 'incompatible-cluster', cluster: 'here', stored: 'there' },
    isPermanent: false,
    code: 'FAILED_PRECONDITION',
    text: `the event comes from cluster [here], but ${EXECUTION} belongs to cluster [there]`,
    reason: foreign('here'),
  },
  {
    refusal: { kind: 'signal-not-found', signalId: 'go' },
    isPermanent: false,
    code: 'INVALID_ARGUMENT',
    text: `failed to validate that signal [go] of ${EXECUTION} exists, err: signal does not exist`,
  },
  {
    refusal: { kind: 'signal-type-differs', signalId: 'go', type },
    isPermanent: true,
    code: 'ALREADY_EXISTS',
    text: `value with matching already exists (signal [go] of ${EXECUTION}, which is integer)`,
  },
  {
    refusal: { kind: 'signal-not-castable', signalId: 'go', type },
    isPermanent: true,
    code: 'INVALID_ARGUMENT',
    text: 'requested signal value is not castable to integer, which signal [go] is',
  },
  {
    refusal: { kind: 'too-many-signals', limit: 10 },
    isPermanent: true,
    code: 'RESOURCE_EXHAUSTED',
    text: `${EXECUTION} has 10 signals, which is the limit`,
  },
  {
    refusal: { kind: 'execution-ended', current: WORKFLOW.ABORTED },
    isPermanent: true,
    code: 'FAILED_PRECONDITION',
    text: `${EXECUTION} has ended: it is ABORTED`,
    reason: ended('ABORTED'),
  },
  {
    refusal: { kind: 'lease-held', engine: 'e1' },
    isPermanent: false,
    code: 'FAILED_PRECONDITION',
    text: `${EXECUTION} is leased to engine [e1]`,
  },
  {
    refusal: { kind: 'lease-lost', producer: 'e1', engine: 'e2' },
    isPermanent: false,
    code: 'FAILED_PRECONDITION',
    text: `the event comes from [e1], which has no lease of ${EXECUTION}: engine [e2] has it`,
    reason: foreign('e1'),
  },
  {
    refusal: { kind: 'lease-lost', producer: 'e1', engine: '' },
    isPermanent: false,
    code: 'FAILED_PRECONDITION',
    text: `the event comes from [e1], which has no lease of ${EXECUTION}`,
    reason: foreign('e1'),
  },
  {
    refusal: { kind: 'lease-lost', producer: '', engine: 'e2' },
    isPermanent: false,
    code: 'FAILED_PRECONDITION',
    text: `the event has no producer_id, and so no lease of ${EXECUTION}: engine [e2] has it`,
    reason: foreign(''),
  },
  {
    refusal: { kind: 'runs-without-lease' },
    isPermanent: true,
    code: 'FAILED_PRECONDITION',
    text: `${EXECUTION} is already run by an engine that takes no leases, so it cannot be leased`,
  },
];

describe('a refusal about an execution', () => {
  it.each(ROWS)('$refusal.kind has its code, its text and its detail', ({ refusal, code, of, text, reason }) => {
    const error = refusalError(refusal, { id, ...of });
    expect([error.code, error.message]).toEqual([code, text]);
    expect(error.details.map(({ message }) => message)).toMatchObject(reason === undefined ? [] : [{ reason }]);
  });

  it.each(ROWS)('$refusal.kind is permanent: $isPermanent', ({ refusal, isPermanent }) => {
    expect(isPermanentRefusal(refusal)).toBe(isPermanent);
  });

  it('names the node when the report is about a node', () => {
    const { message } = refusalError({ kind: 'child-not-found' }, { id, nodeId: 'n7' });
    expect(message).toBe(
      `missing entity of type execution: the one that node [n7] of ${EXECUTION} names in workflow_node_metadata`,
    );
  });
});
