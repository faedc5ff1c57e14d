import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { create, type DescMessage, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';

import { WorkflowCreateRequestSchema } from '../../../proto/gen/platformidl/admin/workflow_pb.js';
import { attributeRoutes } from '../../../services/attributes/rpc.js';
import { mergedConfig } from '../../../services/execution/config.js';
import type { RecordedEvent } from '../../../services/kernel/event.js';
import type { EventStore } from '../../../services/kernel/ports/event-store.js';
import { type Call, type Route, RpcError } from '../../../services/kernel/rpc.js';
import type { Sessions } from '../../../services/kernel/ports/sessions.js';
import { launchPlanAggregate } from '../../../services/launch-plan/decider.js';
import { launchPlanRoutes } from '../../../services/launch-plan/rpc.js';
import { parkedStreams } from '../../../services/kernel/log-readers/parked-streams.js';
import { openReference } from '../../../services/main/reference.js';
import { registerConfiguredProjects } from '../../../services/project/configured.js';
import { projectRoutes } from '../../../services/project/rpc.js';
import { registeredDefinitions, type RegisteredDefinitions } from '../../../services/reference/definitions.js';
import type { ProjectDirectory } from '../../../services/reference/project-directory.js';
import type { RecordedAttributes } from '../../../services/reference/recorded-attributes.js';
import { feedLiveStreams } from '../../../services/sessions/live-stream-feed.js';
import { openSessions } from '../../../services/sessions/sessions.js';
import { filePayloadStore } from '../../../services/store/payloads/file-payload-store.js';
import { sqliteEventStore } from '../../../services/store/log/sqlite-event-store.js';
import { taskRoutes, type TaskServices } from '../../../services/task/rpc.js';
import { workflowRegistration } from '../../../services/workflow/registration/request.js';
import { workflowRoutes, type WorkflowServices } from '../../../services/workflow/rpc.js';

const DOMAINS = ['development', 'staging', 'production'].map((id) => ({ id, name: id }));

/** The settings of a registry; one without settings has no limits. */
export type RegistryOptions = {
  readonly taskTypes?: TaskServices['taskTypes'];
  readonly taskLimits?: Awaited<ReturnType<TaskServices['limitsOf']>>;
  readonly workflowLimits?: WorkflowServices['limits'];
  /** Makes the store of the registry from the log, to simulate one that other processes also write. */
  readonly shared?: (store: EventStore) => EventStore;
};

/** The RPCs for projects, tasks, workflows, launch plans and attributes on a real log, without transports and views. */
export type Registry = {
  readonly store: EventStore;
  readonly sessions: Sessions;
  readonly directory: ProjectDirectory;
  readonly attributes: RecordedAttributes;
  readonly definitions: RegisteredDefinitions;
  /**
   * Sends request bytes to an RPC by its name, such as `CreateTask`.
   * @throws {RpcError} as the handler does.
   */
  send(rpc: string, request: Uint8Array): Promise<unknown>;
  /** Sends a message to an RPC. */
  ask<Desc extends DescMessage>(rpc: string, schema: Desc, request: MessageInitShape<Desc>): Promise<unknown>;
  /** The position in the log that the last answer named. */
  answeredAt(): bigint;
  events(): Promise<readonly RecordedEvent[]>;
  close(): Promise<void>;
};

const noLimits: WorkflowServices['limits'] = { nodes: 0, closureBytes: 0 };

/** Opens an empty log in a folder of its own, with the project `flytesnacks`. */
export const openRegistry = async (options: RegistryOptions = {}): Promise<Registry> => {
  const directory = mkdtempSync(join(tmpdir(), 'flightlog-registry-'));
  const embedded = await sqliteEventStore({ directory });
  const store = options.shared?.(embedded) ?? embedded;
  const isShared = store !== embedded;
  const payloads = filePayloadStore({ directory });
  const sessions = openSessions({ store, payloads, now: Date.now, isShared });
  const liveFeed = isShared ? await feedLiveStreams(store, sessions) : undefined;
  await registerConfiguredProjects([{ id: 'flytesnacks', name: 'flytesnacks', description: '' }], sessions);
  const { following, projects, attributes } = openReference({
    configuration: { domains: DOMAINS },
    store,
    sessions,
    parked: parkedStreams(() => undefined),
  });
  const definitions = registeredDefinitions({
    log: store,
    payloads,
    readLaunchPlan: (stream, look) => sessions.read(launchPlanAggregate, stream, look),
    knownLaunchPlan: (stream, look) => sessions.readKnown(launchPlanAggregate, stream, look),
  });
  const limitsOf: TaskServices['limitsOf'] = () => Promise.resolve(options.taskLimits ?? {});
  const taskTypes = options.taskTypes ?? {};
  const unasked = (): never => {
    throw new Error('nothing goes to a thread here');
  };
  const routes: readonly Route[] = [
    ...projectRoutes({ sessions, domains: DOMAINS, build: { build: 'b', version: 'v', buildTime: 't' } }),
    ...taskRoutes({
      sessions,
      projects,
      largeTasks: { aboveBytes: Infinity, idOf: unasked, registrationOf: unasked },
      taskTypes,
      limitsOf,
    }),
    ...workflowRoutes({
      sessions,
      projects,
      requirements: definitions,
      largeWorkflows: {
        registrationOf: (id, request) =>
          workflowRegistration(
            id,
            fromBinary(WorkflowCreateRequestSchema, request),
            definitions,
            options.workflowLimits ?? noLimits,
          ),
      },
      limits: options.workflowLimits ?? noLimits,
    }),
    ...launchPlanRoutes({
      sessions,
      projects,
      definitions,
      largeLaunchPlans: { aboveBytes: Infinity, headOf: unasked, registrationOf: unasked },
    }),
    ...attributeRoutes({
      sessions,
      projects,
      recorded: attributes,
      withPlatform: (stored) => mergedConfig(stored ? [stored] : []),
    }),
  ];
  const handlers = new Map(routes.map((route) => [route.method.name, route]));
  let position = 0n;
  const call: Call = {
    principal: 'ada',
    requestId: 'request-1',
    isCancelled: () => false,
    answeredAt: (at) => {
      position = at;
    },
  };

  const send = async (rpc: string, request: Uint8Array): Promise<unknown> => {
    const route = handlers.get(rpc);
    if (route === undefined) throw new RpcError('UNIMPLEMENTED', rpc);
    const message = route.takes === 'bytes' ? request : fromBinary(route.method.input, request);
    return route.handle(message as never, call);
  };

  return {
    store,
    sessions,
    directory: projects,
    attributes,
    definitions,
    send,
    ask: (rpc, schema, request) => send(rpc, toBinary(schema, create(schema, request))),
    answeredAt: () => position,
    events: async () => {
      const events: RecordedEvent[] = [];
      for await (const page of store.readLog({ after: 0n })) events.push(...page.events);
      return events;
    },
    close: async () => {
      await liveFeed?.close();
      await following.close();
      await payloads.close();
      await store.close();
      rmSync(directory, { recursive: true });
    },
  };
};
