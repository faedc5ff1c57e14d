import { resolve } from 'node:path';
import type { Logger } from 'pino';
import { executions as executionsView } from '../../projections/executions/projection.js';
import { freshness } from '../../projections/kernel/freshness.js';
import { VIEWS_FILE } from '../../projections/store/sqlite-read-store.js';
import { registerConfiguredProjects } from '../project/configured.js';
import { executionAggregate } from '../execution/aggregate.js';
import { openSessions } from '../sessions/sessions.js';
import { lockDataDirectory } from '../store/data-directory.js';
import type { Configuration } from './configuration.js';
import { eventstorePort, startEventstore } from './eventstore.js';
import { startExport } from './export.js';
import { type LogSource, openWritableLog } from './log-source.js';
import { assertPortIsFree } from './ports.js';
import { slotsOf } from './slot-holders.js';
import { largeWorkflowCompiler } from './large-workflows.js';
import { openPayloads } from './payloads.js';
import { openReadStore, untilReachable } from './read-stores.js';
import { startReactors } from './reactors.js';
import { allRoutes, workflowLimits } from './routes.js';
import { tlsOf } from './tls-files.js';
import { firstFailure } from './told.js';
import { startTransports } from './transports.js';
import { unseenFolder } from './unseen.js';
import { isShared, keepCurrent } from './shared-log.js';
import { openUploads } from './uploads.js';
import { type RunningViews, startViews } from './views.js';
import type { ViewsThreadData } from './views-thread.js';

const CATCH_UP_REPORT_MS = 2_000;

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
  /** Rejects with a {@link CannotGoOn} when the log or the views fail for good. */
  readonly failed: Promise<never>;
  /** Stops taking calls, finishes those on their way, and closes what it opened. */
  readonly close: () => Promise<void>;
};

/** Who was answered before a restart sees what they were told from the first request on. */
const catchUp = async (views: RunningViews, head: bigint, logger: Logger): Promise<void> => {
  while (!(await Promise.race([views.reached(head, CATCH_UP_REPORT_MS), views.failed]))) {
    logger.info({ position: Number(views.position()), head: Number(head) }, 'the views catch up with the log');
  }
};

/** Waits until there are views that have seen the log up to its head. */
const currentViews = async (source: ViewsThreadData, head: bigint, logger: Logger): Promise<RunningViews> => {
  await untilReachable(source, logger);
  const views = await startViews(source, logger);
  await catchUp(views, head, logger);
  return views;
};

const sourcesOf = (
  { payload_store: location, read_store: views }: Configuration,
  directory: string,
  source: LogSource,
): ViewsThreadData => ({ directory, location, source, views });

/** Rejects when one of the parts of the process fails. */
const failureOf = (
  ending: readonly { readonly ended: Promise<unknown> }[],
  failing: readonly { readonly failed: Promise<unknown> }[],
): Promise<never> => firstFailure([...ending.map(({ ended }) => ended), ...failing.map(({ failed }) => failed)]);

/** Makes sure of all ports before anything is written; answers the one of the EventStoreDB protocol. */
const checkedPorts = async (configuration: Configuration): Promise<number | undefined> => {
  tlsOf(configuration); // what is wrong with it is said before anything is written
  await assertPortIsFree('gRPC', configuration.host, configuration.grpc_port);
  await assertPortIsFree('REST', configuration.host, configuration.http_port);
  return eventstorePort(configuration);
};

/**
 * Starts the whole control plane in this process: the log and its writer thread, the views and theirs, the transports.
 *
 * @throws {CannotGoOn} when a port cannot be taken; nothing has been written then.
 * @throws {Fault} when the data directory cannot be used.
 */
export const startServer = async (configuration: Configuration, logger: Logger): Promise<Running> => {
  const eventstoreAt = await checkedPorts(configuration);
  const directory = resolve(configuration.data);
  const lock = await lockDataDirectory(directory);
  const log = await openWritableLog(configuration, { directory, derived: [VIEWS_FILE], logger });
  const { store } = log;
  const source = sourcesOf(configuration, directory, log.source);
  const payloads = await openPayloads(source);
  const uploads = await openUploads(configuration, directory);
  const isEmpty = (await store.head()) === 0n;
  const maxCachedBytes = configuration.max_session_bytes;
  const sessions = openSessions({ store, payloads, now: Date.now, maxCachedBytes, isShared: isShared(log) });
  if (isEmpty) await registerConfiguredProjects(configuration.projects, sessions);

  const views = await currentViews(source, await store.head(), logger);
  const readStore = await openReadStore(source, 'serve');
  const found = await readStore.count(executionsView.collection);
  const unseen = unseenFolder(source);
  const fresh = freshness(sessions.acknowledged, views, unseen);
  const executions = executionAggregate({ payloads });
  const largeWorkflows = largeWorkflowCompiler({ ...source, limits: workflowLimits(configuration) });
  const parts = { configuration, store, payloads, sessions, executions, readStore, freshness: fresh, logger };
  const slots = slotsOf(sessions, executions);
  const { routes, following } = allRoutes({
    ...parts,
    largeWorkflows,
    slots,
    uploads: uploads.store,
  });

  const current = await keepCurrent(log, { sessions, reference: following });

  const reactors = startReactors({ ...parts, directory, slots });

  const eventstore = await startEventstore(configuration, eventstoreAt, { ...source, store, logger });
  const egress = await startExport(configuration, source, logger);
  const hosting = { logId: store.logId, logger, uploads, isReady: current.isCurrent };
  const transports = await startTransports(configuration, routes, hosting);

  // Closed in this order: what takes calls first, what others stand on last.
  const first = [transports, eventstore, egress, reactors, current, following, unseen];
  const last = [largeWorkflows, views, readStore, payloads, store];
  return {
    grpc: transports.grpc,
    http: transports.http,
    eventstore: eventstore.address,
    data: directory,
    logId: store.logId,
    isEmpty,
    executions: found,
    failed: failureOf([log, following, current, reactors], [views, eventstore, egress]),
    close: async () => {
      for (const part of [...first, ...last]) await part.close();
      lock.release();
    },
  };
};
