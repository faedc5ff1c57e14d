import type { DescMethod } from '@bufbuild/protobuf';

import { AccessService } from '../../../proto/gen/platformidl/eventlog/access_service_pb.js';
import { AuditService } from '../../../proto/gen/platformidl/eventlog/audit_service_pb.js';
import { EngineService } from '../../../proto/gen/platformidl/eventlog/engine_service_pb.js';
import { ExecutionCountService } from '../../../proto/gen/platformidl/eventlog/execution_count_service_pb.js';
import { HistoryService } from '../../../proto/gen/platformidl/eventlog/history_pb.js';
import { NotificationService } from '../../../proto/gen/platformidl/eventlog/notification_service_pb.js';
import { OperationsService } from '../../../proto/gen/platformidl/eventlog/operations_service_pb.js';
import { ReactorService } from '../../../proto/gen/platformidl/eventlog/reactor_service_pb.js';
import { ScheduleService } from '../../../proto/gen/platformidl/eventlog/schedule_service_pb.js';
import { EventLogService } from '../../../proto/gen/platformidl/eventlog/tail_pb.js';
import { ExecutionWatchService } from '../../../proto/gen/platformidl/eventlog/watch_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import {
  AgentMetadataService,
  AsyncAgentService,
  SyncAgentService,
} from '../../../proto/gen/platformidl/service/agent_pb.js';
import { AuthMetadataService } from '../../../proto/gen/platformidl/service/auth_pb.js';
import { DataProxyService } from '../../../proto/gen/platformidl/service/dataproxy_pb.js';
import { IdentityService } from '../../../proto/gen/platformidl/service/identity_pb.js';
import { SignalService } from '../../../proto/gen/platformidl/service/signal_pb.js';
import { type Permission, PERMISSIONS } from '../../kernel/access.js';
import { isRead } from '../status.js';

/** The request fields that name the resource: dotted paths in the spelling of the proto files. */
export type TargetFields = { readonly project?: string; readonly domain?: string; readonly name?: string };

/** The permission that an RPC requires of its caller, and the resource that it is required for. */
export type Requirement = {
  /**
   * With `none`, every client that reaches the server may call the RPC. With `authenticated`, every caller with valid
   * credentials may call it, and its handler checks the permissions that it needs, or each item of the request is
   * authorized by itself.
   */
  readonly permission: Permission | 'none' | 'authenticated';
  readonly target: TargetFields;
  /** Other resources that the request refers to; the caller must have `read` where they are. */
  readonly reads: readonly TargetFields[];
};

/** The target of a request that names no project: the permission is required in all projects. */
const NOWHERE: TargetFields = {};
const PROJECT_AND_DOMAIN: TargetFields = { project: 'project', domain: 'domain' };
const NAMED: TargetFields = { ...PROJECT_AND_DOMAIN, name: 'name' };

/** The target of a request that has project, domain and name in one message field. */
const at = (path: string): TargetFields => ({
  project: `${path}.project`,
  domain: `${path}.domain`,
  name: `${path}.name`,
});

const ID = at('id');
const BINDING: TargetFields = { project: 'binding.project', domain: 'binding.domain' };
const EXECUTION_OF_ID = at('id.execution_id');
const PARENT_OF_SPEC = at('spec.metadata.parent_node_execution.execution_id');
const EXECUTION_OF_TASK = at('id.node_execution_id.execution_id');

const admin = AdminService.method;
const data = DataProxyService.method;
const signal = SignalService.method;

type Row = readonly [method: DescMethod, target: TargetFields, reads?: readonly TargetFields[]];

