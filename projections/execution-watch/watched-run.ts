import { WatchResponse_Kind as Kind } from '../../proto/gen/platformidl/eventlog/watch_pb.js';
import { executionNotFound, type ExecutionId, executionStream, executionText } from '../query/run-identifiers.js';
import type { Collection } from '../runtime/read-store.js';
import { bareAnswer, changeAnswers, stateAnswers, type WatchAnswer } from './answers.js';
import { openRun, type WatchedExecution, type RunChange, type RunSources } from './run.js';
import { oneByOne, type Watched } from './watched.js';

/** The sources of watched executions, and the collection that has the executions themselves. */
export type WatchedRunSources = RunSources & { readonly executions: Collection };

const ENDED: ReadonlySet<unknown> = new Set(['SUCCEEDED', 'FAILED', 'ABORTED', 'TIMED_OUT']);

/** One execution with its nodes and tasks, in memory while it is watched. */
export const watchedRun = (id: ExecutionId, sources: WatchedRunSources): Watched => {
  const stream = executionStream(id);
  const inTurn = oneByOne();
  const run = openRun(stream, sources);
  let isLoaded = false;

  const isEnded = (): boolean => ENDED.has(run.get(sources.executions, stream)?.fields['phase']);
  const load = async (): Promise<void> => {
    if (!isLoaded) await run.load();
    isLoaded = true;
    if (!run.get(sources.executions, stream)) throw executionNotFound('execution', executionText(id));
  };
  /** The changes between two positions, in a fold of its own, for a watcher that resumes. */
  const replay = async function* (after: bigint, until: bigint): AsyncGenerator<WatchAnswer> {
    const past: WatchedExecution = openRun(stream, sources);
    await past.load(after);
    for await (const page of past.catchUp())
      for (const change of page) if (change.position <= until) yield* changeAnswers(change);
  };
  const answersOf = (changes: readonly RunChange[], wasEnded: boolean): readonly WatchAnswer[] => {
    const answers = changes.flatMap((change) => [...changeAnswers(change)]);
    if (!wasEnded && isEnded()) answers.push(bareAnswer(Kind.END, run.position()));
    return answers;
  };

  return {
    begin: (after) =>
      inTurn(async () => {
        await load();
        const position = run.position();
        const first = after === undefined ? stateAnswers(run.documents(), position) : replay(after, position);
        return { position, isEnded: isEnded(), first };
      }),
    take: (event) =>
      inTurn(async () => {
        if (!isLoaded) return []; // no watcher has read the first state yet
        const wasEnded = isEnded();
        return answersOf(await run.take(event), wasEnded);
      }),
  };
};
