import type { EventLog, Subscription } from '../kernel/ports/event-store.js';
import type { OpenSessions } from './sessions.js';

/** A subscription that gives live streams, those whose folded state is in memory, the events of the log. */
export interface LiveStreamFeed extends Subscription {
  /** The position up to which the events have been delivered to the live streams. */
  position(): bigint;
}

/**
 * Keeps the live streams current by one subscription from the present head of the log on. Streams that are not live are
 * folded when they are used.
 *
 * @param onPage called after each page of events.
 */
export const feedLiveStreams = async (
  log: Pick<EventLog, 'head' | 'subscribe'>,
  sessions: Pick<OpenSessions, 'observe'>,
  onPage: () => void = () => undefined,
): Promise<LiveStreamFeed> => {
  let position = await log.head();
  const subscription = log.subscribe({ after: position }, (page) => {
    for (const event of page.events) sessions.observe(event);
    ({ position } = page);
    onPage();
  });
  return { ...subscription, position: () => position };
};
