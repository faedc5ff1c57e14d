import type { Logger } from 'pino';
import { openWatches } from '../../projections/execution-watch/watches.js';
import { executions as executionsView } from '../../projections/executions/projection.js';
import { freshness as freshnessOf, lastPositionOf, searchingBuiltViews } from '../../projections/query/freshness.js';
import type { Check } from '../gateway/readiness.js';
import { executionAggregate } from '../execution/aggregate.js';
import type { Configuration } from '../config/configuration.js';
import { closeInOrder } from './close-in-order.js';
import { openAudit } from './access/audit.js';
import { assertAnyUser, assertDistinctNames, assertPrincipalFiles } from './access/authorization-server.js';
import { presentChecks, watchViews } from '../health/checks.js';
import { openCurrentViews, unprojectedFolder } from './views/current-views.js';
import { type EventstorePort, eventstorePort, laterEventstore } from './eventstore/eventstore.js';
import { beginLog, isUnused } from './log/begin-log.js';
import { hasLeases, openFeed, watchWork } from './engines/engine-feed.js';
import { startExport } from './export/export.js';
import { engineStoresOf, openEngineData } from './engines/engine-data.js';
import { type Foundation, openFoundation } from './foundation.js';
import { openLaunching } from './launching.js';
import { largeLaunches } from './large-requests/large-launches.js';
import { largeRegistrations } from './large-requests/large-registrations.js';
import { registerSources } from './metrics.js';
import { assertPortIsFree } from '../config/free-port.js';
import { openTails } from './tail/tails.js';
import { encodedAnswer } from './watch/encoded-answer.js';
import { watchThreadOpener } from './watch/watch-thread-opener.js';
import { pastReader } from './past/past-reads.js';
import { openReactors } from './reactors/reactors.js';
import { dutiesOf } from '../config/roles.js';
import { openAgents } from './engines/agents.js';
import { allRoutes, workflowLimits } from './routes.js';
import { warmSessions, watchLag } from './log/shared-log.js';
import { slotsOf } from './reactors/slot-holders.js';
import { tlsOf } from '../config/tls-files.js';
import { firstFailure } from '../config/operator-errors.js';
import { startTransports } from './transports.js';
import { openUploads } from './uploads.js';

/** A process that serves the interface. */
export type Running = {
  /** `host:port`. */
  readonly grpc: string;
  /** A URL. */
  readonly http: string;
  /** `host:port` of the EventStoreDB protocol, where it is served. */
  readonly eventstore: string | undefined;
  /** The reason why that protocol is not served on its usual port, as the end of a sentence: `is in use`. */
  readonly eventstoreProblem: string | undefined;
  /** The data directory, absolute. */
  readonly data: string;
  readonly logId: string;
  /** The id of the log that this one is a copy of, until it takes over. */
  readonly copyOf?: string | undefined;
  /** True when no control plane had recorded more than the format and the configured projects before the start. */
  readonly isEmpty: boolean;
  /** The number of executions in the views at the start. */
  readonly executions: number;
  /** True when the engine feed gave out work at the start; in a log of an older format it gives out none. */
  readonly hasFeed: boolean;
  /** Calls `wake` when an execution is to be started or aborted; lists may show it a moment later. */
  readonly onWork: (wake: () => void) => void;
  /**
   * Rejects with an {@link OperatorError} when a component of the process has failed permanently, such as the log or
   * the views.
   */
  readonly failed: Promise<never>;
  /** Says in words how the data directory has changed, if it has been removed or replaced. */
  readonly lost: () => string | undefined;
  /** Stops taking calls, finishes those in flight, and closes everything that the process opened. */
  readonly close: () => Promise<void>;
};

/** Rejects when a component of the process fails. */
const failureOf = (
  ending: readonly ({ readonly ended: Promise<unknown> } | undefined)[],
  failing: readonly ({ readonly failed: Promise<unknown> } | undefined)[],
): Promise<never> =>
  firstFailure([
    ...ending.flatMap((part) => (part ? [part.ended] : [])),
    ...failing.flatMap((part) => (part ? [part.failed] : [])),
  ]);

/**
 * Checks all ports, the TLS files, the users and the clients before anything is written; returns the port of the
 * EventStoreDB protocol.
 */
const checkedPorts = async (configuration: Configuration): Promise<EventstorePort> => {
  tlsOf(configuration); // throws when the files cannot be used
  await assertPrincipalFiles(configuration);
  await assertAnyUser(configuration);
  await assertDistinctNames(configuration);
  await assertPortIsFree('gRPC', configuration.host, configuration.grpc_port);
  await assertPortIsFree('REST', configuration.host, configuration.http_port);
  return eventstorePort(configuration);
};

/**
 * Prepares the threads for requests that would keep the main thread from answering others; and opens, on the main
 * thread, the stores in which engines have inputs and outputs.
 */
