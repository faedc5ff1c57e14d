import type { DescMessage, JsonValue, MessageShape } from '@bufbuild/protobuf';
import { Sort_Direction } from '../../../../proto/gen/platformidl/admin/common_pb.js';
import { type LaunchPlan, LaunchPlanSchema } from '../../../../proto/gen/platformidl/admin/launch_plan_pb.js';
import { TaskSchema } from '../../../../proto/gen/platformidl/admin/task_pb.js';
import { WorkflowSchema } from '../../../../proto/gen/platformidl/admin/workflow_pb.js';
import { ResourceType } from '../../../../proto/gen/platformidl/core/identifier_pb.js';
import { AdminService } from '../../../../proto/gen/platformidl/service/admin_pb.js';
import type { Connection } from '../connection/connection.js';
import { grpcStatusNumber } from '../../../kernel/grpc-status.js';
import { Refused } from '../connection/refusal.js';
import { type TypedVariable, inputsOfPlan, variablesOf } from '../inputs/typed-variable.js';
import { jsonOfMessage } from '../output/documents.js';
import { LAUNCH_PLAN_COLUMNS, TASK_COLUMNS, type Versioned, WORKFLOW_COLUMNS } from './columns.js';
import { tableText } from '../output/table.js';

/** The kinds of definitions, as the commands name them. */
export const DEFINITION_KINDS = ['workflow', 'launch-plan', 'task'] as const;

export type DefinitionKind = (typeof DEFINITION_KINDS)[number];

/** The names that examples of commands use: of samples of the sandbox, so that the examples work there. */
export const EXAMPLES: Readonly<Record<DefinitionKind, string>> = {
  workflow: 'hello.hello',
  'launch-plan': 'hello.hello',
  task: 'hello.greet',
};

/** A name in a project and domain. */
export type Named = { readonly project: string; readonly domain: string; readonly name: string };

/** The identifier of a version of a definition. */
export type VersionId = Named & { readonly resourceType: ResourceType; readonly version: string };

/** A version of a workflow, launch plan or task, with its typed interface. */
export type Definition = {
  readonly id: VersionId;
  readonly inputs: readonly TypedVariable[];
  readonly outputs: readonly TypedVariable[];
  readonly table: () => string;
  readonly document: () => JsonValue;
};

type Read = (connection: Connection, id: VersionId) => Promise<Definition>;

type Found<Desc extends DescMessage> = {
  readonly schema: Desc;
  readonly message: MessageShape<Desc>;
  readonly table: () => string;
};

const definition = <Desc extends DescMessage>(
  id: VersionId,
  { schema, message, table }: Found<Desc>,
  variables: Pick<Definition, 'inputs' | 'outputs'>,
): Definition => ({ id, ...variables, table, document: () => jsonOfMessage(schema, message) });

const readPlan: Read = async (connection, id) => {
  const message: LaunchPlan = await connection.call(AdminService.method.getLaunchPlan, { id });
  const { expectedInputs, expectedOutputs } = message.closure ?? {};
  return definition(
    id,
    { schema: LaunchPlanSchema, message, table: () => tableText(LAUNCH_PLAN_COLUMNS, [message]) },
    { inputs: inputsOfPlan(expectedInputs), outputs: variablesOf(expectedOutputs) },
  );
};

const readWorkflow: Read = async (connection, id) => {
  const message = await connection.call(AdminService.method.getWorkflow, { id });
  const typed = message.closure?.compiledWorkflow?.primary?.template?.interface;
  return definition(
    id,
    { schema: WorkflowSchema, message, table: () => tableText(WORKFLOW_COLUMNS, [message]) },
    { inputs: variablesOf(typed?.inputs), outputs: variablesOf(typed?.outputs) },
  );
};

const readTask: Read = async (connection, id) => {
  const message = await connection.call(AdminService.method.getTask, { id });
  const typed = message.closure?.compiledTask?.template?.interface;
  return definition(
    id,
    { schema: TaskSchema, message, table: () => tableText(TASK_COLUMNS, [message]) },
    { inputs: variablesOf(typed?.inputs), outputs: variablesOf(typed?.outputs) },
  );
};

type Newest = (connection: Connection, id: Named) => Promise<readonly Versioned[]>;

const newestOnly = { limit: 1, sortBy: { key: 'created_at', direction: Sort_Direction.DESCENDING } } as const;

/** Finds the active version of a launch plan; when none is active, the newest version. */
const newestPlan: Newest = async (connection, id) => {
  try {
    return [await connection.call(AdminService.method.getActiveLaunchPlan, { id })];
  } catch (error) {
    if (!(error instanceof Refused) || error.code !== 'NOT_FOUND') throw error;
    return (await connection.call(AdminService.method.listLaunchPlans, { id, ...newestOnly })).launchPlans;
  }
};

const KINDS: Readonly<Record<DefinitionKind, { type: ResourceType; read: Read; newest: Newest }>> = {
  workflow: {
    type: ResourceType.WORKFLOW,
    read: readWorkflow,
    newest: async (connection, id) =>
      (await connection.call(AdminService.method.listWorkflows, { id, ...newestOnly })).workflows,
  },
  'launch-plan': { type: ResourceType.LAUNCH_PLAN, read: readPlan, newest: newestPlan },
  task: {
    type: ResourceType.TASK,
    read: readTask,
    newest: async (connection, id) =>
      (await connection.call(AdminService.method.listTasks, { id, ...newestOnly })).tasks,
  },
};

/**
 * Reads a version of a definition. When the caller names no version, it is the newest version; of a launch plan it is
 * the active version, and the newest only when none is active.
 *
 * @throws {Refused} when the server has no such definition or version.
 */
export const readDefinition = async (
  connection: Connection,
  kind: DefinitionKind,
  { version, ...id }: Named & { readonly version: string | undefined },
): Promise<Definition> => {
  const { type: resourceType, read, newest } = KINDS[kind];
  if (version !== undefined) return read(connection, { ...id, resourceType, version });
  const [found] = await newest(connection, id);
  if (!found?.id)
    throw new Refused(grpcStatusNumber('NOT_FOUND'), `there is no ${kind} ${id.name} in ${id.project}/${id.domain}`);
  return read(connection, { ...id, resourceType, version: found.id.version });
};
