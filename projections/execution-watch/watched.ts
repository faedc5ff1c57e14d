import type { RecordedEvent } from '../../services/kernel/event.js';
import type { WatchAnswer } from './answers.js';

/** The beginning of a watch: what the watcher is given first, and the position up to which that goes. */
export type Begun = {
  readonly position: bigint;
  /** True when nothing can change after that. */
  readonly isEnded: boolean;
  /** The state at the position, or the changes up to it. */
  readonly first: AsyncIterable<WatchAnswer, void> | Iterable<WatchAnswer, void>;
};

/** A thing that watchers share: each change is folded and encoded once for all of them. Calls are served one after another. */
export interface Watched {
  /**
   * Begins with the state, or with the changes after a position.
   *
   * @throws {RpcError} NOT_FOUND when there is nothing to watch.
   * @throws {StoreUnavailable} when the log cannot be read or folded.
   */
  begin(after: bigint | undefined): Promise<Begun>;
  /**
   * The answers for an event of the log, which come in their order; none for one that was folded before.
   *
   * @throws {StoreUnavailable} as `begin`.
   */
  take(event: RecordedEvent): Promise<readonly WatchAnswer[]>;
}

/** Makes calls wait for each other. */
export const oneByOne = (): (<Result>(work: () => Promise<Result>) => Promise<Result>) => {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const result = last.then(work);
    last = result.catch(() => undefined); // a failure is the caller's
    return result;
  };
};