const rows: Readonly<Record<Requirement['permission'], readonly Row[]>> = {
  none: [
    [AuthMetadataService.method.getOAuth2Metadata, NOWHERE],
    [AuthMetadataService.method.getPublicClientConfig, NOWHERE],
    [admin.getVersion, NOWHERE],
  ],
  authenticated: [
    [IdentityService.method.userInfo, NOWHERE],
    [AccessService.method.listOwnPermissions, NOWHERE],
    [admin.listProjects, NOWHERE],
    [admin.getDomains, NOWHERE],
    [admin.listMatchableAttributes, NOWHERE],
    [data.createDownloadLocation, NOWHERE],
    [data.getData, NOWHERE],
    [EngineService.method.report, NOWHERE],
    [EngineService.method.reportBatch, NOWHERE],
    [EngineService.method.work, NOWHERE],
  ],
  read: [
    [admin.getProject, { project: 'id' }],
    [admin.getTask, ID],
    [admin.listTaskIds, PROJECT_AND_DOMAIN],
    [admin.listTasks, ID],
    [admin.getWorkflow, ID],
    [admin.listWorkflowIds, PROJECT_AND_DOMAIN],
    [admin.listWorkflows, ID],
    [admin.getLaunchPlan, ID],
    [admin.getActiveLaunchPlan, ID],
    [admin.listActiveLaunchPlans, PROJECT_AND_DOMAIN],
    [admin.listLaunchPlanIds, PROJECT_AND_DOMAIN],
    [admin.listLaunchPlans, ID],
    [admin.getExecution, ID],
    [admin.getExecutionData, ID],
    [admin.getExecutionMetrics, ID],
    [admin.listExecutions, ID],
    [admin.getNodeExecution, EXECUTION_OF_ID],
    [admin.getNodeExecutionData, EXECUTION_OF_ID],
    [admin.getDynamicNodeWorkflow, EXECUTION_OF_ID],
    [admin.listNodeExecutions, at('workflow_execution_id')],
    [admin.listNodeExecutionsForTask, at('task_execution_id.node_execution_id.execution_id')],
    [admin.getTaskExecution, EXECUTION_OF_TASK],
    [admin.getTaskExecutionData, EXECUTION_OF_TASK],
    [admin.listTaskExecutions, at('node_execution_id.execution_id')],
    [admin.listNamedEntities, PROJECT_AND_DOMAIN],
    [admin.getNamedEntity, ID],
    [admin.getDescriptionEntity, ID],
    [admin.listDescriptionEntities, ID],
    [admin.getProjectAttributes, { project: 'project' }],
    [admin.getProjectDomainAttributes, PROJECT_AND_DOMAIN],
    [admin.getWorkflowAttributes, { ...PROJECT_AND_DOMAIN, name: 'workflow' }],
    [data.createDownloadLink, at('node_execution_id.execution_id')],
    [signal.listSignals, at('workflow_execution_id')],
    [HistoryService.method.listTransitions, ID],
    [HistoryService.method.diff, ID],
    [EventLogService.method.tail, PROJECT_AND_DOMAIN],
    [ExecutionWatchService.method.watch, NAMED],
    [ExecutionCountService.method.count, PROJECT_AND_DOMAIN],
    [NotificationService.method.listNotifications, ID],
    [ScheduleService.method.listSchedules, PROJECT_AND_DOMAIN],
    [AgentMetadataService.method.getAgent, NOWHERE],
    [AgentMetadataService.method.listAgents, NOWHERE],
  ],
  register: [
    [admin.createTask, ID],
    [admin.createWorkflow, ID],
    [admin.createLaunchPlan, ID, [at('spec.workflow_id')]],
    [admin.updateLaunchPlan, ID],
    [admin.updateNamedEntity, ID],
    [ScheduleService.method.skipTick, NAMED],
    [ScheduleService.method.pauseSchedule, NAMED],
    [ScheduleService.method.resumeSchedule, NAMED],
    [data.createUploadLocation, PROJECT_AND_DOMAIN],
  ],
  execute: [
    [admin.createExecution, NAMED, [at('spec.launch_plan'), PARENT_OF_SPEC, at('spec.metadata.reference_execution')]],
    [admin.relaunchExecution, ID],
    [admin.recoverExecution, ID, [at('metadata.parent_node_execution.execution_id')]],
    [admin.updateExecution, ID],
    [admin.terminateExecution, ID],
    [signal.setSignal, EXECUTION_OF_ID],
    [NotificationService.method.resendNotification, ID],
    [ScheduleService.method.fireSchedule, NAMED],
    [SyncAgentService.method.executeTaskSync, NOWHERE],
    [AsyncAgentService.method.createTask, NOWHERE],
    [AsyncAgentService.method.getTask, NOWHERE],
    [AsyncAgentService.method.deleteTask, NOWHERE],
    [AsyncAgentService.method.getTaskMetrics, NOWHERE],
    [AsyncAgentService.method.getTaskLogs, NOWHERE],
  ],
  events: [
    [admin.createWorkflowEvent, at('event.execution_id')],
    [admin.createNodeEvent, at('event.id.execution_id')],
    [admin.createTaskEvent, at('event.parent_node_execution_id.execution_id')],
    [signal.getOrCreateSignal, EXECUTION_OF_ID],
  ],
  admin: [
    [admin.registerProject, { project: 'project.id' }],
    [admin.updateProject, { project: 'id' }],
    [admin.updateProjectAttributes, { project: 'attributes.project' }],
    [admin.deleteProjectAttributes, { project: 'project' }],
    [admin.updateProjectDomainAttributes, { project: 'attributes.project', domain: 'attributes.domain' }],
    [admin.deleteProjectDomainAttributes, PROJECT_AND_DOMAIN],
    [
      admin.updateWorkflowAttributes,
      { project: 'attributes.project', domain: 'attributes.domain', name: 'attributes.workflow' },
    ],
    [admin.deleteWorkflowAttributes, { ...PROJECT_AND_DOMAIN, name: 'workflow' }],
    [AccessService.method.grant, BINDING],
    [AccessService.method.revoke, BINDING],
    [AccessService.method.list, PROJECT_AND_DOMAIN],
    [AuditService.method.list, PROJECT_AND_DOMAIN],
    [ReactorService.method.listReactors, NOWHERE],
    [ReactorService.method.retryDeadLetter, NOWHERE],
    [ReactorService.method.skipDeadLetter, NOWHERE],
    [OperationsService.method.listEngines, NOWHERE],
    [OperationsService.method.listParkedStreams, NOWHERE],
    [OperationsService.method.retryParkedStream, NOWHERE],
    [OperationsService.method.listConsumers, NOWHERE],
  ],
};

