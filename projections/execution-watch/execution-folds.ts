import type { RecordedEvent } from '../../services/kernel/event.js';
import type { StreamName } from '../../services/kernel/stream.js';
import type { Collection, StoredDocument } from '../runtime/read-store.js';
import { openExecution, type FoldedExecution, type EventChange, type ExecutionSources } from './folded-execution.js';
import { oneByOne } from './watched.js';

/** An execution before and after an event. */
export type ExecutionChange = { readonly before: StoredDocument | undefined; readonly change: EventChange };

/** Computes changes of any executions, for events that come in the order of the log. */
export interface ExecutionFolds {
  /**
   * The change by an event; `undefined` when it leaves the execution as it was. Each event is folded once.
   *
   * @throws {StreamParked} when an event cannot be read or folded.
   * @throws {StoreUnavailable} when the log cannot be read.
   */
  changeBy(event: RecordedEvent): Promise<ExecutionChange | undefined>;
  /** Takes note of an event that changes no execution, so that the stream is not read again for the next change. */
  pass(event: RecordedEvent): Promise<void>;
}

/** Number of executions kept in memory; others are folded from their streams again. */
const MAX_KEPT = 10_000;

/** Opens folds. `sources` has only the read model of executions, and `executions` is its collection. */
export const executionFolds = (sources: ExecutionSources, executions: Collection): ExecutionFolds => {
  const kept = new Map<StreamName, FoldedExecution>();
  const known = new WeakMap<RecordedEvent, Promise<ExecutionChange | undefined>>();
  const inTurn = oneByOne();

  const executionBefore = async ({ stream, revision, position }: RecordedEvent): Promise<FoldedExecution> => {
    const execution = kept.get(stream) ?? openExecution(stream, sources);
    if (!kept.has(stream) && revision > 0n) await execution.load(position - 1n);
    kept.delete(stream);
    kept.set(stream, execution);
    for (const oldest of kept.keys()) {
      if (kept.size <= MAX_KEPT) break;
      kept.delete(oldest);
    }
    return execution;
  };
  const fold = async (event: RecordedEvent): Promise<ExecutionChange | undefined> => {
    const execution = await executionBefore(event);
    const before = execution.get(executions, event.stream);
    const [change] = (await execution.take(event)).slice(-1);
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
        await kept.get(event.stream)?.take(event);
      }),
  };
};
