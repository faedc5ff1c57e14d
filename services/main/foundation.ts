import { resolve } from 'node:path';
import type { Logger } from 'pino';
import { VIEWS_FILE } from '../../projections/store/sqlite/sqlite-read-store.js';
import { type ParkedStreams, parkedStreams } from '../kernel/log-readers/parked-streams.js';
import type { PayloadStore } from '../kernel/ports/payload-store.js';
import { followFormat, type FormatInForce } from '../reference/format-in-force.js';
import type { Check } from '../gateway/readiness.js';
import type { RetryRequests } from '../reference/retry-requests.js';
import { type OpenSessions, openSessions } from '../sessions/sessions.js';
import { openMetrics, type ProcessMetrics } from '../metrics/process-metrics.js';
import { lockDataDirectory } from '../store/data-directory.js';
import type { Configuration } from '../config/configuration.js';
import { watchAppends } from '../health/append-watch.js';
import { logChecks } from '../health/checks.js';
import { type DirectoryWatch, watchDirectory } from '../health/directory-watch.js';
import { retryParkedStreams } from './log/parked-retries.js';
import { logKey, logSource, openWritableLog, type WritableLog } from './log/log-source.js';
import { measuredAppends } from './metrics.js';
import { openPayloads } from './payloads.js';
import { isStandalone } from '../config/roles.js';
import { boundHeapGrowth } from './heap-growth.js';
import { isShared } from './log/shared-log.js';
import { forSetting } from '../config/operator-errors.js';
import type { ViewsThreadData } from './views/views-thread.js';

/** The parts that every process of the control plane has, in any role but `log`. */
export type Foundation = {
  /** The data directory, absolute. */
  readonly directory: string;
  readonly log: WritableLog;
  /** The format that the log is written in. */
  readonly format: FormatInForce;
  readonly payloads: PayloadStore;
  readonly sessions: OpenSessions;
  /** The streams that this process cannot read. */
  readonly parked: ParkedStreams;
  /** Reads parked streams again when an operator asks for it. */
  readonly retries: RetryRequests;
  /** The data that threads of this process are started with. */
  readonly source: ViewsThreadData;
  readonly watch: DirectoryWatch;
  /** The checks of the log's appends and format, that it is a copy, and of the data directory. */
  readonly checks: () => readonly (Check | undefined)[];
  readonly metrics: ProcessMetrics;
  /** Closes all of these parts; the parts that use them must be closed before. */
  readonly close: () => Promise<void>;
};

const PAYLOADS_HERE =
  'payloads are in the data directory: processes that do not share it on this machine need --payload-store s3://BUCKET/PREFIX, all of them';

const warnOfFiles = (
  { role, payload_store: payloads, event_store: eventStore }: Configuration,
  logger: Logger,
  directory: string,
): void => {
  const mayHaveOthers = !isStandalone(role) || logSource({ directory, eventStore }).kind === 'eventstore';
  if (mayHaveOthers && payloads.kind === 'file') logger.warn({ directory }, PAYLOADS_HERE);
};

/**
 * Opens the data directory, the log and the payloads. A process with all roles has the directory to itself; one with
 * some roles shares it with other processes.
 *
 * @throws {OperatorError} when the directory, the log or the payloads cannot be used, naming the setting.
 */
export const openFoundation = async (configuration: Configuration, logger: Logger): Promise<Foundation> => {
  const { payload_store: location, read_store: views, max_session_bytes: maxCachedBytes } = configuration;
  boundHeapGrowth();
  const directory = resolve(configuration.data);
  const together = isStandalone(configuration.role) ? 'alone' : 'together';
  const lock = await forSetting('data', () => lockDataDirectory(directory, together));
  warnOfFiles(configuration, logger, directory);
  const derived = [VIEWS_FILE];
  const metrics = openMetrics();
  const opened = await forSetting(logKey(configuration), () =>
    openWritableLog(configuration, {
      directory,
      derived,
      logger,
      onCommit: metrics.committed,
      onDrop: metrics.subscriptionDropped,
    }),
  );
  const appends = watchAppends(measuredAppends(opened.store, metrics));
  const log = { ...opened, store: appends.store };
  const source = { directory, location, source: log.source, views };
  const payloads = await forSetting('payload_store', () => openPayloads(source));
  const { store } = log;
  const parked = parkedStreams(({ stream, position, message }) =>
    logger.error({ stream, position: position.toString() }, message),
  );
  const watch = watchDirectory(directory, logger);
  const format = await forSetting(logKey(configuration), () => followFormat(store));
  const retries = await forSetting(logKey(configuration), () => retryParkedStreams({ store, parked, logger }));
  const sessions = openSessions({
    ...{ store, payloads, now: Date.now, maxCachedBytes },
    isShared: isShared(log),
    format: format.format,
    onParked: parked.note,
  });
  parked.onResuming((stream) => sessions.resume(stream));
  return {
    directory,
    log,
    format,
    payloads,
    sessions,
    parked,
    retries,
    source,
    watch,
    checks: () => [appends.check(), ...logChecks(store, format), watch.check()],
    metrics,
    close: async () => {
      watch.close();
      await retries.close();
      await format.close();
      await payloads.close();
      await store.close();
      lock.release();
    },
  };
};
