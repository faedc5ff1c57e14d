import { parentPort, workerData } from 'node:worker_threads';
import type { Partition } from '../../projections/runtime/partitions.js';
import { runProjections } from '../../projections/runtime/runs/runner.js';
import { codecs, models } from '../../services/main/models.js';
import { openViews, type ReadStoreSource } from '../../services/main/views/read-stores.js';
import { filePayloadStore } from '../../services/store/payloads/file-payload-store.js';
import { sqliteLogReader } from '../../services/store/log/sqlite-log-reader.js';

/** Data that a worker is started with. */
export type ProjectorWorkerData = ReadStoreSource & { readonly partitions: readonly Partition[] };

// The thread of a worker that projects partitions of the views: posts `ready` when it is set up, starts at a message,
// and posts `done` when it has reached the head of the log.

const { partitions, ...source } = workerData as ProjectorWorkerData;
const { directory } = source;
const log = await sqliteLogReader({ directory });
const readStore = await openViews(source, { logId: log.logId, onUnknown: () => undefined });
const head = await log.head();

const run = async (): Promise<void> => {
  await runProjections({
    log,
    readStore,
    models,
    codecs,
    payloads: filePayloadStore({ directory }),
    partitions,
    now: Date.now,
    onProgress: ({ position }) => position >= head && parentPort?.postMessage('done'),
    onUnavailable: () => Promise.resolve(),
  });
};

parentPort?.once('message', () => void run());
parentPort?.postMessage('ready');
