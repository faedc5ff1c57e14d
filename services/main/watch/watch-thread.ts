import { parentPort, workerData } from 'node:worker_threads';
import { executionFolds } from '../../../projections/execution-watch/execution-folds.js';
import { MAX_WATCHERS } from '../../../projections/execution-watch/thread-messages.js';
import type { Opened } from '../../../projections/execution-watch/subjects.js';
import { openWatchHub } from '../../../projections/execution-watch/watch-hub.js';
import { filterOf, isList } from '../../../projections/execution-watch/watch-request.js';
import { watchedList } from '../../../projections/execution-watch/watched-list.js';
import { watchedExecution } from '../../../projections/execution-watch/watched-execution.js';
import { executionTest } from '../../../projections/executions/matching.js';
import { executions } from '../../../projections/executions/projection.js';
import { executionStreamPrefix } from '../../../projections/query/execution-identifiers.js';
import type { WatchRequest } from '../../../proto/gen/platformidl/eventlog/watch_pb.js';
import { PARKED_STREAM_CATEGORY } from '../../parked-stream/events.js';
import { EXECUTION_CATEGORY, executionStream } from '../../kernel/execution-id.js';
import { positionWaits, reachPosition } from '../../reference/position-waits.js';
import { retriedBy } from '../../reference/retry-requests.js';
import { openLog } from '../log/log-source.js';
import { codecs } from '../models.js';
import { executionModels } from '../past/as-of.js';
import { openPayloads } from '../payloads.js';
import { encodedAnswer } from './encoded-answer.js';
import type { WatchThreadData } from './watch-thread-opener.js';
import { answerOver } from '../threads/messages.js';

// This thread follows the log for all watches of the process: of one execution, or of a list of executions that a
// filter matches. It folds each event once into the watched executions and lists, and sends the encoded changes to the
// main thread, which has the watchers. It opens the log (`source`) and the payload store (`location`) itself, because
// connections to a store belong to one thread. The main thread begins and ends watches by messages over the port
// `questions`.
const { directory, location, source, questions } = workerData as WatchThreadData;
const log = await openLog(source);
const payloads = await openPayloads({ directory, location });
const from = { log, payloads, codecs };

/** The sources of a watched execution: its own document and those of its nodes and tasks are folded from its stream. */
const executionSources = { ...from, models: executionModels, executions: executions.collection };

/** Opens folds of executions without nodes and tasks, which lists do not show. */
const openFolds = () => executionFolds({ ...from, models: [executions] }, executions.collection);

let position = await log.head();
const filter = { categories: [EXECUTION_CATEGORY, PARKED_STREAM_CATEGORY] };

/**
 * The sources of watched lists. All lists share `folds` for new events; a list that resumes folds earlier events with
 * folds that `openFolds` makes. `follows` has the types of events that change an execution.
 */
const listSources = {
  ...{ log, openFolds, retriedBy, follows: executions.follows },
  ...filter,
  folds: openFolds(),
  position: () => position,
};

/** Opens the execution that a request names, or the list that its filter describes. */
const open = (request: WatchRequest): Opened => {
  if (!isList(request)) return { ...watchedExecution(request, executionSources), stream: executionStream(request) };
  const isMatch = executionTest(filterOf(request));
  return watchedList({ under: executionStreamPrefix(request.project, request.domain), isMatch }, listSources);
};

// Without reads of the log: a subscription to executions brings every position, also those of other categories.
const waits = positionWaits({ hasReached: (requested) => position >= requested, maxWaiting: MAX_WATCHERS });
const reach = (requested: bigint): Promise<void> => reachPosition({ waits, position: () => position }, requested);

const hub = openWatchHub({ open, reach, encode: encodedAnswer, send: (message) => parentPort?.postMessage(message) });
const following = log.subscribe({ after: position, filter }, (page) => {
  // Set before the page is folded: a list that is opened meanwhile starts after this page, which it does not get.
  ({ position } = page);
  waits.advanced();
  return hub.onPage(page);
});
answerOver(questions, (question) => hub.answer(question));
await following.ended;
