import type { EventLog, Subscription } from '../kernel/ports/event-store.js';
import type { OpenSessions } from './sessions.js';

/** Live streams that hear of what other processes record. */
export interface KeptWarm extends Subscription {
  /** Everything up to here was heard. */
  position(): bigint;
}

/**
 * Keeps the live streams current from one subscription, from now on: what is not live is folded when it is asked for.
 *
 * @param onHeard called after each page.
 */
export const keepWarm = async (
  log: Pick<EventLog, 'head' | 'subscribe'>,
  sessions: Pick<OpenSessions, 'observe'>,
  onHeard: () => void = () => undefined,
): Promise<KeptWarm> => {
  let position = await log.head();
  const subscription = log.subscribe({ after: position }, (page) => {
    for (const event of page.events) sessions.observe(event);
    ({ position } = page);
    onHeard();
  });
  return { ...subscription, position: () => position };
};
