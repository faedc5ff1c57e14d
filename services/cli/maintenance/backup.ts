import { existsSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve, sep } from 'node:path';
import { DataDirectoryUnusable, DataDirectoryInUse } from '../../kernel/fault.js';
import { backUp } from '../../store/backup/back-up.js';
import { type BackupFiles, directoryFiles, mergedFiles } from '../../store/backup/backup-files.js';
import { type RestoreBucket, restoreBackup } from '../../store/backup/restore.js';
import { assertLogComplete } from '../../store/log/presence.js';
import { isMixedWithBackup, type PayloadLocation, payloadLocation } from '../../store/payloads/payload-location.js';
import type { Configuration } from '../../config/configuration.js';
import { logSource, openOwnLog } from '../../main/log/log-source.js';
import { codecs } from '../../main/models.js';
import { openOwnPayloads, openPayloads } from '../../main/payloads.js';
import { openTarget } from './object-target.js';
import { progressBar, throughLog } from '../progress-bar.js';
import { printSummary, secondsSince } from '../summary.js';
import { OperatorError, forSetting } from '../../config/operator-errors.js';

/** The flags of `backup`. */
export type BackupFlags = {
  readonly to: string;
  /** Categories of streams that other programs write to the log; their events refer to no payloads. */
  readonly foreign?: readonly string[];
};

/** The flags of `restore`. */
export type RestoreFlags = {
  readonly from: string;
  readonly dataDir: string;
  readonly payloadStore: PayloadLocation;
  /** As for `backup`. */
  readonly foreign?: readonly string[];
};

/** Uploads are in the data directory, or beside the payloads in a bucket; after a move, in both. */
const openFiles = async (directory: string, location: PayloadLocation): Promise<BackupFiles> => {
  if (location.kind === 'file') return directoryFiles(directory);
  const { s3Files } = await import('../../store/backup/s3-files.js');
  return mergedFiles(directoryFiles(directory), s3Files(location));
};

const openBucket = async (directory: string, location: PayloadLocation): Promise<RestoreBucket | undefined> => {
  if (location.kind === 'file') return undefined;
  const { s3UploadRestorer } = await import('../../store/backup/s3-files.js');
  const payloads = await forSetting('--payload-store', () => openPayloads({ directory, location }));
  return { payloads, uploads: s3UploadRestorer(location) };
};

const assertEmbedded = (configuration: Configuration): void => {
  const { data, event_store: eventStore } = configuration;
  if (logSource({ directory: resolve(data), eventStore }).kind === 'embedded') return;
  throw new OperatorError(
    'event_store: the log in an event store is backed up by its own means, or copied with `flightlog log copy` into a directory first',
  );
};

/** Resolves symbolic links, also those above a folder that does not exist yet. */
const realPathOf = (path: string): string =>
  existsSync(path) ? realpathSync(path) : join(realPathOf(dirname(path)), basename(path));

/**
 * Refuses the data directory and a folder in it. A backup and a data directory both have folders `payloads` and
 * `files`, whose objects would be mixed.
 */
const assertOutside = (to: string, directory: string): void => {
  if (to.startsWith('s3:') || !`${realPathOf(resolve(to))}${sep}`.startsWith(`${realPathOf(directory)}${sep}`)) return;
  throw new OperatorError(`--to: ${resolve(to)} is in the data directory ${directory}: choose a folder outside of it`);
};

/** Refuses to write or restore a backup in the folders of the payload store's bucket: both have a folder `payloads`. */
const assertApart = (flag: '--to' | '--from', target: string, payloads: PayloadLocation): void => {
  const location = payloadLocation(target);
  if (typeof location === 'string' || !isMixedWithBackup(payloads, location)) return;
  throw new OperatorError(
    `${flag}: ${target} has the bucket and prefix of the payload store, so that payloads and uploads would be mixed ` +
      'with those of the backup: choose others for one of them',
  );
};

/**
 * Backs up the data directory, with payloads and uploads that are in a bucket, into a folder or a bucket; servers may
 * use it meanwhile. Prints a summary as a JSON object.
 *
 * @throws {OperatorError} when the log is not in the data directory, or is an unfinished copy, or the folder or bucket
 * cannot be used, or it is in the data directory or the payload store.
 * @throws {Fault} when an object that the log refers to is missing or damaged, an event cannot be read, or the folder
 * or bucket has a backup of another log.
 */
export const backup = async (configuration: Configuration, { to, foreign = [] }: BackupFlags): Promise<void> => {
  assertEmbedded(configuration);
  const started = performance.now();
  const directory = resolve(configuration.data);
  assertOutside(to, directory);
  assertApart('--to', to, configuration.payload_store);
  const log = await forSetting('data', () => {
    assertLogComplete(directory); // a backup of a part of a log would not be marked as such
    return openOwnLog(configuration);
  });
  const bar = progressBar();
  const payloads = await openOwnPayloads(configuration);
  const files = await openFiles(directory, configuration.payload_store);
  const target = await openTarget('--to', to, 'backup');
  try {
    const onProgress = (position: bigint, head: bigint): void =>
      bar.show(throughLog({ phase: 'copy', position, head }));
    const done = await backUp({ log, payloads, files, target, codecs, foreign: new Set(foreign), onProgress });
    bar.stop();
    printSummary({ ...done, seconds: secondsSince(started) });
  } finally {
    bar.stop();
    for (const part of [target, files, payloads, log]) await part.close();
  }
};

/**
 * @throws {OperatorError} naming the flag for a data directory that is in use or cannot be used; other errors as they
 * are.
 */
const withFlag = (error: unknown): never => {
  if (error instanceof DataDirectoryUnusable || error instanceof DataDirectoryInUse)
    throw new OperatorError(`--data-dir: ${error.message}`, { cause: error });
  throw error;
};

/**
 * Restores a backup into a new data directory, its payloads and uploads into a bucket if one is named, and prints a
 * summary as a JSON object. What an interrupted restore has left in the directory is replaced.
 *
 * @throws {OperatorError} when a bucket cannot be used, the backup is where the payloads go, or the directory cannot be
 * created, has other content or is in use.
 * @throws {Fault} when there is no backup, or it cannot be read, is damaged or incomplete.
 */
export const restore = async ({ from, dataDir, payloadStore, foreign = [] }: RestoreFlags): Promise<void> => {
  const started = performance.now();
  assertApart('--from', from, payloadStore);
  const bar = progressBar();
  const directory = resolve(dataDir);
  const target = await openTarget('--from', from, 'backup');
  const bucket = await openBucket(directory, payloadStore);
  try {
    const onProgress = (done: number, total: number): void =>
      bar.show({ phase: 'restore', done, total, detail: `${done} of ${total} events` });
    const into = { directory, ...(bucket && { bucket }) };
    const restoring = { target, ...into, codecs, foreign: new Set(foreign), onProgress };
    const done = await restoreBackup(restoring).catch(withFlag);
    bar.stop();
    printSummary({ ...done, data: directory, seconds: secondsSince(started) });
  } finally {
    bar.stop();
    bucket?.uploads.close();
    await bucket?.payloads.close();
    await target.close();
  }
};
