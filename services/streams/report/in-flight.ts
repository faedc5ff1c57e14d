import type { ItemAnswer } from '../../kernel/item.js';
import type { Call } from '../../kernel/rpc.js';
import type { ReportedEvent } from './messages.js';

/** The most events of one call in flight; one commit of the log takes about as many. */
export const MAX_EVENTS = 512;
/** The most bytes of events of one call in flight; a larger event is in flight alone. */
const MAX_BYTES = 1024 * 1024;

/** The events of one call that are being decided and recorded. */
export interface InFlight {
  /**
   * Dispatches an event as soon as the window has capacity. Resolves when the event is queued for its decision, so that
   * the next event is decided after it. Callers await each call before the next.
   *
   * @param onAnswer is called with the answer; events of one execution are answered in the order of the calls.
   */
  take(event: ReportedEvent, onAnswer: (answer: ItemAnswer) => void): Promise<void>;
  /** Resolves when no event is in flight. */
  settled(): Promise<void>;
}

/** Opens the window for the events of a call. */
export const openInFlight = ({ answerItem }: Call): InFlight => {
  if (!answerItem) throw new Error('a call that carries no items cannot report events');
  /** The last answer of each execution, after which the next one is given. */
  const lastAnswers = new Map<string, Promise<void>>();
  let events = 0;
  let bytes = 0;
  let onLeft = (): void => undefined;

  const left = (): Promise<void> => new Promise((resolve) => (onLeft = resolve));
  const isFull = (size: number): boolean => events >= MAX_EVENTS || (events > 0 && bytes + size > MAX_BYTES);

  const begin = ({ method, request }: ReportedEvent, onAnswer: (answer: ItemAnswer) => void): Promise<void> =>
    new Promise((resolve) => {
      const { target, answer } = answerItem({ method, request, onQueued: resolve });
      const before = lastAnswers.get(target);
      const answered = (before ? before.then(() => answer) : answer).then((given) => {
        if (lastAnswers.get(target) === answered) lastAnswers.delete(target);
        events -= 1;
        bytes -= request.length;
        onAnswer(given);
        onLeft();
      });
      lastAnswers.set(target, answered);
      void answer.then(() => resolve()); // it may have failed before it was queued
    });

  return {
    take: async (event, onAnswer) => {
      while (isFull(event.request.length)) await left();
      events += 1;
      bytes += event.request.length;
      await begin(event, onAnswer);
    },
    settled: async () => {
      while (events > 0) await left();
    },
  };
};
