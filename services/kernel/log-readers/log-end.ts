import { StoreUnavailable } from '../fault.js';

/**
 * Error text for a log that ends before a position that its reader has already read. The reader waits, because a node
 * that lags behind will reach the position. A log that was truncated will not, and the positions of its lost end would
 * be given to other events; readers can detect that only by a new log identity.
 */
export const logEndText = (head: bigint, reached: bigint): string =>
  `the log ends at position ${head}, before position ${reached} that was read of it: the node that answers lags behind and is waited for; ` +
  'a log that was restored from an older copy needs `flightlog log renew-id`';

/** The store is reached, and its log ends before a position that its reader has already read. */
export class LogEndsEarly extends StoreUnavailable {
  constructor(head: bigint, reached: bigint) {
    super(logEndText(head, reached));
  }
}