const requirements = new Map<DescMethod, Requirement>(
  (['none', 'authenticated', ...PERMISSIONS] as const).flatMap((permission) =>
    rows[permission].map(([method, target, reads = []]) => [method, { permission, target, reads }] as const),
  ),
);

/** The requirement of RPCs outside the Flyte and flightlog services that every caller may call: health checks. */
export const OPEN_TO_ALL: Requirement = { permission: 'none', target: NOWHERE, reads: [] };

/** The requirement of reflection: valid credentials, and no permission. */
export const AUTHENTICATED: Requirement = { permission: 'authenticated', target: NOWHERE, reads: [] };

/**
 * Looks up the requirement of an RPC of the Flyte or flightlog services.
 *
 * @throws {Error} when the table has no row for it. The process then does not start, so that no RPC is open by mistake.
 */
export const requirementOf = (method: DescMethod): Requirement => {
  const found = requirements.get(method);
  if (found) return found;
  throw new Error(
    `no permission is declared for ${method.parent.name}.${method.name}: add a row in services/gateway/dispatch/requirement.ts`,
  );
};

/** RPCs with these permissions change something, except those that only read. Reports of engines require `events`. */
const OF_COMMANDS: ReadonlySet<string> = new Set(['register', 'execute', 'admin']);

/** True for RPCs by which people and programs change something; false for reads and for reports of engines. */
export const isCommand = ({
  requires,
  method,
}: {
  readonly requires: Requirement;
  readonly method: DescMethod;
}): boolean => OF_COMMANDS.has(requires.permission) && !isRead(method);
