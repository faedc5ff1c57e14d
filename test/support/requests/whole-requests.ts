import { expect } from 'vitest';

import { fixtureBytes } from './fixtures.js';
import { flyteidl } from '../clients/published-client.js';

const { admin, core } = flyteidl;
const { Phase } = core.WorkflowExecution;
const { TASK, WORKFLOW, LAUNCH_PLAN } = core.ResourceType;
const { CLUSTER_RESOURCE } = admin.MatchableResource;

const SCOPE = { project: 'flytesnacks', domain: 'development' };
const task = { resourceType: TASK, ...SCOPE, name: 'hello.greet', version: 'v1' };
const workflow = { resourceType: WORKFLOW, ...SCOPE, name: 'hello.hello', version: 'v1' };
const plan = { resourceType: LAUNCH_PLAN, ...SCOPE, name: 'hello.hello', version: 'v1' };
const first = { ...SCOPE, name: 'first' };
const second = { ...SCOPE, name: 'second' };
const node = { executionId: first, nodeId: 'n0' };
const attempt = { taskId: task, nodeExecutionId: node, retryAttempt: 0 };
const signal = { signalId: 'go', executionId: second };
const BOOLEAN = { simple: core.SimpleType.BOOLEAN };
/** The timestamp so many seconds after a fixed moment. */
const at = (seconds: number) => ({ seconds: 1_790_000_000 + seconds });
const page = { limit: 10 };
const matchingAttributes = { clusterResourceAttributes: { attributes: { quota: '4' } } };
const scopes = {
  Project: { project: 'flytesnacks' },
  ProjectDomain: SCOPE,
  Workflow: { ...SCOPE, workflow: workflow.name },
};

/** A call, the expected status, by default OK, and fields that the answer must have. */
export type WholeRequest = readonly [rpc: string, request: object, code?: string, holds?: object];

/** An update and a read of the attributes of each level. */
const attributeRows = Object.entries(scopes).flatMap(([level, scope]): WholeRequest[] => [
  [`AdminService.Update${level}Attributes`, { attributes: { ...scope, matchingAttributes } }],
  [`AdminService.Get${level}Attributes`, { ...scope, resourceType: CLUSTER_RESOURCE }, 'OK', { attributes: scope }],
]);

const taskRequest = admin.TaskCreateRequest.decode(fixtureBytes('01-hello/001-task.create_request.pb'));
taskRequest.spec = { ...taskRequest.spec, description: { shortDescription: 'greets' } };
/** The recorded launch of `01-hello` under another name. */
const launch = (name: string) => {
  const request = admin.ExecutionCreateRequest.decode(fixtureBytes('01-hello/execute-02.create_request.pb'));
  request.name = name;
  return request;
};

