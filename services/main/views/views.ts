import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import type { RunProgress } from '../../../projections/runtime/runs/partition-run.js';
import { settableViews, type Views } from '../../../projections/runtime/views.js';
import { OperatorError } from '../../config/operator-errors.js';
import { isNotableAttempt } from '../notable-attempt.js';
import type { ProjectingThreadData, ViewsThreadMessage } from './views-thread.js';

/** The views of this process, written by a thread of its own. */
export interface RunningViews extends Views {
  /** Why the views cannot be written now; `undefined` when they can. */
  problem(): string | undefined;
  /** The number of streams that are parked because they cannot be projected. */
  parked(): number;
  /** The lowest position of the views in service, of the partitions that are assigned to this process now. */
  lowest(): bigint;
  /** Rejects when the thread has failed. */
  readonly failed: Promise<never>;
  close(): Promise<void>;
}

const CANNOT_BE_WRITTEN = 'the views cannot be written and fall behind; retrying';
const NOTABLE_LAG_MS = 5_000;
const WARN_EVERY_MS = 10_000;

/** Logs that the views are behind by {@link NOTABLE_LAG_MS} or more, at most once in {@link WARN_EVERY_MS}. */
const lagWarning = (logger: Logger): ((lagMs: number) => void) => {
  let quietUntil = 0;
  return (lagMs) => {
    if (lagMs < NOTABLE_LAG_MS || Date.now() < quietUntil) return;
    quietUntil = Date.now() + WARN_EVERY_MS;
    logger.warn({ lagMs }, 'the views are behind the log');
  };
};

/** Logs each view when its build from the log begins, and when it is complete. */
const buildingNotice = (logger: Logger): ((building: readonly string[]) => void) => {
  let before: readonly string[] = [];
  return (building) => {
    const added = building.filter((each) => !before.includes(each));
    const complete = before.filter((each) => !building.includes(each));
    if (added.length > 0)
      logger.info({ views: added }, 'these views are being built from the log; the others are served');
    if (complete.length > 0) logger.info({ views: complete }, 'these views are complete');
    before = building;
  };
};

/** Logs a message of the thread that is not progress. */
const logMessage = (message: Exclude<ViewsThreadMessage, RunProgress>, logger: Logger): void => {
  if ('startOver' in message) logger.warn(`${message.startOver}: they are folded from the log again`);
  else if ('waits' in message) logger.warn({ why: message.waits }, 'the views wait for the log');
  else if ('refused' in message)
    logger.debug('another process has moved a checkpoint of the views: the batch of this process is discarded');
  else if ('unshared' in message)
    logger.warn(
      { why: message.unshared },
      'the leases of the views cannot be used, or a partition cannot be taken over; retrying',
    );
  else if ('partitions' in message)
    logger.info({ partitions: message.partitions }, 'this process keeps these partitions of the views');
  else if (isNotableAttempt(message.times)) logger.error({ why: message.unavailable }, CANNOT_BE_WRITTEN);
};

/** Starts the thread that projects the log to the views, and waits for its first message. */
export const startViews = async (data: ProjectingThreadData, logger: Logger): Promise<RunningViews> => {
  const worker = new Worker(new URL('./views-thread.js', import.meta.url), { workerData: data });
  const views = settableViews((afterMs, run) => {
    const timer = setTimeout(run, afterMs);
    return () => clearTimeout(timer);
  });
  const warnWhenBehind = lagWarning(logger);
  const logBuilding = buildingNotice(logger);
  let lowest = 0n;
  let parked = 0;
  let problem: string | undefined;
  const onMessage = (message: ViewsThreadMessage): void => {
    if (!('position' in message)) {
      if ('unavailable' in message) problem = message.unavailable;
      logMessage(message, logger);
      return;
    }
    if (message.parked > parked) logger.error({ streams: message.parked }, 'the views have parked streams');
    problem = undefined;
    parked = message.parked;
    lowest = message.position;
    views.setPositions(message.position, message.building);
    logBuilding(views.building());
    warnWhenBehind(message.lagMs);
  };
  const failed = new Promise<never>((_, reject) => {
    worker.once('error', (error) =>
      reject(new OperatorError(`the views have failed: ${error.message}`, { cause: error })),
    );
  });
  const exited = once(worker, 'exit'); // here, because a thread that fails while the process stops exits before `close`
  exited.catch(() => undefined); // not unhandled: `failed` reports it
  worker.on('message', onMessage);
  await Promise.race([once(worker, 'message'), failed]);
  return {
    ...views,
    problem: () => problem,
    parked: () => parked,
    lowest: () => lowest,
    failed,
    close: async () => {
      worker.postMessage('close');
      await exited;
    },
  };
};
