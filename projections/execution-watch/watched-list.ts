import type { RecordedEvent } from '../../services/kernel/event.js';
import { StreamParked } from '../../services/kernel/fault.js';
import type { EventLog } from '../../services/kernel/ports/event-store.js';
import type { StreamName } from '../../services/kernel/stream.js';
import { oneByOne } from '../runtime/one-by-one.js';
import type { StoredDocument } from '../runtime/read-store.js';
import { changeAnswers, leftAnswer, type WatchAnswer } from './answers.js';
import type { ExecutionFolds } from './execution-folds.js';
import type { EventChange } from './folded-execution.js';
import type { Watched } from './watched.js';

/** The sources of watched lists. */
export type ListSources = {
  readonly log: Pick<EventLog, 'readLog'>;
  /** The folds that all lists share, and a function that makes new ones for past events. */
  readonly folds: ExecutionFolds;
  readonly openFolds: () => ExecutionFolds;
  /** The categories of the streams of executions, and of requests to retry parked streams. */
  readonly categories: readonly string[];
  /** The types of the events that change executions. */
  readonly follows: readonly string[];
  /** The stream that an event requests to retry; `undefined` for other events. */
  readonly retriedBy: (event: RecordedEvent) => StreamName | undefined;
  /** The position up to which events were given to `fold`, or are being given. */
  readonly position: () => bigint;
};

/** The filter of a list: a prefix of the names of streams, and a condition on documents. */
export type ListFilter = {
  readonly under: string;
  readonly isMatch: (document: StoredDocument) => boolean;
};

/** Watches a list of executions, by its changes. Its first state is read from the views. */
export const watchedList = ({ under, isMatch }: ListFilter, sources: ListSources): Watched => {
  const inTurn = oneByOne();
  const types = new Set(sources.follows);
  // Perhaps no list was open here when a stream was retried, or the cause was mended without a retry.
  void sources.folds.unparkUnder(under);

  /** The answers for a change of a stream; `wasListed` says whether watchers may have the execution in their list. */
  const answersFor = (
    change: EventChange | undefined,
    stream: StreamName,
    wasListed: boolean,
  ): readonly WatchAnswer[] => {
    const now = change?.documents[0]?.document;
    if (!change || !now) return [];
    if (isMatch(now)) return [...changeAnswers(change)].map((each) => ({ ...each, stream }));
    return wasListed ? [{ ...leftAnswer(change, now), stream }] : [];
  };
  const answersTo = async (event: RecordedEvent, folds: ExecutionFolds): Promise<readonly WatchAnswer[]> => {
    const retried = sources.retriedBy(event);
    const stream = retried ?? event.stream;
    if (!stream.startsWith(under)) return [];
    // Watchers may have the execution as it was before the event that could not be read, whatever it was then.
    if (retried !== undefined) return answersFor(await folds.retryBy(event, retried), retried, true);
    if (types.has(event.type)) {
      const { before, change } = (await folds.changeBy(event)) ?? {};
      return answersFor(change, stream, before !== undefined && isMatch(before));
    }
    await folds.pass(event);
    return [];
  };
  /**
   * Leaves out the changes of an execution after an event that cannot be read. When the stream is retried, the
   * execution is sent as it is then. Of an event that does not change the execution itself, only the type is checked,
   * while the execution is in memory. So one with damaged data parks the stream in the views, and not in this list.
   */
  const answersUnlessParked = async (event: RecordedEvent, folds: ExecutionFolds): Promise<readonly WatchAnswer[]> => {
    try {
      return await answersTo(event, folds);
    } catch (error) {
      if (error instanceof StreamParked) return [];
      throw error;
    }
  };
  const replay = async function* (after: bigint, until: bigint): AsyncGenerator<WatchAnswer> {
    const folds = sources.openFolds();
    for await (const { events } of sources.log.readLog({ after, filter: { categories: sources.categories } }))
      for (const event of events) if (event.position <= until) yield* await answersUnlessParked(event, folds);
  };

  return {
    begin: (after) =>
      inTurn(() => {
        const position = sources.position();
        const first = after === undefined ? [] : replay(after, position);
        return Promise.resolve({ position, isEnded: false, first });
      }),
    fold: (event) => inTurn(() => answersUnlessParked(event, sources.folds)),
  };
};
