import { randomBytes, randomUUID } from 'node:crypto';

import {
  create,
  type DescMessage,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from '@bufbuild/protobuf';

import { AdminService } from '../../../proto/gen/platformidl/service/admin_pb.js';
import { IdentifierSchema } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { executionAggregate } from '../../../services/execution/aggregate.js';
import { executionCodec, type ExecutionEvent } from '../../../services/execution/events.js';
import { type ExecutionServices, executionRoutes } from '../../../services/execution/rpc.js';
import { metadataOf } from '../../../services/kernel/event.js';
import type { PayloadStore } from '../../../services/kernel/ports/payload-store.js';
import { type Call, RpcError } from '../../../services/kernel/rpc.js';
import { streamName } from '../../../services/kernel/stream.js';
import { configure, type GivenSetting } from '../../../services/config/configuration.js';
import { platformOf } from '../../../services/main/platform.js';
import { launchAttributes } from '../../../services/reference/launch-attributes.js';
import { registerSingleTaskPlan } from '../../../services/launch-plan/registration/single-task.js';
import { registerSingleTaskWorkflow } from '../../../services/workflow/registration/single-task.js';
import { withNeeds } from '../../support/requests/fixtures.js';
import { openRegistry, type RegistryOptions } from '../../support/streams/registry.js';

const noPayloads: PayloadStore = {
  put: () => Promise.reject(new Error('nothing is large here')),
  get: () => Promise.resolve(undefined),
  close: () => Promise.resolve(),
};

type Methods = typeof AdminService.method;

/**
 * A control plane that registers definitions and launches executions, on a real log, with the definitions of the
 * fixtures in `folders` and in the folders that these need.
 */
export const openControlPlane = async (
  folders: readonly string[],
  settings: readonly GivenSetting[] = [],
  options: RegistryOptions = {},
) => {
  const registry = await openRegistry(options);
  const { sessions, store, directory: projects, definitions } = registry;
  const aggregate = executionAggregate({ payloads: noPayloads });
  const services = {
    sessions,
    aggregate,
    log: store,
    payloads: noPayloads,
    projects,
    definitions,
    slots: { take: () => Promise.resolve({ attempt: 'attempt', release: () => Promise.resolve() }) },
    singleTasks: {
      singleTask: async (task) => {
        const context = { actor: '', commandId: randomUUID() };
        const workflow = await registerSingleTaskWorkflow({ sessions, projects }, task, context);
        await registerSingleTaskPlan(sessions, task, workflow, { ...context, commandId: randomUUID() });
        return create(IdentifierSchema, workflow);
      },
    },
    largeLaunches: {
      aboveBytes: Infinity,
      read: () => {
        throw new Error('nothing is large here');
      },
      inputs: () => Promise.reject(new Error('nothing is large here')),
    },
    attributes: launchAttributes(registry.attributes),
    platform: platformOf(configure(settings)),
    maxOutputBytes: 2 * 1024 * 1024,
    random: (bytes) => randomBytes(bytes),
  } satisfies ExecutionServices;
  const routes = executionRoutes(services);
  const handlers = new Map(routes.map((route) => [route.method.name, route]));

  /** Sends an encoded request to the RPC of this name; the principal counts for the RPCs of executions alone. */
  const sendBytes = async (method: string, bytes: Uint8Array, principal = 'ada'): Promise<unknown> => {
    const route = handlers.get(method);
    if (route === undefined) return registry.send(method, bytes);
    const call: Call = { principal, requestId: 'r', isCancelled: () => false, answeredAt: () => undefined };
    const request = route.takes === 'bytes' ? bytes : fromBinary(route.method.input, bytes);
    return route.handle(request as never, call);
  };

  /** Sends a request to an RPC of AdminService, as `sendBytes`. */
  const send = async <Name extends keyof Methods>(
    name: Name,
    request: MessageInitShape<Methods[Name]['input']>,
    principal?: string,
  ): Promise<MessageShape<Methods[Name]['output']>> => {
    const method = AdminService.method[name];
    const input: DescMessage = method.input;
    const bytes = toBinary(input, create(input, request as never));
    return (await sendBytes(method.name, bytes, principal)) as MessageShape<Methods[Name]['output']>;
  };

  for (const folder of withNeeds(...folders))
    for (const entry of folder.entries)
      if (!['execution', 'upload_location'].includes(entry.kind)) await registry.send(entry.method, entry.bytes);

  return {
    registry,
    aggregate,
    /** The services that the RPCs of executions use. */
    services,
    send,
    sendBytes,
    /** Expects that a request fails with an RpcError; returns it. */
    error: async (answer: Promise<unknown>): Promise<RpcError> => {
      const error: unknown = await answer.then(
        () => undefined,
        (reason: unknown) => reason,
      );
      if (!(error instanceof RpcError)) throw new Error('the request did not fail with an RpcError', { cause: error });
      return error;
    },
    /** Reads the events of one execution. */
    history: async (name: string): Promise<readonly ExecutionEvent[]> => {
      const events: ExecutionEvent[] = [];
      for await (const page of store.readStream(streamName('execution', ['flytesnacks', 'development', name])))
        for (const event of page) events.push(executionCodec.decode(event.type, event.data, metadataOf(event).schema));
      return events;
    },
    close: () => registry.close(),
  };
};

export type ControlPlane = Awaited<ReturnType<typeof openControlPlane>>;
