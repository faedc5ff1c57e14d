import { WatchResponse_Kind as Kind } from '../../proto/gen/platformidl/eventlog/watch_pb.js';
import { executionNotFound } from '../query/execution-identifiers.js';
import { oneByOne } from '../runtime/one-by-one.js';
import type { Collection } from '../runtime/read-store.js';
import { bareAnswer, changeAnswers, stateAnswers, type WatchAnswer } from './answers.js';
import { openExecution, type FoldedExecution, type EventChange, type ExecutionSources } from './folded-execution.js';
import type { Watched } from './watched.js';
import { type ExecutionId, executionStream, executionText } from '../../services/kernel/execution-id.js';

/** The sources of watched executions, and the collection that has the executions themselves. */
export type WatchedExecutionSources = ExecutionSources & { readonly executions: Collection };

const ENDED: ReadonlySet<unknown> = new Set(['SUCCEEDED', 'FAILED', 'ABORTED', 'TIMED_OUT']);

/** One execution with its nodes and tasks, in memory while it is watched. */
export const watchedExecution = (id: ExecutionId, sources: WatchedExecutionSources): Watched => {
  const stream = executionStream(id);
  const inTurn = oneByOne();
  const execution = openExecution(stream, sources);
  let isLoaded = false;

  const isEnded = (): boolean => ENDED.has(execution.get(sources.executions, stream)?.fields['phase']);
  const load = async (): Promise<void> => {
    if (!isLoaded) await execution.load();
    if (!execution.get(sources.executions, stream)) throw executionNotFound('execution', executionText(id));
    isLoaded = true; // until it is found, each watcher reads the log again: it may have been created meanwhile
  };
  /** The changes between two positions, in a fold of its own, for a watcher that resumes. */
  const replay = async function* (after: bigint, until: bigint): AsyncGenerator<WatchAnswer> {
    const past: FoldedExecution = openExecution(stream, sources);
    await past.load(after);
    for await (const page of past.catchUp())
      for (const change of page) if (change.position <= until) yield* changeAnswers(change);
  };
  const answersOf = (changes: readonly EventChange[], wasEnded: boolean): readonly WatchAnswer[] => {
    const answers = changes.flatMap((change) => [...changeAnswers(change)]);
    if (!wasEnded && isEnded()) answers.push(bareAnswer(Kind.END, execution.position()));
    return answers;
  };

  return {
    begin: (after) =>
      inTurn(async () => {
        await load();
        const position = execution.position();
        const first = after === undefined ? stateAnswers(execution.documents(), position) : replay(after, position);
        return { position, isEnded: isEnded(), first };
      }),
    fold: (event) =>
      inTurn(async () => {
        if (!isLoaded) return []; // no watcher has read the first state yet
        const wasEnded = isEnded();
        return answersOf(await execution.fold(event), wasEnded);
      }),
  };
};
