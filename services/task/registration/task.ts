import { create, toBinary } from '@bufbuild/protobuf';

import {
  type TaskCreateRequest,
  TaskCreateRequestSchema,
  type TaskSpec,
} from '../../../proto/gen/platformidl/admin/task_pb.js';
import { type CompiledTask, CompiledTaskSchema } from '../../../proto/gen/platformidl/core/compiler_pb.js';
import { IdentifierSchema } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import type { TaskTemplate } from '../../../proto/gen/platformidl/core/tasks_pb.js';
import { collectedErrors } from '../../compiler/compile-error.js';
import { descriptionProblem } from '../../compiler/description.js';
import { compileTask } from '../../compiler/task.js';
import { type PlatformLimits, taskResourcesProblem } from '../../compiler/resources/task-resources.js';
import { digestOf } from '../../kernel/encoding/digest.js';
import { fieldBytes } from '../../kernel/encoding/field-bytes.js';
import type { Version } from '../../kernel/identifier.js';
import { assertTimes, missing, RpcError } from '../../kernel/rpc.js';
import type { RegisterTask } from '../commands.js';

/**
 * A scope in which a task type may be registered. An empty project stands for all projects and domains; an empty
 * domain, for all domains of the project.
 */
export type TaskTypeScope = { readonly project: string; readonly domain: string };

/** Task types that may be registered only in these scopes; other types may be registered anywhere. */
export type TaskTypes = Readonly<Record<string, readonly TaskTypeScope[]>>;

/** The rules that a registration is checked against. */
export type TaskRules = { readonly taskTypes: TaskTypes; readonly limits: PlatformLimits };

const ID = 1;

/**
 * Reduces an encoded request, which may be large, to an encoded request that has only its id.
 *
 * @throws {Error} when the bytes are not a protobuf message.
 */
export const taskHead = (request: Uint8Array): Uint8Array => fieldBytes(request, ID);

const isAllowed = (taskTypes: TaskTypes, type: string, { project, domain }: Version): boolean => {
  const scopes = Object.hasOwn(taskTypes, type) ? taskTypes[type] : undefined;
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

/** Checks a registration, in the order in which FlyteAdmin checks, and compiles the task. */
const compiledFrom = (id: Version, spec: TaskSpec | undefined, { taskTypes, limits }: TaskRules): CompiledTask => {
  if (spec?.template === undefined) throw missing(spec === undefined ? 'spec' : 'spec.template');
  const template = { ...spec.template, id: create(IdentifierSchema, id) };
  if (template.type === '') throw missing('type');
  if (!isAllowed(taskTypes, template.type, id))
    throw new RpcError('INVALID_ARGUMENT', `task type [${template.type}] must be whitelisted before use`);
  assertTemplate(template);
  const problem = taskResourcesProblem(template, limits) ?? descriptionProblem(spec.description);
  if (problem !== undefined) throw new RpcError('INVALID_ARGUMENT', problem);
  return compile(template);
};

/**
 * Makes the registration of a request.
 *
 * @throws {RpcError} INVALID_ARGUMENT naming the first error.
 */
export const taskRegistration = (id: Version, request: TaskCreateRequest, rules: TaskRules): RegisterTask => {
  assertTimes(TaskCreateRequestSchema, request);
  const { spec } = request;
  const task = compiledFrom(id, spec, rules);
  return {
    id,
    compiled: toBinary(CompiledTaskSchema, task),
    digest: digestOf(CompiledTaskSchema, task),
    taskType: task.template?.type ?? '',
    description: spec?.description,
  };
};
