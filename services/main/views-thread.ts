import { setTimeout } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { runProjections } from '../../projections/kernel/runner.js';
import { type LogSource, openLog } from './log-source.js';
import { codecs, models } from './models.js';
import { openPayloads, type PayloadSource } from './payloads.js';
import { openViews, type ReadStoreSource } from './read-stores.js';

/** What the thread that keeps the views is started with. */
export type ViewsThreadData = PayloadSource & ReadStoreSource & { readonly source: LogSource };

/** What it says: how far it has come, why the views start over, or why they cannot be written now. */
export type ViewsThreadMessage =
  | { readonly position: bigint; readonly lagMs: number; readonly parked: number }
  | { readonly startOver: string }
  | { readonly unavailable: string; readonly times: number };

/** Longer would save little more, and be felt by who reads what was just written. */
const BREATH_MS = 25;

/** Between two attempts to write views that cannot be written. */
const MAX_PAUSE_MS = 2_000;

const { directory, location, source } = workerData as ViewsThreadData;
const say = (message: ViewsThreadMessage): void => parentPort?.postMessage(message);

const log = await openLog(source);
const payloads = await openPayloads({ directory, location });
const readStore = await openViews(workerData as ViewsThreadData, {
  logId: log.logId,
  onUnknown: ({ message }, times) => say({ unavailable: message, times }),
});
const projections = await runProjections({
  log,
  readStore,
  models,
  codecs,
  payloads,
  now: Date.now,
  breathe: () => setTimeout(BREATH_MS),
  onProgress: say,
  onStartOver: (startOver) => say({ startOver }),
  onUnavailable: async ({ message }, times) => {
    say({ unavailable: message, times });
    await setTimeout(Math.min(100 * 2 ** times, MAX_PAUSE_MS));
  },
});

parentPort?.once('message', () => {
  void (async () => {
    await projections.close();
    await readStore.close();
    await log.close();
    await payloads.close();
    process.exit(0);
  })();
});
await projections.ended;
