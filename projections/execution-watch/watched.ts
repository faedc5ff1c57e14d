import type { RecordedEvent } from '../../services/kernel/event.js';
import type { WatchAnswer } from './answers.js';

/** The beginning of a watch: the first answers, and the position of the log up to which they have the changes. */
export type WatchStart = {
  readonly position: bigint;
  /** True when the execution has ended. */
  readonly isEnded: boolean;
  /** The state at the position, or the changes up to it; empty for the state of a list, which the views have. */
  readonly first: AsyncIterable<WatchAnswer, void> | Iterable<WatchAnswer, void>;
};

/**
 * An execution, or a list of executions, that several calls watch: each change is folded and encoded once for all of
 * them. The methods work one after another.
 */
export interface Watched {
  /**
   * Begins with the state, or with the changes after a position.
   *
   * @throws {RpcError} NOT_FOUND when there is nothing to watch.
   * @throws {StreamParked} when an event cannot be read or folded.
   * @throws {CorruptEvent} when the stream of the execution was deleted in the event store.
   * @throws {StoreUnavailable} when the log cannot be read.
   */
  begin(after: bigint | undefined): Promise<WatchStart>;
  /**
   * The answers for an event. Events come in the order of the log.
   *
   * @throws {Fault} as `begin`.
   */
  fold(event: RecordedEvent): Promise<readonly WatchAnswer[]>;
}
