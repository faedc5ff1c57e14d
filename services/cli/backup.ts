import { resolve } from 'node:path';
import { backUp } from '../store/backup/back-up.js';
import { type BackupPlace, folderPlace } from '../store/backup/place.js';
import { restoreBackup } from '../store/backup/restore.js';
import { payloadLocation } from '../store/payloads/payload-location.js';
import type { Configuration } from '../config/configuration.js';
import { logSource, openOwnLog } from '../main/log-source.js';
import { codecs } from '../main/models.js';
import { openPayloads } from '../main/payloads.js';
import { progressBar, throughLog } from './progress-bar.js';
import { CannotGoOn, forSetting } from '../config/operator-errors.js';

/** The flags of `backup` and of `restore`. */
export type BackupFlags = { readonly to: string; readonly foreign?: readonly string[] };
export type RestoreFlags = { readonly from: string; readonly dataDir: string; readonly foreign?: readonly string[] };

const isS3 = (place: string): boolean => place.startsWith('s3:');

/** Opens a folder or a bucket; the client of an object store is loaded only for a bucket. */
const openPlace = async (flag: string, place: string): Promise<BackupPlace> => {
  if (!isS3(place)) return folderPlace(place);
  const location = payloadLocation(place);
  if (typeof location === 'string' || location.kind !== 's3')
    throw new CannotGoOn(`${flag} ${place} ${typeof location === 'string' ? location : 'is no bucket'}`);
  const { s3Place } = await import('../store/backup/s3-place.js');
  return forSetting(flag, () => s3Place(location));
};

const print = (done: object, started: number): void => {
  const seconds = Number(((performance.now() - started) / 1_000).toFixed(3));
  process.stdout.write(`${JSON.stringify({ ...done, seconds })}\n`);
};

const assertEmbedded = (configuration: Configuration): void => {
  const { data, event_store: eventStore } = configuration;
  if (logSource({ directory: resolve(data), eventStore }).kind === 'embedded') return;
  throw new CannotGoOn(
    'event_store: the log in an event store is backed up by its own means, or copied with `flightlog log copy` into a directory first',
  );
};

/**
 * Backs up the data directory into a folder or a bucket; servers may use it meanwhile. Prints a summary as a JSON
 * object.
 *
 * @throws {CannotGoOn} when the log is not in the data directory, or the folder or bucket cannot be used.
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
  const place = await openPlace('--to', to);
  try {
    const onProgress = (position: bigint, head: bigint): void =>
      bar.show(throughLog({ phase: 'copy', position, head }));
    const done = await backUp({ log, payloads, directory, place, codecs, foreign: new Set(foreign), onProgress });
    bar.stop();
    print(done, started);
  } finally {
    bar.stop();
    for (const part of [place, payloads, log]) await part.close();
  }
};

/**
 * Restores a backup into an empty directory, and prints a summary as a JSON object.
 *
 * @throws {CannotGoOn} when the folder or bucket of the backup cannot be used.
 * @throws {Fault} when the directory is not empty, or the backup is damaged or incomplete.
 */
export const restore = async ({ from, dataDir, foreign = [] }: RestoreFlags): Promise<void> => {
  const started = performance.now();
  const bar = progressBar();
  const place = await openPlace('--from', from);
  try {
    const onProgress = (done: number, total: number): void =>
      bar.show({ phase: 'restore', done, total, detail: `${done} of ${total} events` });
    const directory = resolve(dataDir);
    const done = await restoreBackup({ place, directory, codecs, foreign: new Set(foreign), onProgress });
    bar.stop();
    print({ ...done, data: directory }, started);
  } finally {
    bar.stop();
    await place.close();
  }
};
