import type { Logger } from 'pino';
import type { Check } from '../gateway/readiness.js';
import { executionAggregate } from '../execution/aggregate.js';
import type { Configuration } from '../config/configuration.js';
import { parkedCheck, presentChecks, viewsCheck } from '../health/checks.js';
import { closeInOrder } from './close-in-order.js';
import { startProjecting } from './views/current-views.js';
import { startExport } from './export/export.js';
import { type Foundation, openFoundation } from './foundation.js';
import { headLag } from '../health/head-lag.js';
import { openLaunching } from './launching.js';
import { openReactors } from './reactors/reactors.js';
import { registerSources } from './metrics.js';
import { assertPortIsFree } from '../config/free-port.js';
import { dutiesOf } from '../config/roles.js';
import { warmSessions, watchLag } from './log/shared-log.js';
import { slotsOf } from './reactors/slot-holders.js';
import { largeLaunches } from './large-requests/large-launches.js';
import { tlsOf } from '../config/tls-files.js';
import { firstFailure } from '../config/operator-errors.js';
import { startProbes } from './transports.js';
import type { WorkFigures } from '../reactors/frame/work-queue.js';
import type { RunningViews } from './views/views.js';

/** A process that runs projections or reactors and does not serve the interface. */
export type RunningWorker = {
  /** A URL, for health checks. */
  readonly http: string;
  /** The data directory, absolute. */
  readonly data: string;
  readonly logId: string;
  /** The id of the log that this one is a copy of, until it takes over. */
  readonly copyOf?: string | undefined;
  /**
   * Rejects with an {@link OperatorError} when a component of the process has failed permanently, such as the log or
   * the views.
   */
  readonly failed: Promise<never>;
  /** Finishes the work in hand, and closes everything that the process opened. */
  readonly close: () => Promise<void>;
};

/**
 * A component of the process: its checks, the promises that reject when it fails, the figures of its reactors, if any,
 * and its close.
 */
type Component = {
  readonly checks: () => readonly (Check | undefined)[];
  readonly ends: readonly Promise<unknown>[];
  readonly figures?: () => ReadonlyMap<string, WorkFigures>;
  readonly close: () => Promise<void>;
};

const projectorComponent = (views: RunningViews, { log }: Foundation): Component => {
  const lag = headLag(log.store, () => views.lowest());
  return {
    checks: () => [viewsCheck(lag, { problem: views.problem(), building: views.building() }, 'down')],
    ends: [views.failed],
    close: async () => {
      lag.close();
      await views.close();
    },
  };
};

const reactorComponent = async (
  configuration: Configuration,
  foundation: Foundation,
  logger: Logger,
): Promise<Component> => {
  const { log, payloads, sessions, source, parked } = foundation;
  const executions = executionAggregate({ payloads });
  const slots = slotsOf(sessions, executions);
  const warm = await warmSessions(log, sessions);
  const launches = largeLaunches();
  const parts = { configuration, payloads, sessions, executions, slots, parked, largeLaunches: launches };
  const launching = openLaunching({ ...parts, store: log.store, isShared: warm !== undefined });
  const { reference, activations } = launching;
  const logLag = watchLag(log, { warm, reference: reference.following });
  const reactors = await openReactors(configuration, foundation, logger);
  await reactors.start({ executions, slots, launching, logger });
  const egress = await startExport(configuration, source, logger);
  return {
    checks: () => [logLag.check(), egress.check()],
    ends: [logLag.ended, reactors.ended, reference.following.ended, activations.ended, egress.failed],
    figures: reactors.figures,
    close: async () => {
      await closeInOrder([egress, reactors, logLag, reference.following, activations, launches]);
    },
  };
};

/**
 * Starts the projections, the reactors, or both, and serves their health over HTTP.
 *
 * @throws {InvalidConfiguration} when the TLS files cannot be used; nothing has been written then.
 * @throws {OperatorError} when the port cannot be taken; nothing has been written then. Also when the data directory,
 * the log, the payloads or the views cannot be used, naming the setting.
 * @throws {Fault} when one of them fails during the start.
 */
export const startWorker = async (configuration: Configuration, logger: Logger): Promise<RunningWorker> => {
  tlsOf(configuration); // throws when the files cannot be used; nothing has been written yet
  await assertPortIsFree('REST', configuration.host, configuration.http_port);
  const foundation = await openFoundation(configuration, logger);
  const views = await startProjecting(configuration, foundation, logger);
  const parts = [
    ...(views ? [projectorComponent(views, foundation)] : []),
    ...(dutiesOf(configuration.role).reactor ? [await reactorComponent(configuration, foundation, logger)] : []),
  ];
  const { directory, log, format, parked, metrics, sessions } = foundation;
  const { logId, copyOf } = log.store;
  const checks = (): readonly Check[] =>
    presentChecks([
      ...foundation.checks(),
      ...parts.flatMap((part) => part.checks()),
      parkedCheck({ count: views?.parked() ?? 0 }, parked),
    ]);
  const parkedInViews = views && ((): number => views.parked());
  const reactors = parts.map(({ figures }) => figures).find((figures) => figures !== undefined);
  const building = views && ((): readonly string[] => views.building());
  const inViews = { parkedInViews, building };
  registerSources(metrics, configuration, { log: log.store, checks, parked, ...inViews, sessions, reactors });
  const probes = await startProbes(configuration, { logId, logger, checks, metrics });
  return {
    http: probes.http,
    data: directory,
    logId,
    copyOf,
    failed: firstFailure([log.ended, format.ended, foundation.retries.ended, ...parts.flatMap(({ ends }) => ends)]),
    close: async () => {
      await closeInOrder([probes, ...parts, foundation]);
    },
  };
};
