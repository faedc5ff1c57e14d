import { spawnSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { sqliteEventStore } from '../../services/store/log/sqlite-event-store.js';
import type { ProcessMessage } from './event-store-process.js';
import { newDirectory, noTracing, start } from './event-store-processes.js';

/** The reason why faults cannot be injected into system calls here; `undefined` when they can. */
const noInjection = (): string | undefined =>
  noTracing() ??
  (spawnSync('strace', ['-o', '/dev/null', '-e', 'inject=fsync:error=EIO:when=9+', 'true']).status === 0
    ? undefined
    : 'this strace cannot make system calls fail');

/** Opens the log again, and reads the recorded events as `stream/revision`. */
const recordedIn = async (directory: string): Promise<Set<string>> => {
  const store = await sqliteEventStore({ directory });
  const found = new Set<string>();
  for await (const { events } of store.readLog({ after: 0n }))
    for (const { stream, revision } of events) found.add(`${stream}/${revision}`);
  await store.close();
  return found;
};

/**
 * Runs a writer with a fault injected into the system calls on one file of its log, and kills it when an append has
 * failed or all are done. Gives its messages, and the events in the log afterwards.
 */
const killedOnFault = async (
  file: string,
  inject: string,
): Promise<{ said: readonly ProcessMessage[]; recorded: Set<string> }> => {
  const directory = join(newDirectory(), 'data');
  mkdirSync(directory);
  const strace = ['strace', '-f', '-qq', '-o', '/dev/null', '-P', join(directory, file), '-e', `inject=${inject}`];
  // Each event takes 232 pages: the 18th has frames on the second page of the index of the write-ahead log.
  const task = { directory, streams: 1, eventsEach: 20, dataBytes: 945_000, reportsFaults: true };
  const running = start(task, {}, strace);
  await running.until((said) => 'failed' in said || 'commits' in said);
  running.killGroup();
  await running.ended;
  return { said: running.said, recorded: await recordedIn(directory) };
};

/** Expects acknowledged events, each of which is there, and no event that was reported as not recorded. */
const expectTruthfulAnswers = (said: readonly ProcessMessage[], recorded: Set<string>): void => {
  expect(said.some((one) => 'revision' in one)).toBe(true);
  for (const one of said) {
    if ('revision' in one) expect(recorded).toContain(`${one.stream}/${one.revision}`);
    if ('failed' in one && one.code === 'store-unavailable') expect(recorded).not.toContain(`${one.failed}/${one.at}`);
  }
};

/** The codes of the faults of all failed appends. */
const faults = (said: readonly ProcessMessage[]): string[] =>
  said.flatMap((one) => ('failed' in one ? [one.code] : []));

/**
 * Steps of a commit: the file that each touches, the fault for `strace` to inject into the system calls on that file
 * (`when=700+`: into the 700th and all later ones), and the code with which the append fails after a lasting fault.
 */
const STEPS = [
  ['a frame of the write-ahead log is written', 'log.db-wal', 'pwrite64:error=EIO:when=700+', 'outcome-unknown'],
  ['the disk is full', 'log.db-wal', 'pwrite64:error=ENOSPC:when=700+', 'store-unavailable'],
  ['the write-ahead log is synced', 'log.db-wal', 'fsync,fdatasync:error=EIO:when=6+', 'outcome-unknown'],
  ['the index of the write-ahead log grows', 'log.db-shm', 'pwrite64:error=ENOSPC:when=9+', 'outcome-unknown'],
] as const;

const reason = noInjection();

describe.skipIf(reason !== undefined)(`a commit that fails${reason === undefined ? '' : ` (${reason})`}`, () => {
  it.each(STEPS)(
    'at each system call from one on, while %s: after a kill the log agrees with the answer to the append',
    async (_, file, inject, expected) => {
      const { said, recorded } = await killedOnFault(file, inject);
      expectTruthfulAnswers(said, recorded);
      expect(faults(said)).toEqual([expected]);
    },
  );

  it.each(STEPS)(
    'at one system call, while %s: after a kill an acknowledged event is there, and a refused one is not',
    async (_, file, inject, expected) => {
      const { said, recorded } = await killedOnFault(file, inject.replace('+', ''));
      expectTruthfulAnswers(said, recorded);
      expect(faults(said)).toEqual(expected === 'store-unavailable' ? [expected] : []);
    },
  );
});
