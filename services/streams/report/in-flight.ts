import type { ItemAnswer } from '../../kernel/item.js';
import type { Call } from '../../kernel/rpc.js';
import type { ReportedEvent } from './messages.js';

/** The most events of one call in flight; one commit of the log takes about as many. */
export const MAX_EVENTS = 512;
/** The most bytes of events of one call in flight; a larger event is in flight alone. */
const MAX_BYTES = 1024 * 1024;

type OnAnswer = (answer: ItemAnswer) => void;

/** The events of one call that are being decided and recorded. */
export interface EventsInFlight {
  /**
   * Dispatches an event as soon as the window has capacity. Resolves when the event is queued for its decision, so that
   * the next event is decided after it, or is answered before that; `undefined` when it is queued already, as nearly
   * always. Callers await each call before the next.
   *
   * @param onAnswer is called with the answer; events of one execution are answered in the order of the calls.
   */
  dispatch(event: ReportedEvent, onAnswer: OnAnswer): Promise<void> | undefined;
  /** Resolves when no event is in flight. */
  settled(): Promise<void>;
}

/** Opens the window for the events of a call. */
export const openInFlight = ({ answerItem }: Call): EventsInFlight => {
  if (!answerItem) throw new Error('a call that carries no items cannot report events');
  /** The last answer of each execution, after which the next one is given. */
  const lastAnswers = new Map<string, Promise<void>>();
  let events = 0;
  let bytes = 0;
  let onAnswered = (): void => undefined;

  const nextAnswer = (): Promise<void> => new Promise((resolve) => (onAnswered = resolve));
  const isFull = (size: number): boolean => events >= MAX_EVENTS || (events > 0 && bytes + size > MAX_BYTES);

  const answerInOrder = (
    { method, request }: ReportedEvent,
    onAnswer: OnAnswer,
    onQueued: () => void,
  ): Promise<void> => {
    const { target, answer } = answerItem({ method, request, onQueued });
    const before = lastAnswers.get(target);
    const answered = (before ? before.then(() => answer) : answer).then((given) => {
      if (lastAnswers.get(target) === answered) lastAnswers.delete(target);
      events -= 1;
      bytes -= request.length;
      onAnswer(given);
      onAnswered();
    });
    lastAnswers.set(target, answered);
    return answered;
  };

  const begin = (event: ReportedEvent, onAnswer: OnAnswer): Promise<void> | undefined => {
    events += 1;
    bytes += event.request.length;
    const queue = { isIn: false, note: (): void => void (queue.isIn = true) };
    const answered = answerInOrder(event, onAnswer, () => queue.note());
    if (queue.isIn) return undefined;
    const queued = new Promise<void>((resolve) => (queue.note = resolve));
    return Promise.race([queued, answered]); // the event may fail before it is queued
  };

  const beginLater = async (event: ReportedEvent, onAnswer: OnAnswer): Promise<void> => {
    while (isFull(event.request.length)) await nextAnswer();
    await begin(event, onAnswer);
  };

  return {
    dispatch: (event, onAnswer) =>
      isFull(event.request.length) ? beginLater(event, onAnswer) : begin(event, onAnswer),
    settled: async () => {
      while (events > 0) await nextAnswer();
    },
  };
};
