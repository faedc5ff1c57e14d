import type { RecordedEvent } from '../../services/kernel/event.js';
import { StreamParked } from '../../services/kernel/fault.js';
import type { EventLog } from '../../services/kernel/ports/event-store.js';
import type { StoredDocument } from '../runtime/read-store.js';
import { changeAnswers, leftAnswer, type WatchAnswer } from './answers.js';
import type { ExecutionChange, ExecutionFolds } from './execution-folds.js';
import { oneByOne, type Watched } from './watched.js';

/** The sources of watched lists. */
export type ListSources = {
  readonly log: Pick<EventLog, 'readLog'>;
  /** The folds that all lists share, and a function that makes new ones for past events. */
  readonly folds: ExecutionFolds;
  readonly openFolds: () => ExecutionFolds;
  /** The categories of the streams that executions have. */
  readonly categories: readonly string[];
  /** The types of the events that change executions. */
  readonly follows: readonly string[];
  /** The position up to which events were given to `take`. */
  readonly position: () => bigint;
};

/** The filter of a list: a prefix of the names of streams, and a condition on documents. */
export type ListFilter = {
  readonly under: string;
  readonly isMatch: (document: StoredDocument) => boolean;
};

/** Makes the changes of a list of executions. Its first state is read from the views. */
export const watchedList = ({ under, isMatch }: ListFilter, sources: ListSources): Watched => {
  const inTurn = oneByOne();
  const types = new Set(sources.follows);

  const answersFor = (event: RecordedEvent, found: ExecutionChange | undefined): readonly WatchAnswer[] => {
    const now = found?.change.documents[0]?.document;
    if (!found || !now) return [];
    if (isMatch(now)) return [...changeAnswers(found.change)].map((each) => ({ ...each, of: event.stream }));
    return found.before && isMatch(found.before) ? [{ ...leftAnswer(found.change, now), of: event.stream }] : [];
  };
  const answersTo = async (event: RecordedEvent, folds: ExecutionFolds): Promise<readonly WatchAnswer[]> => {
    if (!event.stream.startsWith(under)) return [];
    if (types.has(event.type)) return answersFor(event, await folds.changeBy(event));
    await folds.pass(event);
    return [];
  };
  /** Leaves out the changes of a parked stream, whose execution stays as it was, as in the views. */
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
    take: (event) => inTurn(() => answersUnlessParked(event, sources.folds)),
  };
};
