import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { QUICK_START } from './quick-start.js';

/** The checkout that the tests are compiled in. */
export const CHECKOUT = fileURLToPath(new URL('../../../..', import.meta.url));

/** The result of a process that has ended, by an exit code or a signal. */
export type Ended = {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | undefined;
  readonly stdout: string;
  readonly stderr: string;
};

/** A running process whose output is collected. */
export type Running = {
  readonly child: ChildProcess;
  readonly stdout: () => string;
  readonly stderr: () => string;
  readonly ended: Promise<Ended>;
  /** Resolves as soon as standard output contains the text; rejects when the process ends without it. */
  readonly said: (text: string | RegExp) => Promise<void>;
};

export type CommandOptions = {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Written to standard input, which is empty otherwise. */
  readonly input?: string;
};

/** Starts any command. */
export const start = (
  command: string,
  args: readonly string[],
  { cwd, env, input = '' }: CommandOptions = {},
): Running => {
  const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: 'pipe' });
  child.stdin.on('error', () => undefined).end(input); // a command that reads nothing may end first
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const ended = (once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>).then(([code, signal]) => ({
    ...{ code, signal: signal ?? undefined, stdout, stderr },
  }));
  const said = (text: string | RegExp): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (typeof text === 'string' ? stdout.includes(text) : text.test(stdout)) resolve();
      };
      child.stdout.on('data', look);
      look();
      void ended.then(({ code }) =>
        reject(new Error(`the command ended with ${code} and did not print ${text}: ${stdout}${stderr}`)),
      );
    });
  return { child, stdout: () => stdout, stderr: () => stderr, ended, said };
};

/** Starts the command line, with the flags of {@link QUICK_START}. */
export const flightlog = (args: readonly string[], options?: CommandOptions): Running =>
  start(process.execPath, [...QUICK_START, `${CHECKOUT}/flightlog.js`, ...args], options);

/** Finds a port on which no process listens. */
export const freePort = async (): Promise<number> => {
  // Below those that the system gives to connections, one of which could take it before it is used.
  const port = 15_000 + Math.floor(Math.random() * 15_000);
  const server = createServer().listen(port, '127.0.0.1');
  const isFree = await once(server, 'listening').then(
    () => true,
    () => false,
  );
  if (!isFree) return freePort();
  server.close();
  await once(server, 'close');
  return port;
};
