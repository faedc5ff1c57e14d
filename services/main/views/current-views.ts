import type { Logger } from 'pino';
import type { ReadStore, StoredDocument } from '../../../projections/runtime/read-store.js';
import { checkViewsFile } from '../../../projections/store/sqlite/sqlite-read-store.js';
import { storedViews } from '../../../projections/runtime/stored-views.js';
import type { Timer, Views } from '../../../projections/runtime/views.js';
import type { Configuration } from '../../config/configuration.js';
import type { Sharing } from '../coordination.js';
import type { Foundation } from '../foundation.js';
import { models } from '../models.js';
import { openReadStore, untilReachable, viewsKey } from './read-stores.js';
import { dutiesOf, isStandalone } from '../../config/roles.js';
import { forSetting } from '../../config/operator-errors.js';
import { type RunningViews, startViews } from './views.js';
import type { UnprojectedEvents, WantedDocuments } from '../../../projections/runtime/unprojected-events.js';
import { RpcError } from '../../kernel/rpc.js';
import { threadCaller } from '../threads/thread-caller.js';
import type { ViewsThreadData } from './views-thread.js';

/** The views that this process reads, with their read store. */
export type CurrentViews = {
  readonly readStore: ReadStore;
  readonly views: Views;
  /** Rejects when the projections of this process have failed; pending where another process runs them. */
  readonly failed: Promise<never>;
  readonly close: () => Promise<void>;
};

const CATCH_UP_REPORT_MS = 2_000;
/**
 * The longest time that a process waits at its start for views that another process writes to catch up, once they can
 * be read. Then it serves while they are behind, because commands do not need views.
 */
const CATCH_UP_MS = 10_000;

/** The timer is not `unref`ed: during the start, it may be the only thing that keeps the process alive. */
const timer: Timer = (afterMs, run) => {
  const timeout = setTimeout(run, afterMs);
  return () => clearTimeout(timeout);
};

const never = new Promise<never>(() => undefined);

/**
 * Waits until the views have reached `head`, so that clients read what they wrote before a restart; at most until the
 * time `until`, in milliseconds of `performance.now`.
 */
export const catchUp = async (
  views: Pick<Views, 'position' | 'reached'>,
  head: bigint,
  { failed, until }: { readonly failed: Promise<never>; readonly until: number },
  logger: Pick<Logger, 'info'>,
): Promise<void> => {
  const leftMs = (): number => until - performance.now();
  const isReached = (): Promise<boolean> =>
    Promise.race([views.reached(head, Math.min(CATCH_UP_REPORT_MS, leftMs())), failed]);
  while (leftMs() > 0 && !(await isReached())) {
    logger.info({ position: Number(views.position()), head: Number(head) }, 'the views catch up with the log');
  }
};

/**
 * True when this process alone writes its views, and runs all reactors without leases: it has all roles, and the log or
 * the views are in its data directory.
 */
const isAlone = ({ role, read_store: views }: Configuration, { log }: Foundation): boolean =>
  isStandalone(role) && (log.source.kind === 'embedded' || views.kind === 'sqlite');

/** The work that this process shares with others, by its configuration. */
export const sharingOf = (configuration: Configuration, foundation: Foundation): Sharing => ({
  isAlone: isAlone(configuration, foundation),
  leases: configuration.leases,
});

/** Starts the projections; `undefined` where the process has no projector role. */
export const startProjecting = async (
  configuration: Configuration,
  foundation: Foundation,
  logger: Logger,
): Promise<RunningViews | undefined> => {
  const { source, log } = foundation;
  if (!dutiesOf(configuration.role).projector) return undefined;
  if (source.views.kind === 'mongodb') await untilReachable(source, log.store.logId, logger);
  else await forSetting('data', () => checkViewsFile(source.directory));
  return startViews({ ...source, isShared: configuration.leases && !isAlone(configuration, foundation) }, logger);
};

/**
 * Opens the views for reading as soon as they can be read, and waits until they have reached the head that the log had
 * at the call; for at most {@link CATCH_UP_MS} where other processes may write the views too.
 */
export const openCurrentViews = async (
  configuration: Configuration,
  foundation: Foundation,
  logger: Logger,
): Promise<CurrentViews> => {
  const { source, log } = foundation;
  const head = await log.store.head();
  const projecting = await startProjecting(configuration, foundation, logger);
  const failed = projecting?.failed ?? never;
  const { logId } = log.store;
  await Promise.race([untilReachable(source, logId, logger), failed]);
  const readStore = await forSetting(viewsKey(source.views), () => openReadStore(source, 'serve', logId));
  const views =
    projecting && isAlone(configuration, foundation) ? projecting : storedViews({ readStore, models, logId, timer });
  await catchUp(
    views,
    head,
    { failed, until: views === projecting ? Infinity : performance.now() + CATCH_UP_MS },
    logger,
  );
  return {
    readStore,
    views,
    failed,
    close: async () => {
      await projecting?.close();
      if (views !== projecting) await views.close();
      await readStore.close();
    },
  };
};

/** The most reads that may wait for the thread. */
const MAX_WAITING = 256;

/** Folds, on a thread of its own, the events that are not yet projected. */
export const unprojectedFolder = (data: ViewsThreadData): UnprojectedEvents & { close(): Promise<void> } => {
  const thread = threadCaller<WantedDocuments, readonly StoredDocument[]>({
    url: new URL('./unprojected-thread.js', import.meta.url),
    workerData: data,
    maxWaiting: MAX_WAITING,
    tooMany: () => new RpcError('UNAVAILABLE', 'read models are behind and the catch-up queue is full; retry later'),
  });
  return { fold: (wanted) => thread.ask(wanted), close: () => thread.close() };
};
