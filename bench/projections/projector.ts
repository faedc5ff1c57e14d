import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { sharesOf } from '../../projections/runtime/runs/rebuild-share.js';
import { type ReadStoreLocation, readStoreLocation } from '../../projections/store/mongo/location.js';
import { models } from '../../services/main/models.js';
import { openViews } from '../../services/main/views/read-stores.js';
import { sqliteLogReader } from '../../services/store/log/sqlite-log-reader.js';
import type { Bench, BenchOptions, Figure } from '../bench.js';
import { freshness } from './freshness.js';
import type { ProjectorWorkerData } from './projector-worker.js';
import { readAndDecode } from './read-and-decode.js';
import { recordedLog } from '../load/recorded-log.js';

const EXECUTIONS = 100;

/** Target ratio of two workers to one: above it, a second worker is worth having. */
const TARGET = 1.3;
/**
 * Shortest log, in events, that is compared with the target: in a shorter one, each thread's compilation of its code
 * dominates.
 */
const MIN_COMPARED = 100_000;

/** Waits until the worker posts the word. */
const received = async (worker: Worker, word: string): Promise<void> => {
  for (;;) {
    const [message] = (await once(worker, 'message')) as [string];
    if (message === word) return;
  }
};

/** Creates empty views with their tables and indexes. */
const makeViews = async (directory: string, views: ReadStoreLocation): Promise<void> => {
  for (const suffix of ['', '-wal', '-shm']) rmSync(join(directory, `views.db${suffix}`), { force: true });
  const log = await sqliteLogReader({ directory });
  const store = await openViews({ directory, views }, { logId: log.logId, onUnknown: () => undefined });
  await store.prepare(models.map(({ collection }) => collection));
  await store.clear();
  await store.close();
  await log.close();
};

/** Events per second, and processor time per event over all processors, in microseconds. */
type Rate = { readonly perSecond: number; readonly processorUs: number };

/** Measures the rate at which workers project the log from its beginning to its head. */
const project = async (directory: string, views: ReadStoreLocation, workers: number, head: number): Promise<Rate> => {
  await makeViews(directory, views);
  const threads = sharesOf(workers).map((partitions) => {
    const workerData: ProjectorWorkerData = { directory, views, partitions };
    return new Worker(new URL('./projector-worker.js', import.meta.url), { workerData });
  });
  await Promise.all(threads.map((thread) => received(thread, 'ready')));
  const started = performance.now();
  const used = process.cpuUsage();
  const done = threads.map((thread) => received(thread, 'done'));
  for (const thread of threads) thread.postMessage('start');
  await Promise.all(done);
  const seconds = (performance.now() - started) / 1_000;
  const { user, system } = process.cpuUsage(used);
  await Promise.all(threads.map((thread) => thread.terminate()));
  return { perSecond: head / seconds, processorUs: (user + system) / head };
};

const compared = async (name: string, directory: string, views: ReadStoreLocation): Promise<readonly Figure[]> => {
  const log = await sqliteLogReader({ directory });
  const head = Number(await log.head());
  await log.close();
  const readOnly = await readAndDecode(directory);
  const one = await project(directory, views, 1, head);
  const two = await project(directory, views, 2, head);
  return [
    {
      name: `${name}, 1 worker`,
      baseline: { what: 'read + decode', perSecond: readOnly },
      perSecond: one.perSecond,
      notes: { processorUs: one.processorUs },
      target: 0,
    },
    {
      name: `${name}, 2 workers`,
      baseline: { what: '1 worker', perSecond: one.perSecond },
      perSecond: two.perSecond,
      notes: { readOnly, processorUs: two.processorUs },
      target: head < MIN_COMPARED ? 0 : TARGET,
    },
  ];
};

const onMongo = async (directory: string): Promise<readonly Figure[]> => {
  const url = process.env['FLIGHTLOG_TEST_MONGO_URL'];
  const skipped = url === undefined ? 'FLIGHTLOG_TEST_MONGO_URL names no server' : 'the server is a stand-in';
  // `secantus` is the replica set of a server that imitates MongoDB: its speed says nothing about MongoDB.
  if (url === undefined || url.includes('replicaSet=secantus')) {
    process.stdout.write(`projector on MongoDB: skipped, ${skipped}\n`);
    return [];
  }
  const withDatabase = url.replace(/\/(?=\?|$)/u, '/flightlog_bench'); // the name goes after the last slash
  const location = readStoreLocation(withDatabase);
  if (typeof location === 'string') throw new Error(`FLIGHTLOG_TEST_MONGO_URL ${location}`);
  return compared('projector on MongoDB', directory, location);
};

const measure = async ({ disk, count }: BenchOptions): Promise<readonly Figure[]> => {
  const directory = await recordedLog(disk, 'projector', EXECUTIONS, count * 3);
  return [
    ...(await compared('projector', directory, { kind: 'sqlite' })),
    ...(await onMongo(directory)),
    await freshness(disk, count),
  ];
};

/**
 * Workers that divide the partitions of the views, and the time until a server's own views show an acknowledged write.
 */
export const projector: Bench = { name: 'projector', target: 0, run: measure };