const openThreads = async (configuration: Configuration, { source }: Foundation) => {
  const { task_types: taskTypes } = configuration.registration;
  const registrations = largeRegistrations({ ...source, taskTypes, workflowLimits: workflowLimits(configuration) });
  const { tasks: largeTasks, workflows: largeWorkflows, launchPlans: largeLaunchPlans } = registrations;
  const launches = largeLaunches();
  const engineStores = engineStoresOf(configuration);
  const engineData = await openEngineData(engineStores);
  const pastReads = pastReader({ ...source, engineStores });
  const tails = openTails(source);
  const watches = openWatches({
    openThread: watchThreadOpener(source),
    encode: encodedAnswer,
    executions: executionsView.collection,
  });
  const { groups, start: eventstore } = laterEventstore();
  const close = async (): Promise<void> => {
    await closeInOrder([pastReads, registrations, launches, engineData]);
  };
  const large = { largeTasks, largeWorkflows, largeLaunchPlans, largeLaunches: launches };
  return { ...large, engineData, pastReads, tails, watches, groups, eventstore, close };
};

/**
 * Starts a process that serves the interface. Projections and reactors run only where the process has their role.
 *
 * @throws {InvalidConfiguration} when the TLS files cannot be used; nothing has been written then.
 * @throws {OperatorError} when a port cannot be taken, no person could sign in, a client has the name of a user, or the
 * users or clients cannot be read; nothing has been written then. Also when the data directory, the log, the payloads
 * or the views cannot be used, naming the setting.
 * @throws {Fault} when one of them fails during the start.
 */
export const startServer = async (configuration: Configuration, logger: Logger): Promise<Running> => {
  const eventstoreAt = await checkedPorts(configuration);
  const duties = dutiesOf(configuration.role);
  const foundation = await openFoundation(configuration, logger);
  const { directory, log, payloads, sessions, source, watch, format, parked, metrics } = foundation;
  const { store } = log;
  const uploads = await openUploads(configuration, directory);
  const isEmpty = await isUnused(store);
  await beginLog(configuration, { ...foundation, store });

  const current = await openCurrentViews(configuration, foundation, logger);
  const { views } = current;
  const readStore = searchingBuiltViews(current.readStore, views);
  const found = await readStore.count(executionsView.collection);
  const unprojected = unprojectedFolder(source);
  const freshness = freshnessOf(sessions.acknowledged, views, unprojected, lastPositionOf(store));
  const executions = executionAggregate({ payloads });
  const threads = await openThreads(configuration, foundation);
  const warm = await warmSessions(log, sessions);
  const audit = await openAudit(configuration, { directory, metrics, logger });
  const parts = { configuration, store, payloads, sessions, executions, readStore, freshness, parked, logger };
  const slots = slotsOf(sessions, executions);
  const launching = openLaunching({ ...parts, ...threads, slots, isShared: warm !== undefined });
  const feed = openFeed({ ...parts, ...launching, isShared: warm !== undefined });
  const reactors = await openReactors(configuration, foundation, logger);
  const served = { ...parts, ...threads, launching, audit, uploads: uploads.store, feed, format: format.format };
  const agents = await openAgents(configuration);
  const routes = allRoutes({ ...served, agents, reactors: reactors.board });
  const { bindings, following } = launching.reference;

  const logLag = watchLag(log, { warm, reference: following });
  if (duties.reactor) await reactors.start({ ...parts, slots, launching });

  const egress = duties.reactor ? await startExport(configuration, source, logger) : undefined;
  const health = watchViews(store, { ...current, parked });
  const checks = (): readonly Check[] =>
    presentChecks([logLag.check(), ...foundation.checks(), ...health.checks(), egress?.check()]);
  const gauges = { parked, parkedInViews: health.parked, building: () => views.building(), reactors: reactors.figures };
  const commands = { followers: [following, ...(warm ? [warm] : [])], admission: sessions.admission };
  const hosting = { store, logId: store.logId, logger, uploads, checks, ...commands, metrics, bindings, audit };
  const transports = await startTransports(configuration, routes, hosting);
  const eventstore = await threads.eventstore(configuration, eventstoreAt, { ...hosting, ...source, ...transports });
  registerSources(metrics, configuration, { log: store, checks, sessions, groups: eventstore.groups, ...gauges });

  // Closed in this order: components that take calls first, those that others depend on last.
  const first = [
    ...[threads.tails, threads.watches, feed, transports, health, eventstore, egress, reactors, logLag, following],
    ...[launching.activations, unprojected, agents],
  ];
  const last = [audit, threads, current, foundation];
  const followers = [log, format, foundation.retries, following, launching.activations, logLag, reactors];
  return {
    grpc: transports.grpc,
    http: transports.http,
    eventstore: eventstore.address,
    eventstoreProblem: eventstore.problem,
    data: directory,
    logId: store.logId,
    ...{ copyOf: store.copyOf, isEmpty, executions: found, hasFeed: hasLeases(format.format()) },
    onWork: (wake) => watchWork(store, wake),
    lost: watch.changed,
    failed: failureOf(followers, [current, eventstore, egress]),
    close: () => closeInOrder([...first, ...last]),
  };
};
