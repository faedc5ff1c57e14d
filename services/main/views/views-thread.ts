import { setTimeout } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import type { RunProgress } from '../../../projections/runtime/runs/partition-run.js';
import { leasesName, PARTITIONS } from '../../../projections/runtime/partitions.js';
import { runProjections } from '../../../projections/runtime/runs/runner.js';
import { assignPartitions } from '../../kernel/assignment.js';
import { openCoordination, workerName } from '../coordination.js';
import { systemTimers } from '../system-timers.js';
import { type LogSource, openLog } from '../log/log-source.js';
import { codecs, models } from '../models.js';
import { followRetryRequests } from '../../reference/retry-requests.js';
import { openPayloads, type PayloadSource } from '../payloads.js';
import { openViews, type ReadStoreSource, viewsKey } from './read-stores.js';
import { forSetting } from '../../config/operator-errors.js';
import { errorText } from '../../kernel/error-text.js';

/** The worker data of threads that work with the views. */
export type ViewsThreadData = PayloadSource & ReadStoreSource & { readonly source: LogSource };

/** The worker data of the thread that writes the views; `isShared` when other processes write some partitions. */
export type ProjectingThreadData = ViewsThreadData & { readonly isShared: boolean };

/**
 * A message of the thread: its progress, the partitions assigned to it, why the leases cannot be used or a partition
 * cannot be taken over, why the views start over or wait for the log, that a write was refused, or why the views cannot
 * be written now.
 */
export type ViewsThreadMessage =
  | RunProgress
  | { readonly partitions: readonly string[] }
  | { readonly unshared: string }
  | { readonly startOver: string }
  | { readonly waits: string }
  | { readonly refused: true }
  | { readonly unavailable: string; readonly times: number };

/**
 * The pause after a large batch at the head of the log, and after each batch of views that are being built. A longer
 * pause would save little more, and noticeably delay reads after a write.
 */
const PAUSE_MS = 25;

/** The longest pause between two attempts to write views that cannot be written. */
const MAX_PAUSE_MS = 2_000;

const { directory, location, source, isShared } = workerData as ProjectingThreadData;
const post = (message: ViewsThreadMessage): void => parentPort?.postMessage(message);

const log = await openLog(source);
const payloads = await openPayloads({ directory, location });
const readStore = await forSetting(viewsKey((workerData as ProjectingThreadData).views), () =>
  openViews(workerData as ProjectingThreadData, {
    logId: log.logId,
    onUnknown: ({ message }, times) => post({ unavailable: message, times }),
  }),
);
const projections = await runProjections({
  log,
  readStore,
  models,
  codecs,
  payloads,
  ...(isShared && { partitions: [] }),
  now: Date.now,
  pauseAfterLarge: () => setTimeout(PAUSE_MS),
  pauseAfterBuilding: () => setTimeout(PAUSE_MS),
  onProgress: post,
  onStartOver: (startOver) => post({ startOver }),
  onWait: (waits) => post({ waits }),
  onRefused: () => post({ refused: true }),
  onUnavailable: async ({ message }, times) => {
    post({ unavailable: message, times });
    await setTimeout(Math.min(100 * 2 ** times, MAX_PAUSE_MS));
  },
});

const retries = await followRetryRequests(log, (stream) => projections.retryParked(stream));

const coordination = await openCoordination(workerData as ProjectingThreadData, { isAlone: !isShared, leases: true });
// Leases assign partitions to this process as they become free, and take some of them away when another process joins.
const sharing =
  coordination.leases &&
  assignPartitions({
    leases: coordination.leases,
    group: leasesName({ models }, readStore.build),
    partitions: PARTITIONS.map(String),
    worker: workerName(),
    timers: systemTimers,
    onAssigned: async (partitions) => {
      await projections.assign(partitions.map(Number));
      post({ partitions });
    },
    onFailure: (error) => post({ unshared: errorText(error) }),
  });

parentPort?.once('message', () => {
  void (async () => {
    await retries.close();
    await projections.close();
    await sharing?.close();
    await coordination.close();
    await readStore.close();
    await log.close();
    await payloads.close();
    process.exit(0);
  })();
});
await Promise.all([projections.ended, retries.ended]);
