import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { descriptionEntitiesRoutes } from '../../projections/description-entities/rpc.js';
import { executionMetricsRoutes } from '../../projections/execution-metrics/rpc.js';
import { executionCountRoutes } from '../../projections/executions/count.js';
import { executionsRoutes } from '../../projections/executions/rpc.js';
import type { Watches } from '../../projections/execution-watch/watches.js';
import type { Freshness } from '../../projections/query/freshness.js';
import type { ReadStore } from '../../projections/runtime/read-store.js';
import { launchPlansRoutes } from '../../projections/launch-plans/rpc.js';
import { registeredNames } from '../../projections/named-entities/registered.js';
import { namedEntitiesRoutes } from '../../projections/named-entities/rpc.js';
import { nodeExecutionsRoutes, nodesForTaskRoutes } from '../../projections/node-executions/rpc.js';
import { projectsRoutes } from '../../projections/projects/rpc.js';
import { signalsRoutes } from '../../projections/signals/rpc.js';
import { findTask } from '../../projections/task-executions/find.js';
import { taskExecutionsRoutes } from '../../projections/task-executions/rpc.js';
import { tasksRoutes } from '../../projections/tasks/rpc.js';
import { workflowsRoutes } from '../../projections/workflows/rpc.js';
import { attributeRoutes } from '../attributes/rpc.js';
import type { Reactors } from '../dead-letter/ports.js';
import { deadLetterRoutes } from '../dead-letter/rpc.js';
import { dataProxyRoutes } from '../data-proxy/rpc.js';
import { executionExists } from '../execution/creation.js';
import type { PlatformLimits } from '../compiler/resources/task-resources.js';
import { mergedConfig } from '../execution/config.js';
import { executionRoutes } from '../execution/rpc.js';
import { auditRoutes } from '../audit/rpc.js';
import { agentRoutes } from '../agents/rpc.js';
import { parkedStreamRoutes } from '../parked-stream/rpc.js';
import type { ParkedStreams } from '../kernel/log-readers/parked-streams.js';
import type { AuditTrail } from '../kernel/ports/audit-trail.js';
import type { EventStore } from '../kernel/ports/event-store.js';
import type { EngineData } from '../kernel/ports/engine-data.js';
import type { PayloadStore } from '../kernel/ports/payload-store.js';
import type { Sessions } from '../kernel/ports/sessions.js';
import type { AnyRoute, Route } from '../kernel/rpc.js';
import type { LargeLaunchPlans } from '../launch-plan/ports.js';
import { launchPlanRoutes } from '../launch-plan/rpc.js';
import { namedEntityRoutes } from '../named-entity/rpc.js';
import { notificationRoutes } from '../notification/rpc.js';
import { operationsRoutes } from '../operations/rpc.js';
import { projectRoutes } from '../project/rpc.js';
import { ACCESS_ROLES } from '../auth/permissions/roles.js';
import { roleBindingRoutes } from '../role-binding/rpc.js';
import { reportRoutes } from '../streams/report/report.js';
import { scheduleRoutes } from '../schedule/rpc.js';
import { registrationResources } from '../reference/launch-attributes.js';
import type { LargeTasks } from '../task/ports.js';
import { taskRoutes } from '../task/rpc.js';
import type { LargeWorkflows } from '../workflow/ports.js';
import type { WorkflowLimits } from '../workflow/registration/compile.js';
import { workflowRoutes } from '../workflow/rpc.js';
import type { UploadStore } from '../kernel/ports/uploads.js';
import type { Agents } from './engines/agents.js';
import type { Configuration } from '../config/configuration.js';
import type { GroupFigures } from '../streams/eventstore/groups/group-figures.js';
import type { EngineFeed } from '../streams/engine-feed/feed.js';
import { feedRoutes } from './engines/engine-feed.js';
import { entities } from './models.js';
import { type PastReader, pastRoutes, withPast } from './past/past-reads.js';
import { tailRoutes, type Tails } from './tail/tails.js';
import { watchRoutes } from './watch/routes.js';
import { platformOf } from './platform.js';
import type { Launching } from './launching.js';
import { nextFire } from '../reference/next-fire.js';
import { operationsOf } from './operations.js';
import { runData } from '../data-proxy/run-data.js';
import { launcherOf } from './reactors/schedules.js';
import { urgencyOf } from '../gateway/dispatch/urgencies.js';
import { version } from './version.js';

/** The services that the routes need. */
export type RouteServices = {
  readonly configuration: Configuration;
  readonly store: EventStore;
  readonly payloads: PayloadStore;
  readonly engineData: EngineData;
  readonly sessions: Sessions;
  readonly launching: Launching;
  readonly readStore: ReadStore;
  readonly freshness: Freshness;
  readonly largeTasks: LargeTasks;
  readonly largeWorkflows: LargeWorkflows;
  readonly largeLaunchPlans: LargeLaunchPlans;
  readonly uploads: UploadStore;
  readonly logger: Logger;
  readonly agents: Agents;
  /** Absent without authentication. */
  readonly audit: AuditTrail | undefined;
  /** Answers reads of the past, on a thread of its own. */
  readonly pastReads: PastReader;
  readonly tails: Tails;
  readonly watches: Watches;
  readonly feed: EngineFeed;
  readonly reactors: Reactors;
  readonly parked: ParkedStreams;
  /** The figures of the 100 oldest consumer groups, with the clients that are connected to this process. */
  readonly groups: () => Promise<readonly GroupFigures[]>;
  /** The format that the log is written in. */
  readonly format: () => number;
};

