import { parentPort, workerData } from 'node:worker_threads';
import { sqliteLogReader, type LogReaderOptions } from '../../services/store/log/sqlite-log-reader.js';

/** Reports every page of its subscription to its parent thread: its number of events and its position. */
const log = await sqliteLogReader(workerData as LogReaderOptions);
log.subscribe({ after: 0n }, ({ events, position }, isLive) =>
  parentPort?.postMessage({ count: events.length, position, isLive, logId: log.logId }),
);
