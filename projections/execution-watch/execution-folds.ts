import { recordedMetadata } from '../../services/kernel/decode-event.js';
import type { RecordedEvent } from '../../services/kernel/event.js';
import { CorruptEvent, StreamParked } from '../../services/kernel/fault.js';
import type { StreamName } from '../../services/kernel/stream.js';
import { oneByOne } from '../runtime/one-by-one.js';
import type { Collection, StoredDocument } from '../runtime/read-store.js';
import { openExecution, type FoldedExecution, type EventChange, type ExecutionSources } from './folded-execution.js';

/** An execution before and after an event. */
export type ExecutionChange = { readonly before: StoredDocument | undefined; readonly change: EventChange };

/**
 * Computes changes of any executions, for events that come in the order of the log. An execution whose events cannot be
 * read or folded fails each further call, without another read, until `retryBy` or `unparkUnder`, or until it is no
 * longer in memory.
 */
export interface ExecutionFolds {
  /**
   * The change by an event; `undefined` when it leaves the execution as it was. Each event is folded once.
   *
   * @throws {StreamParked} when an event cannot be read or folded, or the stream was deleted in the event store.
   * @throws {StoreUnavailable} when the log cannot be read.
   */
  changeBy(event: RecordedEvent): Promise<ExecutionChange | undefined>;
  /**
   * Takes note of an event that changes no execution, so that the stream is not read again for the next change.
   *
   * @throws {Fault} as `changeBy`.
   */
  pass(event: RecordedEvent): Promise<void>;
  /**
   * Folds a stream up to an event that requests to retry it, as a change by this event: the execution as it is there.
   * `undefined` when the stream has no execution.
   *
   * @throws {Fault} as `changeBy`.
   */
  retryBy(event: RecordedEvent, stream: StreamName): Promise<EventChange | undefined>;
  /** Lets the executions whose streams have names with a prefix be folded again, after the calls so far. */
  unparkUnder(prefix: string): Promise<void>;
}

/** An execution in memory, and why its stream cannot be folded further. */
type Kept = { readonly execution: FoldedExecution; parked?: StreamParked };

/** Number of executions kept in memory; others are folded from their streams again. */
const MAX_KEPT = 10_000;

/** The fault for a stream that was deleted in the event store: what comes after the folded events cannot be read. */
const parkedAfter = (stream: StreamName, execution: FoldedExecution, error: CorruptEvent): StreamParked =>
  new StreamParked(stream, execution.position() + 1n, error);

/** The executions in memory, of which the one that was used last is evicted last. */
const keptExecutions = (sources: ExecutionSources) => {
  const kept = new Map<StreamName, Kept>();
  const keep = (stream: StreamName): Kept => {
    const found = kept.get(stream) ?? { execution: openExecution(stream, sources) };
    kept.delete(stream);
    kept.set(stream, found);
    for (const oldest of kept.keys()) {
      if (kept.size <= MAX_KEPT) break;
      kept.delete(oldest);
    }
    return found;
  };

  return {
    has: (stream: StreamName): boolean => kept.has(stream),
    /** Folds an execution with `work`, unless it is parked. */
    fold: async <Result>(
      stream: StreamName,
      work: (execution: FoldedExecution) => Promise<Result>,
    ): Promise<Result> => {
      const found = keep(stream);
      if (found.parked) throw found.parked;
      try {
        return await work(found.execution);
      } catch (error) {
        const failure = error instanceof CorruptEvent ? parkedAfter(stream, found.execution, error) : error;
        if (failure instanceof StreamParked) found.parked = failure;
        else kept.delete(stream); // it may be folded in part
        throw failure;
      }
    },
    /** Lets an execution be folded again. */
    unpark: (stream: StreamName): void => {
      delete kept.get(stream)?.parked;
    },
    unparkUnder: (prefix: string): void => {
      for (const [stream, found] of kept) if (stream.startsWith(prefix)) delete found.parked;
    },
  };
};

/** Opens folds. `sources` has only the read model of executions, and `executions` is its collection. */
export const executionFolds = (sources: ExecutionSources, executions: Collection): ExecutionFolds => {
  const kept = keptExecutions(sources);
  const changes = new WeakMap<RecordedEvent, Promise<ExecutionChange | undefined>>();
  const retries = new WeakMap<RecordedEvent, Promise<EventChange | undefined>>();
  const inTurn = oneByOne();

  const fold = (event: RecordedEvent): Promise<ExecutionChange | undefined> => {
    const { stream, revision, position } = event;
    return kept.fold(stream, async (execution) => {
      // Events are missing when the execution was not kept, and when no list was open at the time of an event.
      if (execution.revision() < revision - 1n) await execution.load(position - 1n);
      const before = execution.get(executions, stream);
      const [change] = (await execution.fold(event)).slice(-1);
      return change && { before, change };
    });
  };
  const retry = (event: RecordedEvent, stream: StreamName): Promise<EventChange | undefined> => {
    const { position, type } = event;
    const { recordedAtMs } = recordedMetadata(event);
    kept.unpark(stream);
    return kept.fold(stream, async (execution) => {
      await execution.load(position);
      const document = execution.get(executions, stream);
      return document && { position, type, recordedAtMs, documents: [{ collection: executions, document }] };
    });
  };

  return {
    changeBy: (event) => {
      const change = changes.get(event) ?? inTurn(() => fold(event));
      changes.set(event, change);
      return change;
    },
    pass: (event) =>
      inTurn(async () => {
        if (kept.has(event.stream)) await kept.fold(event.stream, (execution) => execution.fold(event));
      }),
    retryBy: (event, stream) => {
      const change = retries.get(event) ?? inTurn(() => retry(event, stream));
      retries.set(event, change);
      return change;
    },
    unparkUnder: (prefix) =>
      inTurn(() => {
        kept.unparkUnder(prefix);
        return Promise.resolve();
      }),
  };
};
