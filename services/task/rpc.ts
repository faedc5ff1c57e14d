import { create } from '@bufbuild/protobuf';

import { TaskCreateResponseSchema } from '../../proto/gen/platformidl/admin/task_pb.js';
import type { Identifier } from '../../proto/gen/platformidl/core/identifier_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import type { PlatformLimits } from '../compiler/resources/task-resources.js';
import { contextOf } from '../kernel/command-context.js';
import { type Version, newVersionOf, versionText } from '../kernel/identifier.js';
import { type Call, type LargeRequests, route, type Route, RpcError } from '../kernel/rpc.js';
import type { Sessions } from '../kernel/ports/sessions.js';
import type { RegisterTask } from './commands.js';
import { taskAggregate, type TaskRefusal } from './decider.js';
import { taskStream } from './events.js';
import type { LargeTasks, Projects } from './ports.js';
import { taskRegistration, type TaskRules, type TaskTypes } from './registration/task.js';

export type TaskServices = {
  readonly sessions: Sessions;
  readonly projects: Projects;
  readonly largeTasks: LargeTasks;
  readonly taskTypes: TaskTypes;
  /** The resource limits for tasks of a project and domain. */
  readonly limitsOf: (project: string, domain: string) => Promise<PlatformLimits>;
};

const refusals: Readonly<Record<TaskRefusal['kind'], (id: Version) => RpcError>> = {
  'exists-identical': (id) =>
    new RpcError('ALREADY_EXISTS', `task with identical structure already exists: ${versionText(id)}`),
  'exists-different': ({ name }) =>
    new RpcError(
      'ALREADY_EXISTS',
      `${name} task with different structure already exists with the same id: register it under a new version`,
    ),
};

/** Makes the registration of a request under the rules of its project and domain. */
type RegistrationOf = (id: Version, rules: TaskRules) => RegisterTask | Promise<RegisterTask>;

const createTask = async (
  { sessions, projects, taskTypes, limitsOf }: TaskServices,
  sent: Identifier | undefined,
  registrationOf: RegistrationOf,
  call: Call,
): Promise<Version> => {
  const id = await newVersionOf('TASK', sent, (version) =>
    sessions.read(taskAggregate, taskStream(version), ({ revision }) => revision >= 0n),
  );
  const refusal = await projects.check(id.project, id.domain);
  if (refusal !== undefined) throw refusal;
  const command = await registrationOf(id, { taskTypes, limits: await limitsOf(id.project, id.domain) });
  const outcome = await sessions.handle(taskAggregate, taskStream(id), command, contextOf(call));
  call.answeredAt(outcome.position);
  if (outcome.kind === 'refused') throw refusals[outcome.refusal.kind](id);
  return id;
};

const largeCreations = (services: TaskServices): LargeRequests => ({
  aboveBytes: services.largeTasks.aboveBytes,
  handle: async (bytes, call) => {
    const { largeTasks } = services;
    const registrationOf: RegistrationOf = (id, { limits }) => largeTasks.registrationOf(id, bytes, limits);
    const id = await createTask(services, largeTasks.idOf(bytes), registrationOf, call);
    return create(TaskCreateResponseSchema, { id });
  },
});

export const taskRoutes = (services: TaskServices): readonly Route[] => [
  route(
    AdminService.method.createTask,
    async (request, call) => {
      const id = await createTask(
        services,
        request.id,
        (completeId, rules) => taskRegistration(completeId, request, rules),
        call,
      );
      return create(TaskCreateResponseSchema, { id });
    },
    largeCreations(services),
  ),
];
