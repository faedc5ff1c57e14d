import { create, toBinary } from '@bufbuild/protobuf';

import {
  type TaskCreateRequest,
  TaskCreateResponseSchema,
  type TaskSpec,
} from '../../proto/gen/platformidl/admin/task_pb.js';
import { type CompiledTask, CompiledTaskSchema } from '../../proto/gen/platformidl/core/compiler_pb.js';
import { IdentifierSchema } from '../../proto/gen/platformidl/core/identifier_pb.js';
import type { TaskTemplate } from '../../proto/gen/platformidl/core/tasks_pb.js';
import { AdminService } from '../../proto/gen/platformidl/service/admin_pb.js';
import { collectedErrors } from '../compiler/compile-error.js';
import { descriptionProblem } from '../compiler/description.js';
import { compileTask } from '../compiler/task.js';
import { type PlatformLimits, taskResourcesProblem } from '../compiler/task-resources.js';
import { contextOf } from '../kernel/command-context.js';
import { digestOf } from '../kernel/digest.js';
import { type Version, versionOf } from '../kernel/identifier.js';
import { type Call, missing, route, type Route, RpcError } from '../kernel/rpc.js';
import type { Sessions } from '../kernel/sessions.js';
import { taskAggregate, type TaskRefusal } from './decider.js';
import { taskStream } from './events.js';
import type { Projects } from './ports.js';

/** Where a task type may be registered; an empty part is any. */
export type TaskTypeScope = { readonly project: string; readonly domain: string };

export type TaskServices = {
  readonly sessions: Sessions;
  readonly projects: Projects;
  /** Task types that only these scopes may register; others are free. */
  readonly taskTypes: Readonly<Record<string, readonly TaskTypeScope[]>>;
  /** The most that tasks of a project and domain may ask for. */
  readonly limitsOf: (project: string, domain: string) => Promise<PlatformLimits>;
};

const isAllowed = (services: TaskServices, type: string, { project, domain }: Version): boolean => {
  const scopes = Object.hasOwn(services.taskTypes, type) ? services.taskTypes[type] : undefined;
  const admits = (scope: TaskTypeScope): boolean =>
    scope.project === '' || (scope.project === project && (scope.domain === '' || scope.domain === domain));
  return scopes === undefined || scopes.some(admits);
};

const assertTemplate = ({ metadata, interface: typed, target }: TaskTemplate): void => {
  if (metadata === undefined) throw missing('metadata');
  if (metadata.runtime?.version === '') throw missing('runtime version');
  if (typed === undefined) throw missing('typed interface');
  if (target.case === 'container' && target.value.image === '') throw missing('image');
};

const compile = (template: TaskTemplate): CompiledTask => {
  const compiled = compileTask(template);
  if ('task' in compiled) return compiled.task;
  throw new RpcError('INVALID_ARGUMENT', `task failed compilation with ${collectedErrors(compiled.errors)}`);
};

/** The checks of a registration, in the order of the interface. */
const compiledFrom = async (services: TaskServices, id: Version, spec: TaskSpec | undefined): Promise<CompiledTask> => {
  if (spec?.template === undefined) throw missing('spec');
  const template = { ...spec.template, id: create(IdentifierSchema, id) };
  if (template.type === '') throw missing('type');
  if (!isAllowed(services, template.type, id))
    throw new RpcError('INVALID_ARGUMENT', `task type [${template.type}] must be whitelisted before use`);
  assertTemplate(template);
  const limits = await services.limitsOf(id.project, id.domain);
  const problem = taskResourcesProblem(template, limits) ?? descriptionProblem(spec.description);
  if (problem !== undefined) throw new RpcError('INVALID_ARGUMENT', problem);
  return compile(template);
};

const refusals: Readonly<Record<TaskRefusal['kind'], (id: Version) => RpcError>> = {
  'exists-identical': () => new RpcError('ALREADY_EXISTS', 'task with identical structure already exists'),
  'exists-different': ({ name }) =>
    new RpcError(
      'ALREADY_EXISTS',
      `${name} task with different structure already exists with the same id: register it under a new version`,
    ),
};

const createTask = async (services: TaskServices, request: TaskCreateRequest, call: Call): Promise<Version> => {
  const id = versionOf('TASK', request.id);
  const barred = await services.projects.check(id.project, id.domain);
  if (barred !== undefined) throw barred;
  const task = await compiledFrom(services, id, request.spec);
  const command = {
    id,
    compiled: toBinary(CompiledTaskSchema, task),
    digest: digestOf(CompiledTaskSchema, task),
    taskType: task.template?.type ?? '',
    description: request.spec?.description,
  };
  const outcome = await services.sessions.handle(taskAggregate, taskStream(id), command, contextOf(call));
  if (outcome.kind === 'refused') throw refusals[outcome.refusal.kind](id);
  call.answeredAt(outcome.position);
  return id;
};

export const taskRoutes = (services: TaskServices): readonly Route[] => [
  route(AdminService.method.createTask, async (request, call) =>
    create(TaskCreateResponseSchema, { id: await createTask(services, request, call) }),
  ),
];
