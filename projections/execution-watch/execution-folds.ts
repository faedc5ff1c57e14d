import type { RecordedEvent } from '../../services/kernel/event.js';
import type { StreamName } from '../../services/kernel/stream.js';
import type { Collection, StoredDocument } from '../runtime/read-store.js';
import { openRun, type Run, type RunChange, type RunSources } from './run.js';
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
  /** Notes an event that changes no execution, so that the stream need not be read for the next that does. */
  pass(event: RecordedEvent): Promise<void>;
}

/** The executions that are kept for their next event; others are folded from their streams again. */
const MAX_KEPT = 10_000;

/** `sources` has the read model of executions alone, whose collection is `executions`. */
export const executionFolds = (sources: RunSources, executions: Collection): ExecutionFolds => {
  const runs = new Map<StreamName, Run>();
  const known = new WeakMap<RecordedEvent, Promise<ExecutionChange | undefined>>();
  const inTurn = oneByOne();

  const runBefore = async ({ stream, revision, position }: RecordedEvent): Promise<Run> => {
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
