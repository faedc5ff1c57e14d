import { parentPort, workerData } from 'node:worker_threads';
import { type RebuildProgress, shareBuilder } from '../../../projections/runtime/runs/rebuild-share.js';
import type { Partition } from '../../../projections/runtime/partitions.js';
import { sqliteViewsInRebuild } from '../../../projections/store/sqlite/fresh-views.js';
import { type CrossingFault, crossingOf } from '../../kernel/crossing-faults.js';
import { Fault } from '../../kernel/fault.js';
import { sqliteLogReader } from '../../store/log/sqlite-log-reader.js';
import { codecs, models } from '../models.js';
import { openPayloads, type PayloadSource } from '../payloads.js';

/** The worker data of a thread that rebuilds some partitions of the views from the log in the data directory. */
export type RebuildThreadData = PayloadSource & {
  readonly partitions: readonly Partition[];
  readonly verifiedStreams: number;
};

/** The steps of a rebuild, in order. */
export type RebuildStep = 'build' | 'verify';

/** A message of the thread about a step: its progress, its result, or its failure. */
export type RebuildThreadMessage =
  | { readonly progress: RebuildProgress }
  | { readonly done: number }
  | CrossingFault
  | { readonly failure: string; readonly cause?: string };

const { directory, location, partitions, verifiedStreams } = workerData as RebuildThreadData;
const post = (message: RebuildThreadMessage): void => parentPort?.postMessage(message);

const failureOf = (error: unknown): RebuildThreadMessage => {
  if (error instanceof Fault) return crossingOf(error);
  if (!(error instanceof Error) || error.name !== 'Error') throw error;
  return { failure: error.message, ...(error.cause instanceof Error && { cause: error.cause.message }) };
};

const log = await sqliteLogReader({ directory });
const payloads = await openPayloads({ directory, location });
const store = sqliteViewsInRebuild({ directory });
await store.prepare(models.map(({ collection }) => collection));
const builder = shareBuilder({ log, payloads, models, codecs, store, partitions, verifiedStreams });

const take = async (step: RebuildStep): Promise<void> => {
  try {
    post({ done: await builder[step]((progress) => post({ progress })) });
  } catch (error) {
    post(failureOf(error));
  }
};

parentPort?.on('message', (step: RebuildStep) => void take(step));
