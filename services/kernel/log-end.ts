/**
 * What is said where a log ends before a position that a reader of it has come to. It is waited for: a node that lags
 * behind comes to it. A log that was cut back does not, and positions that were given out of its lost end would come to
 * mean other events; only a new identity says that to its readers.
 */
export const endsBefore = (head: bigint, reached: bigint): string =>
  `the log ends at position ${head}, before position ${reached} that was read of it: the node that answers lags behind and is waited for; ` +
  'a log that was restored from an older copy needs `flightlog log renew-id`';
