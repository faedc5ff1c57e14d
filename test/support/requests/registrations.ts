import { clone, fromBinary } from '@bufbuild/protobuf';

import { type TaskCreateRequest, TaskCreateRequestSchema } from '../../../proto/gen/platformidl/admin/task_pb.js';
import {
  type WorkflowCreateRequest,
  WorkflowCreateRequestSchema,
} from '../../../proto/gen/platformidl/admin/workflow_pb.js';
import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { fixtureBytes } from './fixtures.js';
import type { Transport } from '../clients/transports.js';

/** The project of the definitions registered here, and their domain unless another is named. */
export const PLACE = { project: 'flytesnacks', domain: 'development' };

type Named = { readonly domain?: string; readonly name: string; readonly version?: string };

const task = fromBinary(TaskCreateRequestSchema, fixtureBytes('01-hello/001-task.create_request.pb'));
const workflow = fromBinary(WorkflowCreateRequestSchema, fixtureBytes('01-hello/002-workflow.create_request.pb'));

/** Registers the task of `01-hello` under another name. */
export const registerTask = async (
  { call }: Pick<Transport, 'call'>,
  { domain = PLACE.domain, name, version = 'v1' }: Named,
  change: (request: TaskCreateRequest) => void = () => undefined,
): Promise<void> => {
  const request = clone(TaskCreateRequestSchema, task);
  Object.assign(request.id!, { domain, name, version });
  change(request);
  await call(AdminService.method.createTask, request);
};

/** Registers the workflow of `01-hello` under another name; its task must be registered. */
export const registerWorkflow = async (
  { call }: Pick<Transport, 'call'>,
  { domain = PLACE.domain, name, version = 'v1' }: Named,
  change: (request: WorkflowCreateRequest) => void = () => undefined,
): Promise<void> => {
  const request = clone(WorkflowCreateRequestSchema, workflow);
  Object.assign(request.id!, { domain, name, version });
  change(request);
  await call(AdminService.method.createWorkflow, request);
};
