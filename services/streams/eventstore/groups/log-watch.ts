import type { RecordedEvent } from '../../../kernel/event.js';
import type { EventLog, Subscription } from '../../../kernel/ports/event-store.js';

/** A live subscription that wakes groups which have read their source to its end. */
export type LogWatch = {
  /**
   * Resolves when the subscription is open, so that no later event is missed.
   *
   * @throws {StoreUnavailable} when the log cannot be read now; the next call tries again.
   */
  readonly begin: () => Promise<void>;
  readonly end: () => Promise<void>;
};

/** The pause before a lost subscription is opened again, in milliseconds. */
const REOPEN_MS = 500;

/**
 * Makes a watch that has not begun.
 *
 * @param onEvents is called with the events that are appended.
 * @param onGap is called when events may have been missed.
 */
export const logWatch = (
  log: EventLog,
  onEvents: (events: readonly RecordedEvent[]) => void,
  onGap: () => void,
): LogWatch => {
  let open: Promise<Subscription> | undefined;
  let reopening: NodeJS.Timeout | undefined;
  let isEnded = false;
  const subscribe = async (): Promise<Subscription> => {
    const subscription = log.subscribe({ after: await log.head() }, ({ events }) => onEvents(events));
    subscription.ended.catch(lost);
    return subscription;
  };
  const lost = (): void => {
    open = undefined;
    clearTimeout(reopening);
    if (!isEnded) reopening = setTimeout(() => void opened().then(onGap, lost), REOPEN_MS).unref();
  };
  const opened = async (): Promise<void> => {
    const opening = (open ??= subscribe());
    try {
      await opening;
    } catch (error) {
      if (open === opening) open = undefined;
      throw error;
    }
  };
  return {
    begin: () => {
      isEnded = false;
      return opened();
    },
    end: async () => {
      isEnded = true;
      clearTimeout(reopening);
      const ending = open;
      open = undefined;
      const subscription = await ending?.catch(() => undefined);
      await subscription?.close();
    },
  };
};
