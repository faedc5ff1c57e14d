import { join } from 'node:path';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { fromBinary } from '@bufbuild/protobuf';
import { Server, ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js';
import { DatabaseSync } from '@photostructure/sqlite';
import { ReportRequestSchema } from '../../proto/gen/platformidl/eventlog/engine_report_pb.js';

// A baseline: a gRPC server, in a process of its own, that records each message of a stream in SQLite, answers with the
// same bytes after the sync, and keeps a table of the newest message of each node. It checks and decides nothing. Like
// flightlog, it has a thread for calls, one for the log and one for the views.

/** Rows of one transaction of the views. */
const VIEW_BATCH = 1_000;
/** The pause of the views when the log has nothing new, in milliseconds. */
const VIEW_PAUSE_MS = 25;

type Database = InstanceType<typeof DatabaseSync>;

type Paths = { readonly log: string; readonly views: string };
const pathsIn = (directory: string): Paths => ({
  log: join(directory, 'bare-log.db'),
  views: join(directory, 'bare-views.db'),
});

const openDatabase = (path: string, synchronous: 'FULL' | 'NORMAL', table: string): Database => {
  const db = new DatabaseSync(path, { timeout: 5_000 });
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous}; PRAGMA wal_autocheckpoint = 4000`);
  db.exec(`CREATE TABLE IF NOT EXISTS ${table}`);
  return db;
};

const openLog = ({ log }: Paths): Database =>
  openDatabase(log, 'FULL', 'events (position INTEGER PRIMARY KEY, data BLOB NOT NULL)');

/** The thread of the log: records each batch of messages that it is sent in one transaction, then posts `recorded`. */
const recordBatches = (paths: Paths): void => {
  const db = openLog(paths);
  const insert = db.prepare('INSERT INTO events (data) VALUES (?)');
  parentPort?.on('message', (batch: readonly Uint8Array[]) => {
    db.exec('BEGIN IMMEDIATE');
    for (const message of batch) insert.run(message);
    db.exec('COMMIT');
    parentPort?.postMessage('recorded');
  });
  parentPort?.postMessage('ready');
};

const nodeIn = (message: Uint8Array): { key: string; phase: number } => {
  const { event } = fromBinary(ReportRequestSchema, message);
  const { id, phase } = (event.case === 'nodeEvent' ? event.value.event : undefined) ?? {};
  return { key: `${id?.executionId?.name}/${id?.nodeId}`, phase: phase ?? 0 };
};

/** The thread of the views: reads the log, decodes each message and writes it under the name of its node. */
const keepViews = async (paths: Paths): Promise<never> => {
  const log = openLog(paths); // kept in a variable: garbage collection of the database would end its statements
  const read = log.prepare('SELECT position, data FROM events WHERE position > ? LIMIT ?');
  const db = openDatabase(paths.views, 'NORMAL', 'nodes (key TEXT PRIMARY KEY, phase INTEGER, answer BLOB)');
  const write = db.prepare('INSERT OR REPLACE INTO nodes VALUES (?, ?, ?)');
  parentPort?.postMessage('ready');
  for (let checkpoint = 0; ;) {
    const rows = read.all(checkpoint, VIEW_BATCH) as { position: number; data: Uint8Array }[];
    if (rows.length === 0) await setTimeout(VIEW_PAUSE_MS);
    db.exec('BEGIN');
    for (const { data } of rows) {
      const { key, phase } = nodeIn(data);
      write.run(key, phase, data);
    }
    db.exec('COMMIT');
    checkpoint = rows.at(-1)?.position ?? checkpoint;
  }
};

const startThread = (role: 'log' | 'views', directory: string): Promise<Worker> =>
  new Promise((resolve) => {
    const worker = new Worker(fileURLToPath(import.meta.url), { workerData: { role, directory } });
    worker.once('message', () => resolve(worker));
    worker.on('error', (error) => {
      throw error; // ends the process, and so the benchmark
    });
  });

type Stream = ServerDuplexStream<Buffer, Buffer>;

const serve = async (directory: string): Promise<void> => {
  const log = await startThread('log', directory);
  await startThread('views', directory);
  let unrecorded: { readonly stream: Stream; readonly message: Buffer }[] = [];
  let isRecording = false;
  /** Sends all unrecorded messages as one batch to the thread of the log, and those that come meanwhile as the next. */
  const record = async (): Promise<void> => {
    if (isRecording) return;
    isRecording = true;
    await setImmediate();
    while (unrecorded.length > 0) {
      const batch = unrecorded;
      unrecorded = [];
      const recorded = new Promise((resolve) => log.once('message', resolve));
      log.postMessage(batch.map(({ message }) => message));
      await recorded;
      for (const { stream, message } of batch) stream.write(message);
    }
    isRecording = false;
  };
  /** Serializes and deserializes nothing: messages stay bytes. */
  const asIs = (bytes: Buffer): Buffer => bytes;
  const server = new Server({ 'grpc.max_receive_message_length': -1 });
  server.addService(
    {
      record: {
        path: '/bench.Recorder/Record',
        ...{ requestStream: true, responseStream: true, requestSerialize: asIs, requestDeserialize: asIs },
        ...{ responseSerialize: asIs, responseDeserialize: asIs },
      },
    },
    {
      record: (stream: Stream) => {
        stream.on('data', (message: Buffer) => {
          unrecorded.push({ stream, message });
          void record();
        });
        stream.on('end', () => stream.end());
      },
    },
  );
  server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
    if (error !== null) throw error;
    process.send?.({ address: `127.0.0.1:${port}` });
  });
  process.on('disconnect', () => process.exit(0));
};

if (isMainThread) {
  await serve(process.argv[2] ?? '.');
} else {
  const { role, directory } = workerData as { role: 'log' | 'views'; directory: string };
  if (role === 'log') recordBatches(pathsIn(directory));
  else await keepViews(pathsIn(directory));
}
