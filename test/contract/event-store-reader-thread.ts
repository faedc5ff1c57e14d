import { parentPort, workerData } from 'node:worker_threads';
import { sqliteLogReader, type LogReaderOptions } from '../../services/store/log/sqlite-log-reader.js';

/**
 * Reports every page of a subscription to the parent thread: the number of events in the page, its position, whether
 * the subscription is live, and the id of the log.
 */
const log = await sqliteLogReader(workerData as LogReaderOptions);
log.subscribe({ after: 0n }, ({ events, position }, isLive) =>
  parentPort?.postMessage({ count: events.length, position, isLive, logId: log.logId }),
);
