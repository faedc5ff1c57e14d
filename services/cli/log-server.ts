import { randomBytes } from 'node:crypto';
import { resolve } from 'node:path';
import { VIEWS_FILE } from '../../projections/store/sqlite/sqlite-read-store.js';
import { serveEncoded } from '../gateway/grpc/encoded.js';
import type { Check } from '../gateway/readiness.js';
import { lockDataDirectory } from '../store/data-directory.js';
import { assertLogComplete, assertLogNotLost } from '../store/log/presence.js';
import { sqliteEventStore } from '../store/log/sqlite-event-store.js';
import { fullAccess } from '../streams/eventstore/access.js';
import { storedForm } from '../streams/eventstore/recorded.js';
import { serveEventstore } from '../streams/eventstore/server.js';
import { recordCopy } from '../main/eventstore/named-log.js';
import { openStreamRules } from '../streams/eventstore/stream-rules.js';
import { announce } from './announcement.js';
import type { Configuration } from '../config/configuration.js';
import { watchLog } from '../health/checks.js';
import { watchDirectory } from '../health/directory-watch.js';
import { eventstorePort, USUAL_EVENTSTORE_PORT } from '../main/eventstore/eventstore.js';
import { assertAllowed } from './insecure.js';
import { openLogger } from '../main/logger.js';
import { assertPortIsFree } from '../config/free-port.js';
import type { ServeFlags } from './serve.js';
import { onStopSignals } from './stop-signals.js';
import { openTls, tlsOf } from '../config/tls-files.js';
import { OperatorError, firstFailure, forSetting } from '../config/operator-errors.js';
import { openMetrics } from '../metrics/process-metrics.js';
import { measuredAppends, registerSources } from '../main/metrics.js';
import type { OnCommit } from '../store/log/append-queue.js';
import { startProbes } from '../main/transports.js';

const DRAIN_MS = 10_000;

const openStore = async (directory: string, onCommit: OnCommit) => {
  const lock = await lockDataDirectory(directory);
  assertLogNotLost(lock.directory, [VIEWS_FILE]); // of a control plane that had the log in this directory before
  assertLogComplete(lock.directory);
  return { lock, store: await sqliteEventStore({ directory: lock.directory, onCommit }) };
};

/**
 * Serves the embedded log by the EventStoreDB protocol, for reads and writes, with health checks and metrics over HTTP,
 * until a stop signal. Every stream may be written, because its clients are control planes.
 *
 * @throws {InvalidConfiguration} when the files of TLS cannot be used.
 * @throws {OperatorError} when it may not or cannot listen, when its data cannot be used, or when the log has failed
 * permanently.
 */
export const serveLog = async (configuration: Configuration, flags: ServeFlags): Promise<void> => {
  assertAllowed(configuration);
  const stopped = onStopSignals(); // a signal during the start stops the process once it has started
  const logger = openLogger(configuration.log_level);
  tlsOf(configuration); // throws when the files cannot be used; nothing has been written yet
  const port = await eventstorePort(configuration);
  if (typeof port === 'object')
    throw new OperatorError(
      `a log server needs the EventStoreDB protocol: port ${USUAL_EVENTSTORE_PORT} ${port.problem}; set --host or --eventstore-port`,
    );
  await assertPortIsFree('REST', configuration.host, configuration.http_port);
  const metrics = openMetrics();
  const tls = openTls(configuration, { logger, onReload: metrics.tlsReloaded });
  const opened = await forSetting('data', () => openStore(resolve(configuration.data), metrics.committed));
  const { lock } = opened;
  const store = measuredAppends(opened.store, metrics);
  await recordCopy(store, Date.now());
  const rules = await openStreamRules(store);
  const { host } = configuration;
  const server = await serveEventstore({
    host,
    port,
    reading: { log: store, rules, present: storedForm, now: Date.now },
    writing: { store, access: fullAccess, rules, now: Date.now, newId: () => randomBytes(16) },
    tls,
    serve: serveEncoded,
    logger,
  });
  const watch = watchLog(store);
  const data = watchDirectory(lock.directory, logger);
  const checks = (): readonly Check[] => [watch.check(), data.check()];
  registerSources(metrics, configuration, { log: store, checks, groups: () => server.groups() });
  const probes = await startProbes(configuration, { logId: store.logId, logger, checks, metrics, tls });
  const eventstore = `${host.includes(':') ? `[${host}]` : host}:${server.port}`;
  const served = { http: probes.http, eventstore, data: lock.directory, logId: store.logId };
  announce(flags, configuration, served);
  await Promise.race([stopped, firstFailure([store.ended])]);
  await Promise.all([probes.close(), server.close({ drainMs: DRAIN_MS })]);
  watch.close();
  data.close();
  await store.close();
  lock.release();
};