/** Requests about projects, definitions and their attributes. */
const REGISTRATION: readonly WholeRequest[] = [
  ['AdminService.RegisterProject', { project: { id: 'parcels', name: 'Parcels' } }],
  ['AdminService.UpdateProject', { id: 'parcels', name: 'Letters' }],
  ['AdminService.GetProject', { id: 'parcels' }, 'OK', { id: 'parcels', name: 'Letters' }],
  ['AdminService.ListProjects', {}, 'OK', { projects: [{ id: 'flytesnacks' }, { id: 'parcels' }] }],
  ['AdminService.GetDomains', {}, 'OK', { domains: [{ id: 'development' }, { id: 'staging' }, { id: 'production' }] }],
  ['AdminService.GetVersion', {}, 'OK', { controlPlaneVersion: {} }],
  ['AdminService.CreateTask', taskRequest],
  ['AdminService.GetTask', { id: task }, 'OK', { id: task }],
  ['AdminService.ListTasks', { id: SCOPE, ...page }, 'OK', { tasks: [{ id: task }] }],
  ['AdminService.ListTaskIds', { ...SCOPE, ...page }, 'OK', { entities: [{ name: task.name }] }],
  [
    'AdminService.CreateWorkflow',
    admin.WorkflowCreateRequest.decode(fixtureBytes('01-hello/002-workflow.create_request.pb')),
  ],
  ['AdminService.GetWorkflow', { id: workflow }, 'OK', { id: workflow }],
  ['AdminService.ListWorkflows', { id: SCOPE, ...page }, 'OK', { workflows: [{}] }],
  ['AdminService.ListWorkflowIds', { ...SCOPE, ...page }, 'OK', { entities: [{ name: workflow.name }] }],
  [
    'AdminService.CreateLaunchPlan',
    admin.LaunchPlanCreateRequest.decode(fixtureBytes('01-hello/003-launch_plan.create_request.pb')),
  ],
  ['AdminService.UpdateLaunchPlan', { id: plan, state: admin.LaunchPlanState.ACTIVE }],
  ['AdminService.GetLaunchPlan', { id: plan }, 'OK', { id: plan, closure: { state: admin.LaunchPlanState.ACTIVE } }],
  ['AdminService.GetActiveLaunchPlan', { id: { ...SCOPE, name: plan.name } }, 'OK', { id: plan }],
  ['AdminService.ListActiveLaunchPlans', { ...SCOPE, ...page }, 'OK', { launchPlans: [{ id: plan }] }],
  ['AdminService.ListLaunchPlans', { id: SCOPE, ...page }, 'OK', { launchPlans: [{ id: plan }] }],
  ['AdminService.ListLaunchPlanIds', { ...SCOPE, ...page }, 'OK', { entities: [{ name: plan.name }] }],
  ['AdminService.ListNamedEntities', { resourceType: WORKFLOW, ...SCOPE, ...page }, 'OK', { entities: [{}] }],
  [
    'AdminService.UpdateNamedEntity',
    { resourceType: WORKFLOW, id: { ...SCOPE, name: workflow.name }, metadata: { description: 'says hello' } },
  ],
  [
    'AdminService.GetNamedEntity',
    { resourceType: WORKFLOW, id: { ...SCOPE, name: workflow.name } },
    'OK',
    { metadata: { description: 'says hello' } },
  ],
  ['AdminService.GetDescriptionEntity', { id: task }, 'OK', { shortDescription: 'greets' }],
  [
    'AdminService.ListDescriptionEntities',
    { resourceType: TASK, id: { ...SCOPE, name: task.name }, ...page },
    'OK',
    { descriptionEntities: [{ shortDescription: 'greets' }] },
  ],
  ...attributeRows,
  ['AdminService.ListMatchableAttributes', { resourceType: CLUSTER_RESOURCE }, 'OK', { configurations: [{}, {}, {}] }],
  ...Object.entries(scopes).map(([level, scope]): WholeRequest => [
    `AdminService.Delete${level}Attributes`,
    { ...scope, resourceType: CLUSTER_RESOURCE },
  ]),
];

/** Requests about executions, nodes and tasks. */
const RUNS: readonly WholeRequest[] = [
  ['AdminService.CreateExecution', launch(first.name), 'OK', { id: first }],
  ['AdminService.CreateExecution', launch(second.name), 'OK', { id: second }],
  [
    'AdminService.CreateWorkflowEvent',
    { event: { executionId: first, phase: Phase.RUNNING, occurredAt: at(1), producerId: 'propeller' } },
  ],
  ['AdminService.CreateNodeEvent', { event: { id: node, phase: core.NodeExecution.Phase.RUNNING, occurredAt: at(2) } }],
  [
    'AdminService.CreateTaskEvent',
    {
      event: {
        taskId: task,
        parentNodeExecutionId: node,
        phase: core.TaskExecution.Phase.RUNNING,
        occurredAt: at(3),
      },
    },
  ],
  ['AdminService.GetExecution', { id: first }, 'OK', { id: first, closure: { phase: Phase.RUNNING } }],
  ['AdminService.ListExecutions', { id: SCOPE, ...page }, 'OK', { executions: [{}, {}] }],
  ['AdminService.GetExecutionData', { id: first }, 'OK', { fullInputs: {} }],
  ['AdminService.UpdateExecution', { id: first, state: admin.ExecutionState.EXECUTION_ARCHIVED }],
  ['AdminService.GetNodeExecution', { id: node }, 'OK', { id: node }],
  [
    'AdminService.ListNodeExecutions',
    { workflowExecutionId: first, ...page },
    'OK',
    { nodeExecutions: [{ id: node }] },
  ],
  ['AdminService.ListNodeExecutionsForTask', { taskExecutionId: attempt, ...page }, 'OK', { nodeExecutions: [] }],
  ['AdminService.GetNodeExecutionData', { id: node }, 'OK', {}],
  ['AdminService.GetDynamicNodeWorkflow', { id: node }, 'NOT_FOUND'],
  ['AdminService.GetTaskExecution', { id: attempt }, 'OK', { id: { nodeExecutionId: node } }],
  ['AdminService.ListTaskExecutions', { nodeExecutionId: node, ...page }, 'OK', { taskExecutions: [{}] }],
  ['AdminService.GetTaskExecutionData', { id: attempt }, 'OK', {}],
  ['AdminService.GetExecutionMetrics', { id: first, depth: 10 }, 'OK', { span: {} }],
  ['AdminService.TerminateExecution', { id: first, cause: 'enough' }],
  [
    'AdminService.CreateWorkflowEvent',
    { event: { executionId: first, phase: Phase.ABORTED, occurredAt: at(4), producerId: 'propeller' } },
  ],
  ['AdminService.RelaunchExecution', { id: first, name: 'again' }, 'OK', { id: { name: 'again' } }],
  ['AdminService.RecoverExecution', { id: first, name: 'on' }, 'OK', { id: { name: 'on' } }],
];

