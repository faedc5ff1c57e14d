import { resolve } from 'node:path';
import { rebuildViews as rebuild, VERIFIED_STREAMS } from '../../../projections/runtime/runs/rebuild.js';
import {
  type RebuildProgress,
  type ThreadedShareBuilder,
  sharesOf,
} from '../../../projections/runtime/runs/rebuild-share.js';
import { Fault } from '../../kernel/fault.js';
import { lockDataDirectory } from '../../store/data-directory.js';
import type { Configuration } from '../../config/configuration.js';
import { type LogSource, logSource, openOwnLog } from '../../main/log/log-source.js';
import { codecs, models } from '../../main/models.js';
import { openOwnPayloads } from '../../main/payloads.js';
import { progressBar } from '../progress-bar.js';
import { printSummary, secondsSince } from '../summary.js';
import { openFreshViews, viewsKey } from '../../main/views/read-stores.js';
import type { RebuildThreadData } from '../../main/views/rebuild-thread.js';
import { threadedShare } from '../../main/views/threaded-share.js';
import { OperatorError, forSetting } from '../../config/operator-errors.js';

const WHAT: Readonly<Record<RebuildProgress['phase'], string>> = { build: 'events', verify: 'streams' };

/** Makes an error of one line from a failed build or verification, a plain `Error`; another error stays as it is. */
const operatorErrorOf = (error: unknown): unknown => {
  if (!(error instanceof Error) || error instanceof Fault || error instanceof OperatorError || error.name !== 'Error')
    return error;
  const cause = error.cause instanceof Error ? `: ${error.cause.message}` : '';
  return new OperatorError(`the views are as they were: ${error.message}${cause}`, { cause: error });
};

/**
 * Returns the number of threads that rebuild, each an equal share of the partitions. Every thread reads the whole log:
 * over an event store, reading it twice costs more than a second thread saves. With MongoDB, the rebuild mostly waits
 * for the database.
 */
const threadsFor = (log: LogSource, views: Configuration['read_store']): number =>
  log.kind === 'embedded' && views.kind === 'sqlite' ? 2 : 1;

/**
 * Memory in which a rebuild holds the events that it verifies: over an event store, reading a stream again takes more
 * time than verifying it.
 */
const HELD_BYTES: Readonly<Record<LogSource['kind'], number>> = { embedded: 0, eventstore: 48 * 1024 * 1024 };

type Where = Pick<RebuildThreadData, 'directory' | 'location'>;

const othersOf = (shares: ReturnType<typeof sharesOf>, where: Where): readonly ThreadedShareBuilder[] =>
  shares.map((partitions) => threadedShare({ ...where, partitions, verifiedStreams: VERIFIED_STREAMS / 2 }));

/**
 * Builds all views from the log beside those in use, verifies them, and then replaces those in use. Prints a summary as
 * one JSON object.
 *
 * @throws {OperatorError} when the log or a store cannot be opened, the data directory is in use, a view cannot take an
 * event, or the verification finds a wrong document; the views are unchanged then.
 */
export const rebuildViews = async (configuration: Configuration): Promise<void> => {
  const { data, payload_store: location, event_store: eventStore, read_store: views } = configuration;
  const directory = resolve(data);
  const source = logSource({ directory, eventStore });
  const log = await openOwnLog(configuration); // throws when there is no log
  // No process may have views in the data directory open while they are replaced; in a database, servers may read on.
  const lock = views.kind === 'sqlite' ? await forSetting('data', () => lockDataDirectory(directory)) : undefined;
  const started = performance.now();
  const payloads = await openOwnPayloads(configuration);
  const bar = progressBar();
  try {
    const fresh = await forSetting(viewsKey(views), () => openFreshViews({ directory, views }, log.logId));
    const [partitions = [], ...shares] = sharesOf(threadsFor(source, views));
    const others = othersOf(shares, { directory, location });
    let buildSeconds = 0;
    const onProgress = (progress: RebuildProgress): void => {
      if (progress.phase === 'build') buildSeconds = secondsSince(started);
      bar.show({ ...progress, detail: `${progress.count} ${WHAT[progress.phase]}` });
    };
    const { position, ...rebuilt } = await rebuild({
      log,
      payloads,
      models,
      codecs,
      fresh,
      partitions,
      others,
      heldBytes: HELD_BYTES[source.kind],
      onProgress,
    });
    bar.stop();
    const maxRssMb = Math.round(process.resourceUsage().maxRSS / 1_024);
    const took = { buildSeconds, seconds: secondsSince(started), maxRssMb };
    printSummary({ position: Number(position), ...rebuilt, ...took });
  } catch (error) {
    throw operatorErrorOf(error);
  } finally {
    bar.stop();
    await log.close();
    await payloads.close();
    lock?.release();
  }
};
