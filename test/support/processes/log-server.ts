import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { QUICK_START } from './quick-start.js';

const BINARY = fileURLToPath(new URL('../../../../flightlog.js', import.meta.url));

/** `flightlog serve --role log`, as its users start it. */
export type LogServer = {
  /** `host:port`; the same after a restart. */
  readonly address: string;
  /** A URL, for health checks. */
  readonly http: () => string;
  /** The roles in its ready line. */
  readonly roles: readonly string[];
  /** Kills the process, and starts it again on the same data and port. */
  readonly restart: () => Promise<void>;
  readonly kill: () => Promise<void>;
  readonly start: () => Promise<void>;
  readonly stop: () => Promise<void>;
  readonly child: () => ChildProcess;
};

/** Starts the process on a port of the EventStoreDB protocol, and waits until it is ready. */
const startProcess = async (
  data: string,
  port: string,
  more: readonly string[],
): Promise<{ child: ChildProcess; address: string; http: string; roles: readonly string[] }> => {
  const args = [
    'serve',
    '--insecure',
    '--role',
    'log',
    '--data',
    data,
    '--eventstore-port',
    port,
    '--http-port',
    '0',
    '--log-level',
    'warn',
    ...more,
  ];
  const child = spawn(process.execPath, [...QUICK_START, BINARY, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text));
  const line = await Promise.race([
    once(createInterface({ input: child.stdout }), 'line') as Promise<[string]>,
    once(child, 'exit').then(() => Promise.reject(new Error(`the log server ended before it was ready: ${log}`))),
  ]);
  const ready = JSON.parse(line[0]) as { eventstore: string; http: string; roles: readonly string[] };
  return { child, address: ready.eventstore, http: ready.http, roles: ready.roles };
};

/** Starts a log server on a data directory, and waits until it is ready. */
export const startLogServer = async (data: string, args: readonly string[] = []): Promise<LogServer> => {
  const first = await startProcess(data, '0', args);
  const { address } = first;
  let { child, http } = first;
  const start = async (): Promise<void> => {
    ({ child, http } = await startProcess(data, address.split(':').at(-1) ?? '', args));
  };
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  };
  return {
    address,
    roles: first.roles,
    http: () => http,
    start,
    kill: () => end('SIGKILL'),
    restart: async () => {
      await end('SIGKILL');
      await start();
    },
    stop: () => end('SIGTERM'),
    child: () => child,
  };
};
