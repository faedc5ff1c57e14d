import { workerData } from 'node:worker_threads';
import { unprojectedEvents, type WantedDocuments } from '../../../projections/runtime/unprojected-events.js';
import { openLog } from '../log/log-source.js';
import { codecs, models } from '../models.js';
import { openPayloads } from '../payloads.js';
import { openReadStore } from './read-stores.js';
import { answerAll } from '../threads/thread-caller.js';
import type { ViewsThreadData } from './views-thread.js';

// This thread folds the events that are not yet projected. It opens the log and the stores itself, because connections
// to a store belong to one thread.
const { directory, location, source } = workerData as ViewsThreadData;
const events = unprojectedEvents({
  log: await openLog(source),
  readStore: await openReadStore(workerData as ViewsThreadData, 'alone'),
  payloads: await openPayloads({ directory, location }),
  models,
  codecs,
  now: Date.now,
  limitMs: 10_000,
});

answerAll((wanted: WantedDocuments) => events.fold(wanted));
