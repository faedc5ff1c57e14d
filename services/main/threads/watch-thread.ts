import { parentPort, workerData } from 'node:worker_threads';
import { executionFolds } from '../../../projections/execution-watch/execution-folds.js';
import { watchedList } from '../../../projections/execution-watch/watched-list.js';
import { watchedRun } from '../../../projections/execution-watch/watched-run.js';
import { executionTest } from '../../../projections/executions/matching.js';
import { executions } from '../../../projections/executions/projection.js';
import { executionStream, executionStreams } from '../../../projections/query/run-identifiers.js';
import type { WatchRequest } from '../../../proto/gen/platformidl/eventlog/watch_pb.js';
import { EXECUTION_CATEGORY } from '../../execution/events.js';
import { openLog } from '../log-source.js';
import { codecs } from '../models.js';
import { runModels } from '../past/as-of.js';
import { openPayloads } from '../payloads.js';
import type { WatchThreadData } from '../watch/messages.js';
import { filterOf, isList } from '../watch/subject.js';
import type { Opened } from '../watch/subjects.js';
import { openWatchHub } from '../watch/watch-hub.js';
import { answerOver } from './questions.js';

// Folds and encodes the changes of what is watched, over connections of its own.
const { directory, location, source, questions } = workerData as WatchThreadData;
const log = await openLog(source);
const payloads = await openPayloads({ directory, location });
const from = { log, payloads, codecs };
const runs = { ...from, models: runModels, executions: executions.collection };
const openFolds = () => executionFolds({ ...from, models: [executions] }, executions.collection);

let position = await log.head();
const filter = { categories: [EXECUTION_CATEGORY] };
const lists = {
  ...{ log, openFolds, follows: executions.follows },
  ...filter,
  folds: openFolds(),
  position: () => position,
};

const open = (request: WatchRequest): Opened => {
  if (!isList(request)) return { ...watchedRun(request, runs), stream: executionStream(request) };
  const isMatch = executionTest(filterOf(request));
  return watchedList({ under: executionStreams(request.project, request.domain), isMatch }, lists);
};

const hub = openWatchHub(open, (message) => parentPort?.postMessage(message));
const following = log.subscribe({ after: position, filter }, (page) => {
  ({ position } = page); // a list that is opened from now on begins after this page
  return hub.take(page);
});
answerOver(questions, (question) => hub.answer(question));
await following.ended;
