import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { ProcessMessage, Work } from './event-store-process.js';

const PROGRAM = fileURLToPath(new URL('./event-store-process.js', import.meta.url));

/** A running process, with its messages and its end. */
export type Running = {
  readonly pid: number;
  readonly said: ProcessMessage[];
  /**
   * Resolves with the first message that fits, or with the n-th message; rejects when the process ends before that.
   */
  until(fits: ((said: ProcessMessage) => boolean) | number): Promise<ProcessMessage>;
  readonly ended: Promise<{ readonly signal: NodeJS.Signals | null }>;
  kill(): void;
  /** Kills the process together with the command that wraps it. */
  killGroup(): void;
  /** Ends the standard input of the process; one that keeps its lock (`keepsLock`) then releases it and ends. */
  endInput(): void;
};

/** Starts a writing process, by the command `wrapper` where one is given, such as `strace …`. */
export const start = (work: Work, environment: NodeJS.ProcessEnv = {}, wrapper: readonly string[] = []): Running => {
  const [command, ...args] = wrapper.concat(process.execPath);
  const child = spawn(command ?? '', [...args, PROGRAM, JSON.stringify(work)], {
    env: { ...process.env, ...environment },
    stdio: ['pipe', 'pipe', 'inherit'],
    detached: wrapper.length > 0, // a process group of its own
  });
  const said: ProcessMessage[] = [];
  const checks = new Set<() => void>();
  const check = (): void => checks.forEach((checkOne) => checkOne());
  createInterface(child.stdout).on('line', (line) => {
    said.push(JSON.parse(line) as ProcessMessage);
    check();
  });
  const ended = new Promise<{ signal: NodeJS.Signals | null }>((resolve) =>
    child.once('close', (_, signal) => resolve({ signal })),
  );
  return {
    pid: child.pid ?? 0,
    said,
    ended,
    until: (fits) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const found = typeof fits === 'number' ? said[fits - 1] : said.find(fits);
          if (found) resolve(found);
        };
        checks.add(look);
        look();
        void ended.then(() => reject(new Error(`ended, having said ${JSON.stringify(said.slice(-3))}`)));
      }),
    kill: () => void child.kill('SIGKILL'),
    killGroup: () => child.pid !== undefined && void process.kill(-child.pid, 'SIGKILL'),
    endInput: () => void child.stdin.end(),
  };
};

/** The path of a new, empty directory. */
export const newDirectory = (): string => mkdtempSync(join(tmpdir(), 'flightlog-data-'));

/** The reason why system calls cannot be counted here; `undefined` when they can. */
export const noTracing = (): string | undefined => {
  const { status } = spawnSync('strace', ['-f', '-o', '/dev/null', process.execPath, '--version']);
  return status === 0 ? undefined : 'strace is not there or may not trace';
};

/** Runs the work under strace; returns the number of syncs of the write-ahead log, and the messages. */
export const tracedSyncs = async (work: Work): Promise<{ syncs: number; said: readonly ProcessMessage[] }> => {
  const trace = join(newDirectory(), 'trace');
  const running = start(work, {}, ['strace', '-f', '-qq', '-y', '-e', 'trace=fsync,fdatasync', '-o', trace]);
  await running.ended;
  const syncs = readFileSync(trace, 'utf8').match(/f(data)?sync\(\d+<[^>]*log\.db-wal>/gu)?.length ?? 0;
  return { syncs, said: running.said };
};