/** Requests to services other than AdminService. */
const OTHER_SERVICES: readonly WholeRequest[] = [
  ['SignalService.GetOrCreateSignal', { id: signal, type: BOOLEAN }, 'OK', { id: signal }],
  ['SignalService.ListSignals', { workflowExecutionId: second, ...page }, 'OK', { signals: [{ id: signal }] }],
  ['SignalService.SetSignal', { id: signal, value: { scalar: { primitive: { boolean: true } } } }],
  [
    'DataProxyService.CreateUploadLocation',
    { ...SCOPE, filename: 'parcel.txt', contentMd5: new Uint8Array(16) },
    'OK',
    { signedUrl: expect.stringMatching(/^http/u) as string },
  ],
  ['DataProxyService.CreateDownloadLocation', { nativeUrl: 's3://elsewhere/secret' }, 'NOT_FOUND'],
  [
    'DataProxyService.CreateDownloadLink',
    { nodeExecutionId: node, artifactType: flyteidl.service.ArtifactType.ARTIFACT_TYPE_DECK },
    'NOT_FOUND',
  ],
  ['DataProxyService.GetData', { flyteUrl: 'flyte://v1/flytesnacks/development/first/n0/0/i' }, 'NOT_FOUND'],
  ['AuthMetadataService.GetOAuth2Metadata', {}],
  ['AuthMetadataService.GetPublicClientConfig', {}],
  ['IdentityService.UserInfo', {}],
];

const ofSensor = { taskCategory: { name: 'sensor', version: 1 }, resourceMeta: Buffer.from('sensor/out') };

/** A request to each RPC of the agents' services, for a task of the agent `sensor`. */
export const agentRequests: readonly (readonly [rpc: string, request: object])[] = [
  ['AsyncAgentService.CreateTask', { template: { type: 'sensor', id: task }, outputPrefix: 'out' }],
  ['AsyncAgentService.GetTask', ofSensor],
  ['AsyncAgentService.DeleteTask', ofSensor],
  ['AsyncAgentService.GetTaskMetrics', { ...ofSensor, queries: ['cpu'] }],
  ['AsyncAgentService.GetTaskLogs', { ...ofSensor, lines: 2 }],
  ['SyncAgentService.ExecuteTaskSync', { header: { template: { type: 'sensor', id: task } } }],
  ['AgentMetadataService.GetAgent', { name: 'sensor' }],
  ['AgentMetadataService.ListAgents', {}],
];

const AGENTS = agentRequests.map((each): WholeRequest => [...each, 'UNIMPLEMENTED']);

/**
 * At least one complete request to every RPC of Flyte's services, each after those that create the entities that it
 * needs. For entities that do not exist the expected status is NOT_FOUND, and for agents, none of which is configured,
 * UNIMPLEMENTED.
 */
export const wholeRequests: readonly WholeRequest[] = [...REGISTRATION, ...RUNS, ...OTHER_SERVICES, ...AGENTS];
