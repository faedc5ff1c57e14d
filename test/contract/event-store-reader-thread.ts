import { parentPort, workerData } from 'node:worker_threads';
import { sqliteLogReader, type LogReaderOptions } from '../../services/store/log/sqlite-log-reader.js';

/** Sends every page of its subscription to its parent. */
const log = await sqliteLogReader(workerData as LogReaderOptions);
log.subscribe({ after: 0n }, ({ events, position }, isLive) =>
  parentPort?.postMessage({ count: events.length, position, isLive, logId: log.logId }),
);
