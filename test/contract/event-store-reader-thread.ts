import { parentPort, workerData } from 'node:worker_threads';
import { sqliteLogReader, type LogReaderOptions } from '../../services/store/log/sqlite-log-reader.js';

/** Tells its parent of every page that it is handed. */
const log = await sqliteLogReader(workerData as LogReaderOptions);
log.subscribe({ after: 0n }, ({ events, position }, isLive) =>
  parentPort?.postMessage({ count: events.length, position, isLive, logId: log.logId }),
);
