import { resolve } from 'node:path';
import { backUp } from '../store/backup/back-up.js';
import { type BackupTarget, folderTarget } from '../store/backup/backup-target.js';
import { restoreBackup } from '../store/backup/restore.js';
import { payloadLocation } from '../store/payloads/payload-location.js';
import type { Configuration } from '../config/configuration.js';
import { logSource, openOwnLog } from '../main/log-source.js';
import { codecs } from '../main/models.js';
import { openPayloads } from '../main/payloads.js';
import { progressBar, throughLog } from './progress-bar.js';
import { OperatorError, forSetting } from '../config/operator-errors.js';

/** The flags of `backup` and of `restore`. */
export type BackupFlags = { readonly to: string; readonly foreign?: readonly string[] };
export type RestoreFlags = { readonly from: string; readonly dataDir: string; readonly foreign?: readonly string[] };

const isS3 = (target: string): boolean => target.startsWith('s3:');

/** Opens a folder or a bucket; the client of an object store is loaded only for a bucket. */
const openTarget = async (flag: string, target: string): Promise<BackupTarget> => {
  if (!isS3(target)) return folderTarget(target);
  const location = payloadLocation(target);
  if (typeof location === 'string' || location.kind !== 's3')
    throw new OperatorError(`${flag} ${target} ${typeof location === 'string' ? location : 'is no bucket'}`);
  const { s3Target } = await import('../store/backup/s3-target.js');
  return forSetting(flag, () => s3Target(location));
};

const print = (done: object, started: number): void => {
  const seconds = Number(((performance.now() - started) / 1_000).toFixed(3));
  process.stdout.write(`${JSON.stringify({ ...done, seconds })}\n`);
};

const assertEmbedded = (configuration: Configuration): void => {
  const { data, event_store: eventStore } = configuration;
  if (logSource({ directory: resolve(data), eventStore }).kind === 'embedded') return;
  throw new OperatorError(
    'event_store: the log in an event store is backed up by its own means, or copied with `flightlog log copy` into a directory first',
  );
};

/**
 * Backs up the data directory into a folder or a bucket; servers may use it meanwhile. Prints a summary as a JSON
 * object.
 *
 * @throws {OperatorError} when the log is not in the data directory, or the folder or bucket cannot be used.
 * @throws {Fault} when an object that the log refers to is missing or damaged.
 */
export const backup = async (configuration: Configuration, { to, foreign = [] }: BackupFlags): Promise<void> => {
  assertEmbedded(configuration);
  const started = performance.now();
  const directory = resolve(configuration.data);
  const log = await openOwnLog(configuration);
  const bar = progressBar();
  const payloads = await forSetting('payload_store', () =>
    openPayloads({ directory, location: configuration.payload_store }),
  );
  const target = await openTarget('--to', to);
  try {
    const onProgress = (position: bigint, head: bigint): void =>
      bar.show(throughLog({ phase: 'copy', position, head }));
    const done = await backUp({ log, payloads, directory, target, codecs, foreign: new Set(foreign), onProgress });
    bar.stop();
    print(done, started);
  } finally {
    bar.stop();
    for (const part of [target, payloads, log]) await part.close();
  }
};

/**
 * Restores a backup into an empty directory, and prints a summary as a JSON object.
 *
 * @throws {OperatorError} when the folder or bucket of the backup cannot be used.
 * @throws {Fault} when the directory is not empty, or the backup is damaged or incomplete.
 */
export const restore = async ({ from, dataDir, foreign = [] }: RestoreFlags): Promise<void> => {
  const started = performance.now();
  const bar = progressBar();
  const target = await openTarget('--from', from);
  try {
    const onProgress = (done: number, total: number): void =>
      bar.show({ phase: 'restore', done, total, detail: `${done} of ${total} events` });
    const directory = resolve(dataDir);
    const done = await restoreBackup({ target, directory, codecs, foreign: new Set(foreign), onProgress });
    bar.stop();
    print({ ...done, data: directory }, started);
  } finally {
    bar.stop();
    await target.close();
  }
};
