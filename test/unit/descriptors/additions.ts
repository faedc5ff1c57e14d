/**
 * The additions of the interface to the one that clients in the field know: fields from 1000 on, a message for one of
 * them, and HTTP bindings under `/api/v1/` for RPCs that had none there. Clients that do not know an addition ignore
 * it. Nothing else may differ; the descriptor test allows exactly this list.
 */
export const addedMessages: readonly string[] = ['platformidl.admin.ExecutionTags'];

/** `message.field = number`. */
export const addedFields: readonly string[] = [
  'platformidl.admin.TaskCreateResponse.id = 1000',
  'platformidl.admin.WorkflowCreateResponse.id = 1000',
  'platformidl.admin.TaskExecutionGetDataResponse.logs = 1000',
  'platformidl.admin.ExecutionUpdateRequest.tags = 1000',
  'platformidl.admin.WorkflowExecutionGetRequest.as_of = 1000',
  'platformidl.admin.WorkflowExecutionGetDataRequest.as_of = 1000',
  'platformidl.admin.NodeExecutionGetRequest.as_of = 1000',
  'platformidl.admin.NodeExecutionListRequest.as_of = 1000',
  'platformidl.admin.NodeExecutionForTaskListRequest.as_of = 1000',
  'platformidl.admin.NodeExecutionGetDataRequest.as_of = 1000',
  'platformidl.admin.LaunchPlanClosure.next_fire_at = 1000',
  'platformidl.admin.TaskExecutionGetRequest.as_of = 1000',
  'platformidl.admin.TaskExecutionListRequest.as_of = 1000',
  'platformidl.admin.TaskExecutionGetDataRequest.as_of = 1000',
];

/** `service.RPC VERB path`. */
export const addedBindings: readonly string[] = [
  'platformidl.service.SignalService.GetOrCreateSignal POST /api/v1/signals/get_or_create *',
  'platformidl.service.IdentityService.UserInfo GET /api/v1/me ',
  'platformidl.service.AuthMetadataService.GetPublicClientConfig GET /api/v1/auth/client_config ',
  'platformidl.service.AuthMetadataService.GetOAuth2Metadata GET /api/v1/auth/metadata ',
];