/** The limits of a workflow that may be registered: nodes, and bytes of its compiled closure. */
export const workflowLimits = ({ registration }: Configuration): WorkflowLimits => ({
  nodes: registration.max_workflow_nodes,
  closureBytes: registration.workflow_size_limit,
});

/** The largest resources that a task may ask for: by the attributes of project and domain, or else by the platform. */
const registrationLimits =
  (resourcesOf: ReturnType<typeof registrationResources>, { taskResources }: ReturnType<typeof platformOf>) =>
  async (project: string, domain: string): Promise<PlatformLimits> =>
    ((await resourcesOf(project, domain)) ?? taskResources).limits ?? {};

const writeRoutes = (services: RouteServices): readonly Route[] => {
  const { configuration, store, sessions, launching } = services;
  const { reference, definitions } = launching;
  const { projects, attributes } = reference;
  const platform = platformOf(configuration);
  return [
    ...projectRoutes({
      sessions,
      domains: configuration.domains,
      build: { build: 'unknown', version, buildTime: 'unknown' },
    }),
    ...taskRoutes({
      sessions,
      projects,
      largeTasks: services.largeTasks,
      taskTypes: configuration.registration.task_types,
      limitsOf: registrationLimits(registrationResources(attributes), platform),
    }),
    ...attributeRoutes({
      sessions,
      projects,
      recorded: attributes,
      withPlatform: (stored) => mergedConfig([...(stored ? [stored] : []), platform.config]),
    }),
    ...workflowRoutes({
      sessions,
      projects,
      requirements: definitions,
      largeWorkflows: services.largeWorkflows,
      limits: workflowLimits(configuration),
    }),
    ...launchPlanRoutes({ sessions, projects, definitions, largeLaunchPlans: services.largeLaunchPlans }),
    ...namedEntityRoutes({
      sessions,
      registered: registeredNames({ log: store, store: services.readStore, freshness: services.freshness }),
    }),
    ...executionRoutes(launching.services),
    ...scheduleRoutes({
      sessions,
      activations: launching.activations,
      launcher: launcherOf(launching),
      timezone: configuration.schedules.timezone,
      now: Date.now,
    }),
  ];
};

const readRoutes = ({
  configuration,
  store,
  payloads,
  engineData,
  readStore,
  freshness,
  launching,
  logger,
}: RouteServices): readonly Route[] => {
  const warn = (message: string, cause: unknown): void => logger.warn({ err: cause }, message);
  const reads = { store: readStore, entities, freshness, contents: { log: store, payloads, engineData, warn } };
  const runs = [
    ...executionsRoutes(reads),
    ...nodeExecutionsRoutes(reads),
    ...nodesForTaskRoutes(reads, { keyOf: async (id, call) => (await findTask(reads, id, call)).key }),
    ...taskExecutionsRoutes(reads),
    ...workflowsRoutes(reads),
  ];
  return [
    ...runs,
    ...executionCountRoutes(reads),
    ...executionMetricsRoutes(runs),
    ...tasksRoutes(reads),
    ...launchPlansRoutes({
      ...reads,
      nextFire: nextFire(launching.activations, { timezone: configuration.schedules.timezone, now: Date.now }),
    }),
    ...namedEntitiesRoutes(reads),
    ...descriptionEntitiesRoutes(reads),
    ...signalsRoutes(reads),
    ...projectsRoutes({ ...reads, domains: configuration.domains }),
  ];
};

/** Makes all routes but those of signing in, and connects each slice to the parts of others that it needs. */
export const allRoutes = (services: RouteServices): readonly AnyRoute[] => {
  const writes = writeRoutes(services).map((each): Route => ({ ...each, awaitsPosition: urgencyOf(each) }));
  const reads = withPast(readRoutes(services), services.pastReads, services.store.logId);
  const random = (bytes: number): Uint8Array => randomBytes(bytes);
  const files = dataProxyRoutes({ uploads: services.uploads, runs: runData(reads), random, now: Date.now });
  return [
    ...writes,
    ...reads,
    ...pastRoutes(services.pastReads),
    ...tailRoutes(services.tails),
    ...watchRoutes(services.watches, { store: services.readStore, freshness: services.freshness }),
    ...feedRoutes(services.feed, services.format),
    ...notificationRoutes({
      sessions: services.sessions,
      executionExists: (id) => executionExists(services.store, id),
      now: Date.now,
    }),
    ...roleBindingRoutes({
      sessions: services.sessions,
      recorded: services.launching.reference.bindings,
      roles: ACCESS_ROLES,
    }),
    ...deadLetterRoutes(services),
    ...operationsRoutes(operationsOf(services)),
    ...parkedStreamRoutes({ sessions: services.sessions, log: services.store, format: services.format }),
    ...auditRoutes(services.audit),
    ...files,
    ...agentRoutes(services.agents.clients),
    ...reportRoutes,
  ];
};
