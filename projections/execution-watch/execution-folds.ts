import type { RecordedEvent } from '../../services/kernel/event.js';
import type { StreamName } from '../../services/kernel/stream.js';
import type { Collection, StoredDocument } from '../runtime/read-store.js';
import { openRun, type WatchedExecution, type RunChange, type RunSources } from './run.js';
import { oneByOne } from './watched.js';

/** An execution before and after an event. */
export type ExecutionChange = { readonly before: StoredDocument | undefined; readonly change: RunChange };

/** Computes changes of any executions, for events that come in the order of the log. */
export interface ExecutionFolds {
  /**
   * The change by an event; `undefined` when it leaves the execution as it was. Each event is folded once.
   *
   * @throws {StoreUnavailable} when the log cannot be read or folded.
   */
  changeBy(event: RecordedEvent): Promise<ExecutionChange | undefined>;
  /** Takes note of an event that changes no execution, so that the stream is not read again for the next change. */
  pass(event: RecordedEvent): Promise<void>;
}

/** The most executions kept in memory; others are folded from their streams again. */
const MAX_KEPT = 10_000;

/** Opens folds. `sources` has only the read model of executions, and `executions` is its collection. */
export const executionFolds = (sources: RunSources, executions: Collection): ExecutionFolds => {
  const runs = new Map<StreamName, WatchedExecution>();
  const known = new WeakMap<RecordedEvent, Promise<ExecutionChange | undefined>>();
  const inTurn = oneByOne();

  const runBefore = async ({ stream, revision, position }: RecordedEvent): Promise<WatchedExecution> => {
    const run = runs.get(stream) ?? openRun(stream, sources);
    if (!runs.has(stream) && revision > 0n) await run.load(position - 1n);
    runs.delete(stream);
    runs.set(stream, run);
    for (const oldest of runs.keys()) {
      if (runs.size <= MAX_KEPT) break;
      runs.delete(oldest);
    }
    return run;
  };
  const fold = async (event: RecordedEvent): Promise<ExecutionChange | undefined> => {
    const run = await runBefore(event);
    const before = run.get(executions, event.stream);
    const [change] = (await run.take(event)).slice(-1);
    return change && { before, change };
  };

  return {
    changeBy: (event) => {
      const change = known.get(event) ?? inTurn(() => fold(event));
      known.set(event, change);
      return change;
    },
    pass: (event) =>
      inTurn(async () => {
        await runs.get(event.stream)?.take(event);
      }),
  };
};
