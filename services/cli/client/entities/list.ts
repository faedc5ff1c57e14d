import type { DescMessage, JsonValue, MessageInitShape, MessageShape } from '@bufbuild/protobuf';
import { type ResourceListRequestSchema, Sort_Direction } from '../../../../proto/gen/platformidl/admin/common_pb.js';
import { ExecutionListSchema } from '../../../../proto/gen/platformidl/admin/execution_pb.js';
import { LaunchPlanListSchema } from '../../../../proto/gen/platformidl/admin/launch_plan_pb.js';
import { ProjectsSchema, GetDomainsResponseSchema } from '../../../../proto/gen/platformidl/admin/project_pb.js';
import { TaskListSchema } from '../../../../proto/gen/platformidl/admin/task_pb.js';
import { WorkflowListSchema } from '../../../../proto/gen/platformidl/admin/workflow_pb.js';
import { AdminService } from '../../../../proto/gen/platformidl/service/admin_pb.js';
import type { Connection } from '../connection/connection.js';
import { connected } from '../connection/connect.js';
import type { FormFlags, ScopeFlags } from '../connection/flags.js';
import { documentText, jsonOfMessage, print } from '../output/documents.js';
import { type Column, tableText } from '../output/table.js';
import {
  EXECUTION_COLUMNS,
  LAUNCH_PLAN_COLUMNS,
  PROJECT_COLUMNS,
  TASK_COLUMNS,
  type Versioned,
  WORKFLOW_COLUMNS,
  DOMAIN_COLUMNS,
} from './columns.js';
import type { ConnectionFlags } from '../connection/profile.js';

/** The flags of `list`. */
export type ListFlags = ScopeFlags &
  FormFlags & {
    readonly filter?: readonly string[];
    readonly sort?: string;
    readonly limit: number;
    readonly token?: string;
  };

type ListRequestFields = Omit<MessageInitShape<typeof ResourceListRequestSchema>, '$typeName' | '$unknown'>;

/** A page of a list in each form that it can be printed in. */
type Listed = {
  readonly table: () => string;
  readonly names: () => readonly string[];
  readonly document: () => JsonValue;
  readonly token: string;
};

/** The elements of a page, with their columns and names. */
type Shown<Element> = {
  readonly elements: readonly Element[];
  readonly columns: readonly Column<Element>[];
  readonly name: (element: Element) => string;
};

const listed = <Desc extends DescMessage, Element>(
  schema: Desc,
  answer: MessageShape<Desc> & { readonly token: string },
  { elements, columns, name }: Shown<Element>,
): Listed => ({
  table: () => tableText(columns, elements),
  names: () => elements.map(name),
  document: () => jsonOfMessage(schema, answer),
  token: answer.token,
});

const versionName = ({ id }: Versioned): string => `${id?.name ?? ''} ${id?.version ?? ''}`;

/** The list of each kind. */
const LISTS = {
  executions: async (connection: Connection, request: ListRequestFields) => {
    const page = await connection.call(AdminService.method.listExecutions, request);
    const { executions: elements } = page;
    const shown = { elements, columns: EXECUTION_COLUMNS, name: ({ id }: (typeof elements)[0]) => id?.name ?? '' };
    return listed(ExecutionListSchema, page, shown);
  },
  workflows: async (connection: Connection, request: ListRequestFields) => {
    const page = await connection.call(AdminService.method.listWorkflows, request);
    const shown = { elements: page.workflows, columns: WORKFLOW_COLUMNS, name: versionName };
    return listed(WorkflowListSchema, page, shown);
  },
  'launch-plans': async (connection: Connection, request: ListRequestFields) => {
    const page = await connection.call(AdminService.method.listLaunchPlans, request);
    const shown = { elements: page.launchPlans, columns: LAUNCH_PLAN_COLUMNS, name: versionName };
    return listed(LaunchPlanListSchema, page, shown);
  },
  tasks: async (connection: Connection, request: ListRequestFields) => {
    const page = await connection.call(AdminService.method.listTasks, request);
    return listed(TaskListSchema, page, { elements: page.tasks, columns: TASK_COLUMNS, name: versionName });
  },
  projects: async (connection: Connection, { id: _, ...request }: ListRequestFields) => {
    const page = await connection.call(AdminService.method.listProjects, request);
    const { projects: elements } = page;
    const shown = { elements, columns: PROJECT_COLUMNS, name: ({ id }: (typeof elements)[0]) => id };
    return listed(ProjectsSchema, page, shown);
  },
} as const;

/** The kinds that can be listed. */
export type ListedKind = keyof typeof LISTS;

/** The sort of `--sort`: a column, in ascending order, or in descending order with a dash before it. */
const sortOf = (text: string): { key: string; direction: Sort_Direction } =>
  text.startsWith('-')
    ? { key: text.slice(1), direction: Sort_Direction.DESCENDING }
    : { key: text, direction: Sort_Direction.ASCENDING };

const requestOf = (kind: ListedKind, name: string, flags: ListFlags): ListRequestFields => {
  const { project, domain, filter: filters = [], limit, token = '' } = flags;
  const sort = flags.sort ?? (kind === 'projects' ? undefined : '-created_at');
  return {
    id: { project, domain, name },
    limit,
    token,
    filters: filters.join('+'),
    ...(sort !== undefined && { sortBy: sortOf(sort) }),
  };
};

/**
 * Prints a page of a list, by default the newest first, but projects by their ids. When there are more, it prints on
 * standard error how to get them; a document has the token itself.
 *
 * @throws {Refused} when the server refuses; the message has its reason.
 */
export const list = (kind: ListedKind, name: string, flags: ListFlags): Promise<void> =>
  connected(flags, async (connection) => {
    const page = await LISTS[kind](connection, requestOf(kind, name, flags));
    const { output: form } = flags;
    if (form === 'table') print(page.table());
    else if (form === 'name') for (const each of page.names()) print(each);
    else print(documentText(form, page.document()));
    if (page.token !== '' && (form === 'table' || form === 'name'))
      process.stderr.write(`flightlog: there are more: --token ${page.token}, or a higher --limit\n`);
  });

/**
 * Prints the domains of the server.
 *
 * @throws {Refused} when the server refuses; the message has its reason.
 */
export const listDomains = ({ output: form, ...flags }: ConnectionFlags & FormFlags): Promise<void> =>
  connected(flags, async (connection) => {
    const answer = await connection.call(AdminService.method.getDomains, {});
    if (form === 'table') print(tableText(DOMAIN_COLUMNS, answer.domains));
    else if (form === 'name') for (const { id } of answer.domains) print(id);
    else print(documentText(form, jsonOfMessage(GetDomainsResponseSchema, answer)));
  });
