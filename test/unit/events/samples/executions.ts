import type { JsonObject } from '@bufbuild/protobuf';
import { LiteralMapSchema, LiteralSchema } from '../../../../proto/gen/platformidl/core/literals_pb.js';
import { OpenEntitiesSchema } from '../../../../proto/gen/platformidl/eventlog/execution_pb.js';
import {
  NodeExecutionEventSchema,
  TaskExecutionEventSchema,
  WorkflowExecutionEventSchema,
} from '../../../../proto/gen/platformidl/event/event_pb.js';
import { streamName } from '../../../../services/kernel/stream.js';
import { launchPlanId, notifications, taskId, text, workflowId } from './definitions.js';
import { content, digest, PLACE, reported, type Sample } from './sample.js';
import { EXECUTION_CATEGORY } from '../../../../services/kernel/execution-id.js';

const id = { ...PLACE, name: 'a1b2' };
const stream = streamName(EXECUTION_CATEGORY, [id.project, id.domain, id.name]);
const producerId = 'propeller';
const principal = 'ada';
const SESSION = '0f1d1a52-7c39-4b0e-8d5b-6f1d6a3b2c4d';
const cause = 'no longer needed';
const literals = { literals: { name: text('world') } };
const outputs = { literals: { o0: text('hello world') } };
/** The nodes and tasks that were open when their execution ended. */
const closed = content(OpenEntitiesSchema, { nodes: ['n1'], tasks: [{ node: 'n1', taskId, attempt: 0 }] });

const error = { code: 'USER:RuntimeError', message: 'nobody to greet', kind: 'USER' };

/** Fields that the stored message has beside the engine's message. */
const reportFields = (phase: string, occurredAt: string): JsonObject => ({
  phase,
  occurredAt,
  producerId,
  samePhase: false,
});

const workflowFailed = (): JsonObject => {
  const occurredAt = '2026-01-01T00:00:09.500Z';
  const message = { executionId: id, producerId, phase: 'FAILED', occurredAt, error };
  return { ...reportFields('FAILED', occurredAt), ...reported(WorkflowExecutionEventSchema, message), closed };
};

const nodeSucceeded = (): JsonObject => {
  const occurredAt = '2026-01-01T00:00:08.250Z';
  const message = {
    id: { nodeId: 'n0', executionId: id },
    producerId,
    phase: 'SUCCEEDED',
    occurredAt,
    inputData: literals,
    outputData: outputs,
    taskNodeMetadata: { cacheStatus: 'CACHE_POPULATED' },
    specNodeId: 'n0',
    nodeName: 'greet',
    eventVersion: 1,
    deckUri: 's3://data/a1b2/n0/deck.html',
    reportedAt: occurredAt,
  };
  return { node: 'n0', ...reportFields('SUCCEEDED', occurredAt), ...reported(NodeExecutionEventSchema, message) };
};

const taskRunning = (): JsonObject => {
  const occurredAt = '2026-01-01T00:00:05.500Z';
  const message = {
    taskId,
    parentNodeExecutionId: { nodeId: 'n0', executionId: id },
    retryAttempt: 1,
    phase: 'RUNNING',
    phaseVersion: 1,
    producerId,
    occurredAt,
    inputData: literals,
    logs: [{ uri: 'https://logs.example.org/a1b2-n0-1', name: 'Pod log', messageFormat: 'JSON', ttl: '604800s' }],
    customInfo: { pod: 'a1b2-n0-1' },
    reasons: [{ reason: 'started', occurredAt }],
    taskType: 'python-task',
    metadata: { generatedName: 'a1b2-n0-1', pluginIdentifier: 'container' },
    eventVersion: 1,
    reportedAt: occurredAt,
  };
  return {
    node: 'n0',
    taskId,
    attempt: 1,
    phaseVersion: 1,
    ...reportFields('RUNNING', occurredAt),
    ...reported(TaskExecutionEventSchema, message),
  };
};

const created: JsonObject = {
  id,
  spec: {
    launchPlan: launchPlanId,
    metadata: { mode: 'MANUAL', principal, systemMetadata: { namespace: 'flytesnacks-development' } },
    labels: { values: { team: 'greeters' } },
    maxParallelism: 25,
  },
  workflowId,
  launchPlanId,
  inputs: content(LiteralMapSchema, literals),
  userInputs: content(LiteralMapSchema, literals),
  notifications,
  config: { maxParallelism: 25, labels: { values: { team: 'greeters' } }, interruptible: false },
  read: [{ stream: 'launchPlan-flytesnacks:development:hello.hello', revision: '3' }],
  engine: {
    tier: 'HIGH',
    queueingBudget: '600s',
    taskResources: { defaults: { cpu: '1', memory: '2Gi' }, limits: { cpu: '4', memory: '8Gi' } },
    clusterLabel: { value: 'gpu' },
    clusterAssignment: { clusterPoolName: 'default' },
    queue: { tags: ['batch'] },
    pluginOverrides: { overrides: [{ taskType: 'sidecar', pluginId: ['pod'], missingPluginBehavior: 'FAIL' }] },
  },
  slotAttempt: '7d3f6f0e-0f2a-4c38-9d5e-6a7c1b2d3e4f',
};

const data: Readonly<Record<string, JsonObject>> = {
  ExecutionCreated: created,
  WorkflowPhaseReported: workflowFailed(),
  NodePhaseReported: nodeSucceeded(),
  TaskPhaseReported: taskRunning(),
  TerminationRequested: { cause, principal, id, timedOut: false },
  TerminationAnnounced: { id },
  ExecutionExpired: { phase: 'ABORTED', cause, principal, closed },
  ExecutionVoided: { creationAttempt: '7d3f6f0e-0f2a-4c38-9d5e-6a7c1b2d3e4f' },
  ExecutionStateChanged: { state: 'EXECUTION_ARCHIVED', principal },
  ExecutionTagged: { tags: ['nightly', 'greeting'], principal },
  SignalCreated: { id, signalId: 'approve', type: { simple: 'STRING' } },
  SignalSet: {
    signalId: 'approve',
    value: content(LiteralSchema, text('yes')),
    digest: digest(LiteralSchema, text('yes')),
    principal,
  },
  WorkLeased: {
    id,
    number: '1',
    group: 'default',
    engine: 'engine-0',
    session: SESSION,
    producerId: 'engine-0',
    until: '2026-01-01T00:00:30Z',
  },
  WorkReturned: { id, number: '1', reason: 'no GPU is free' },
};

/** Samples of the streams of executions. */
export const executionSamples: readonly Sample[] = Object.entries(data).map(([type, each]) => ({
  type,
  stream,
  data: each,
}));
