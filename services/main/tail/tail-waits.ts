import type { EventLog } from '../../kernel/ports/event-store.js';
import { positionWaits, reachPosition } from '../../reference/position-waits.js';
import type { LiveFeed } from '../../streams/tail/live-feed.js';
import type { TailSources } from '../../streams/tail/tail.js';

/**
 * Makes the wait for the position after which a tail continues, shared by the tails of a process. The wait
 * ends when the log has the position, also while the live feed has not.
 *
 * @param maxLagMs the longest wait, in milliseconds; by default a second.
 */
export const tailWaits = (
  log: Pick<EventLog, 'head'>,
  feed: Pick<LiveFeed, 'position'>,
  maxLagMs?: number,
): TailSources['reach'] => {
  let head = 0n;
  const position = (): bigint => (feed.position() > head ? feed.position() : head);
  const readAhead = async (): Promise<void> => {
    head = await log.head();
  };
  const waits = positionWaits({ hasReached: (requested) => position() >= requested, readAhead });
  return (requested) => reachPosition({ waits, position, ...(maxLagMs !== undefined && { maxLagMs }) }, requested);
};
