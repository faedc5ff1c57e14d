import { execFileSync } from 'node:child_process';
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const IN_MEMORY = /^(?:tmpfs|ramfs)$/u;

/** The directory that a benchmark writes to, with its file system and the median time of a sync there. */
export type Disk = { readonly directory: string; readonly fileSystem: string; readonly fsyncMs: number };

/** The median time of 200 syncs of 4 KiB in a directory, in milliseconds. The call blocks until they are done. */
export const medianSyncMs = (directory: string): number => {
  const file = join(directory, 'sync-probe');
  const fd = openSync(file, 'w');
  const block = Buffer.alloc(4_096, 1);
  const took = Array.from({ length: 200 }, () => {
    const start = performance.now();
    writeSync(fd, block);
    fdatasyncSync(fd);
    return performance.now() - start;
  });
  closeSync(fd);
  rmSync(file);
  return took.sort((a, b) => a - b)[100] ?? Number.NaN;
};

/**
 * Creates a new directory to measure in, inside `FLIGHTLOG_BENCH_DIRECTORY` or else the system's temporary directory,
 * and times 200 syncs there. The call blocks until they are done. The caller removes the directory.
 *
 * @throws {Error} when it is on an in-memory file system, where nothing is durable.
 */
export const openDisk = (): Disk => {
  const parent = resolve(process.env['FLIGHTLOG_BENCH_DIRECTORY'] ?? tmpdir());
  const fileSystem = execFileSync('stat', ['-f', '-c', '%T', parent], { encoding: 'utf8' }).trim();
  if (IN_MEMORY.test(fileSystem)) {
    throw new Error(`${parent} is a ${fileSystem}: set FLIGHTLOG_BENCH_DIRECTORY to a directory on a disk`);
  }
  const directory = mkdtempSync(join(parent, 'flightlog-bench-'));
  return { directory, fileSystem, fsyncMs: medianSyncMs(directory) };
};
