import {
  create,
  type DescMessage,
  type DescMethodUnary,
  fromBinary,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';

import {
  ExecuteTaskSyncRequestSchema,
  type ExecuteTaskSyncRequest,
  GetAgentResponseSchema,
  ListAgentsResponseSchema,
} from '../../proto/gen/platformidl/admin/agent_pb.js';
import {
  AgentMetadataService,
  AsyncAgentService,
  SyncAgentService,
} from '../../proto/gen/platformidl/service/agent_pb.js';
import { type AnyRoute, type Call, missing, route, RpcError, type StreamRoute } from '../kernel/rpc.js';
import type { AgentClient } from './agent-client.js';
import { agentFor, type TaskCategory } from './directory.js';

const { createTask, getTask, deleteTask, getTaskMetrics, getTaskLogs } = AsyncAgentService.method;
const { executeTaskSync } = SyncAgentService.method;
const { getAgent, listAgents } = AgentMetadataService.method;

const HOW =
  'name one under "agents" in the configuration: [{name: sensors, endpoint: "HOST:PORT", task_types: [sensor]}]';

type Categorized = {
  readonly taskType: string;
  readonly taskCategory?: TaskCategory | undefined;
};

/** The category of a request. Older clients send a task type instead, which means its version 0. */
const categoryOf = ({ taskCategory, taskType }: Categorized): TaskCategory =>
  taskCategory ?? { name: taskType, version: 0 };

type Templated = { readonly template?: { readonly type: string; readonly taskTypeVersion: number } | undefined };

const categoryOfTemplate = ({ template }: Templated): TaskCategory => {
  if (template === undefined) throw missing('template');
  return { name: template.type, version: template.taskTypeVersion };
};

const configured = (clients: readonly AgentClient[]): readonly AgentClient[] => {
  if (clients.length === 0) throw new RpcError('UNIMPLEMENTED', `no agent is configured: ${HOW}`);
  return clients;
};

/**
 * The agent that runs a category of tasks.
 *
 * @throws {RpcError} NOT_FOUND when no agent runs it, UNIMPLEMENTED when no agent is configured, INVALID_ARGUMENT when
 * the request has no category.
 */
const chosen = (clients: readonly AgentClient[], category: () => TaskCategory): AgentClient => {
  const agents = configured(clients).map(({ agent }) => agent);
  const wanted = category();
  if (wanted.name === '') throw missing('task_category');
  const agent = agentFor(agents, wanted);
  const client = clients.find((each) => each.agent === agent);
  if (client) return client;
  throw new RpcError('NOT_FOUND', `no agent runs tasks of type ${wanted.name}, version ${wanted.version}`);
};

/** Forwards a request to the agent that runs its category, unchanged. */
const passOn = <Input extends DescMessage, Output extends DescMessage>(
  clients: readonly AgentClient[],
  method: DescMethodUnary<Input, Output>,
  category: (request: MessageShape<Input>) => TaskCategory,
): AnyRoute =>
  route(method, (request, call) =>
    chosen(clients, () => category(request)).callUnary(method, toBinary(method.input, request), call),
  );

const headerOf = (first: ExecuteTaskSyncRequest | undefined): Templated => {
  if (first?.part.case !== 'header') throw missing('header');
  return first.part.value;
};

/**
 * Waits for the first message of a request stream. The agent is chosen by this message, so until it has come no
 * deadline of an agent ends the call.
 *
 * @throws {RpcError} DEADLINE_EXCEEDED when it has not come within `ms` milliseconds.
 */
const inTime = async <Value>(first: Promise<Value>, ms: number): Promise<Value> => {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new RpcError('DEADLINE_EXCEEDED', `no header has come within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([first, over]);
  } finally {
    clearTimeout(timer);
  }
};

const executing = (clients: readonly AgentClient[]): StreamRoute => ({
  method: executeTaskSync,
  takes: 'stream',
  async *open(requests, _call, signal) {
    configured(clients);
    const rest = requests[Symbol.asyncIterator]();
    const first = await inTime(rest.next(), Math.max(...clients.map(({ agent }) => agent.timeout)));
    if (first.done === true) throw missing('header');
    const header = headerOf(fromBinary(ExecuteTaskSyncRequestSchema, first.value));
    const client = chosen(clients, () => categoryOfTemplate(header));
    const all = async function* (): AsyncIterable<Uint8Array> {
      yield first.value;
      yield* { [Symbol.asyncIterator]: () => rest };
    };
    yield* client.exchange(executeTaskSync, all(), signal);
  },
});

const logging = (clients: readonly AgentClient[]): StreamRoute => ({
  method: getTaskLogs,
  takes: 'stream',
  async *open(requests, _call, signal) {
    for await (const request of requests) {
      const client = chosen(clients, () => categoryOf(fromBinary(getTaskLogs.input, request)));
      const alone = async function* (): AsyncIterable<Uint8Array> {
        yield await Promise.resolve(request);
      };
      yield* client.exchange(getTaskLogs, alone(), signal);
    }
  },
});

const listed =
  (call: Call) =>
  async (client: AgentClient): Promise<MessageShape<typeof ListAgentsResponseSchema>> =>
    fromBinary(ListAgentsResponseSchema, await client.callUnary(listAgents, new Uint8Array(), call));

/**
 * Lists the agents of all servers. When one server does not answer, the whole call fails, so that no agent is missing
 * unnoticed.
 */
const listing = (clients: readonly AgentClient[]): AnyRoute =>
  route(listAgents, async (_request, call) => {
    const pages = await Promise.all(configured(clients).map(listed(call)));
    return create(ListAgentsResponseSchema, { agents: pages.flatMap(({ agents }) => agents) });
  });

const naming = (clients: readonly AgentClient[]): AnyRoute =>
  route(getAgent, async ({ name }, call) => {
    const servers = configured(clients);
    if (name === '') throw missing('name');
    const pages = await Promise.all(servers.map(listed(call)));
    const agent = pages.flatMap(({ agents }) => agents).find((each) => each.name === name);
    if (agent === undefined) throw new RpcError('NOT_FOUND', `no agent server has an agent named ${name}`);
    return create(GetAgentResponseSchema, { agent });
  });

/**
 * The routes of the agent services. A call about a task is forwarded to the agent that runs the task's category;
 * ListAgents and GetAgent ask all agent servers.
 */
export const agentRoutes = (clients: readonly AgentClient[]): readonly AnyRoute[] => [
  passOn(clients, createTask, categoryOfTemplate),
  passOn(clients, getTask, categoryOf),
  passOn(clients, deleteTask, categoryOf),
  passOn(clients, getTaskMetrics, categoryOf),
  logging(clients),
  executing(clients),
  listing(clients),
  naming(clients),
];
