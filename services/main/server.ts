import type { Logger } from 'pino';
import { executions as executionsView } from '../../projections/executions/projection.js';
import { freshness as freshnessOf, lastIn } from '../../projections/query/freshness.js';
import type { Check } from '../gateway/readiness.js';
import { executionAggregate } from '../execution/aggregate.js';
import type { EventLog } from '../kernel/ports/event-store.js';
import { NEWEST_FORMAT } from '../kernel/log-format.js';
import { setLogFormat } from '../log-format/decider.js';
import { registerConfiguredProjects } from '../project/configured.js';
import type { Configuration } from '../config/configuration.js';
import { said, watchViews } from './checks.js';
import { openCurrentViews } from './current-views.js';
import { eventstorePort, startEventstore } from './eventstore.js';
import { startExport } from './export.js';
import { type Foundation, openFoundation } from './foundation.js';
import { largeLaunches } from './threads/large-launches.js';
import { largeRegistrations } from './threads/large-registrations.js';
import { formatCheck } from './log-format.js';
import { measureParts } from './metrics.js';
import { assertPortIsFree } from './ports.js';
import { openReactors } from './open-reactors.js';
import { dutiesOf } from '../config/roles.js';
import { allRoutes, workflowLimits } from './routes.js';
import { warmSessions, watchLag } from './shared-log.js';
import { slotsOf } from './slot-holders.js';
import { tlsOf } from './tls-files.js';
import { firstFailure } from '../config/operator-errors.js';
import { startTransports } from './transports.js';
import { unseenFolder } from './threads/unseen.js';
import { openUploads } from './uploads.js';
import { watchWork } from './work-watch.js';

/** A server that answers. */
export type Running = {
  /** `host:port`. */
  readonly grpc: string;
  readonly http: string;
  /** `host:port` of the EventStoreDB protocol, where it is served. */
  readonly eventstore: string | undefined;
  /** The data directory, absolute. */
  readonly data: string;
  readonly logId: string;
  /** Nothing had ever been recorded when it started. */
  readonly isEmpty: boolean;
  /** How many executions it found. */
  readonly executions: number;
  /** Calls back when an execution is to be begun or ended; it may take a moment until lists show it. */
  readonly onWork: (wake: () => void) => void;
  /** Rejects with a {@link CannotGoOn} when the log or the views fail for good. */
  readonly failed: Promise<never>;
  /** What has become of the data directory, where it is not what it was any more. */
  readonly lost: () => string | undefined;
  /** Stops taking calls, finishes those on their way, and closes what it opened. */
  readonly close: () => Promise<void>;
};

/** Rejects when one of the parts of the process fails. */
const failureOf = (
  ending: readonly ({ readonly ended: Promise<unknown> } | undefined)[],
  failing: readonly ({ readonly failed: Promise<unknown> } | undefined)[],
): Promise<never> =>
  firstFailure([
    ...ending.flatMap((part) => (part ? [part.ended] : [])),
    ...failing.flatMap((part) => (part ? [part.failed] : [])),
  ]);

/** Makes sure of all ports before anything is written; answers the one of the EventStoreDB protocol. */
const checkedPorts = async (configuration: Configuration): Promise<number | undefined> => {
  tlsOf(configuration); // what is wrong with it is said before anything is written
  await assertPortIsFree('gRPC', configuration.host, configuration.grpc_port);
  await assertPortIsFree('REST', configuration.host, configuration.http_port);
  return eventstorePort(configuration);
};

/** Whether anything was ever recorded; what an event store writes by itself is nothing. */
const isBegun = async (log: Pick<EventLog, 'readLog'>): Promise<boolean> => {
  for await (const { events } of log.readLog({ after: 0n, limit: 1 })) if (events.length > 0) return true;
  return false;
};

/**
 * Begins a log that has no event: with the projects of the configuration, and the newest format.
 *
 * @returns whether it had none.
 */
const beginEmptyLog = async ({ projects }: Configuration, { log, sessions, format }: Foundation): Promise<boolean> => {
  if (await isBegun(log.store)) return false;
  await registerConfiguredProjects(projects, sessions);
  await setLogFormat(NEWEST_FORMAT, sessions, { actor: '', commandId: 'the format of a new log' });
  await format.refresh();
  return true;
};

/**
 * Starts what serves the interface in this process, and with it whatever else the process does: the log and its writer
 * thread, the views and theirs, the reactors, the transports.
 *
 * @throws {CannotGoOn} when a port cannot be taken; nothing has been written then.
 * @throws {Fault} when the data directory cannot be used.
 */
export const startServer = async (configuration: Configuration, logger: Logger): Promise<Running> => {
  const eventstoreAt = await checkedPorts(configuration);
  const duties = dutiesOf(configuration.role);
  const foundation = await openFoundation(configuration, logger);
  const { directory, log, payloads, sessions, source, watch, format, parked, metrics } = foundation;
  const { store } = log;
  const uploads = await openUploads(configuration, directory);
  const isEmpty = await beginEmptyLog(configuration, foundation);

  const current = await openCurrentViews(configuration, foundation, logger);
  const { readStore, views } = current;
  const found = await readStore.count(executionsView.collection);
  const unseen = unseenFolder(source);
  const freshness = freshnessOf(sessions.acknowledged, views, unseen, lastIn(store));
  const executions = executionAggregate({ payloads });
  const registrations = largeRegistrations({
    ...source,
    taskTypes: configuration.registration.task_types,
    workflowLimits: workflowLimits(configuration),
  });
  const launches = largeLaunches();
  const warm = await warmSessions(log, sessions);
  const parts = { configuration, store, payloads, sessions, warm, executions, readStore, freshness, parked, logger };
  const slots = slotsOf(sessions, executions);
  const { routes, following } = allRoutes({
    ...parts,
    largeTasks: registrations.tasks,
    largeWorkflows: registrations.workflows,
    largeLaunchPlans: registrations.launchPlans,
    largeLaunches: launches,
    slots,
    uploads: uploads.store,
  });

  const keeping = watchLag(log, { warm, reference: following });

  const reactors = duties.reactor ? await openReactors({ ...parts, foundation, slots }) : undefined;

  const eventstore = await startEventstore(configuration, eventstoreAt, { ...source, store, logger });
  const egress = duties.reactor ? await startExport(configuration, source, logger) : undefined;
  const behind = watchViews(store, { ...current, parked });
  const checks = (): readonly Check[] =>
    said([keeping.check(), formatCheck(format.format()), watch.check(), ...behind.checks(), egress?.check()]);
  measureParts(metrics, configuration, { log: store, checks, parked, parkedInViews: behind.parked, sessions });
  const hosting = { logId: store.logId, logger, uploads, checks, known: [following, ...(warm ? [warm] : [])], metrics };
  const transports = await startTransports(configuration, routes, hosting);

  // Closed in this order: what takes calls first, what others stand on last.
  const first = [transports, behind, eventstore, egress, reactors, keeping, following, unseen];
  const last = [registrations, launches, current, foundation];
  return {
    grpc: transports.grpc,
    http: transports.http,
    eventstore: eventstore.address,
    data: directory,
    logId: store.logId,
    isEmpty,
    executions: found,
    onWork: (wake) => watchWork(store, wake),
    lost: watch.changed,
    failed: failureOf([log, format, following, keeping, reactors], [current, eventstore, egress]),
    close: async () => {
      for (const part of [...first, ...last]) await part?.close();
    },
  };
};
