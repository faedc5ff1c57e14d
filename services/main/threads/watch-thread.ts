import { parentPort, workerData } from 'node:worker_threads';
import { watchedRun } from '../../../projections/execution-watch/watched-run.js';
import { executions } from '../../../projections/executions/projection.js';
import { executionStream } from '../../../projections/query/run-identifiers.js';
import type { WatchRequest } from '../../../proto/gen/platformidl/eventlog/watch_pb.js';
import { EXECUTION_CATEGORY } from '../../execution/events.js';
import { openLog } from '../log-source.js';
import { codecs } from '../models.js';
import { runModels } from '../past/as-of.js';
import { openPayloads } from '../payloads.js';
import type { WatchThreadData } from '../watch/messages.js';
import type { Opened } from '../watch/subjects.js';
import { openWatchHub } from '../watch/watch-hub.js';
import { answerOver } from './questions.js';

// Folds and encodes the changes of what is watched, over connections of its own.
const { directory, location, source, questions } = workerData as WatchThreadData;
const log = await openLog(source);
const payloads = await openPayloads({ directory, location });
const sources = { log, payloads, codecs, models: runModels, executions: executions.collection };

const open = (request: WatchRequest): Opened => ({
  ...watchedRun(request, sources),
  stream: executionStream(request),
});

const hub = openWatchHub(open, (message) => parentPort?.postMessage(message));
const filter = { categories: [EXECUTION_CATEGORY] };
const following = log.subscribe({ after: await log.head(), filter }, (page) => hub.take(page));
answerOver(questions, (question) => hub.answer(question));
await following.ended;
