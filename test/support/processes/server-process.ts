import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { createInterface } from 'node:readline';
import { readStoreFlags } from '../servers/mongo-server.js';
import { QUICK_START } from './quick-start.js';
import { eventStoreFlags } from './test-log.js';

const BINARY = fileURLToPath(new URL('../../../../flightlog.js', import.meta.url));

/** The one line that `serve` prints when it is ready. */
export type Ready = {
  readonly ready: true;
  readonly roles: readonly string[];
  /** `host:port` */
  readonly grpc: string;
  /** A URL. */
  readonly http: string;
  /** `host:port` of the EventStoreDB protocol, when its port is open. */
  readonly eventstore?: string;
  readonly data: string;
  readonly logId: string;
  /** The id of the log that this one is a copy of, until it takes over. */
  readonly copyOf?: string;
  /** The number of executions in the views at the start. */
  readonly executions: number;
};

/** A running `flightlog serve`. */
export type ServerProcess = {
  readonly ready: Ready;
  readonly child: ChildProcess;
  /** The text that the process has written to standard error so far. */
  readonly log: () => string;
  /** Sends SIGTERM, and resolves with the exit code of the process. */
  readonly stop: () => Promise<number | null>;
  readonly kill: () => Promise<void>;
};

/** The data directory of a server, and further flags and environment variables of its process. */
export type ServerOptions = {
  readonly data: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly nodeArgs?: readonly string[];
  /** The command line of another release. */
  readonly binary?: string;
};

/** True when the caller wants the port of the EventStoreDB protocol: it sets up that port, or starts a log server. */
const servesEventStore = (args: readonly string[], env: Readonly<Record<string, string>>): boolean =>
  args.some((each) => each.startsWith('--eventstore-') || each === 'log') || 'FLIGHTLOG_EVENTSTORE_MODE' in env;

/**
 * Starts `flightlog serve` as its users do, by default on free ports, and waits until it is ready. The port of the
 * EventStoreDB protocol is open only for tests that ask for it, because its thread is an eighth of the work of a start.
 */
export const startServerProcess = async ({
  data,
  args = [],
  env = {},
  nodeArgs = [],
  binary = BINARY,
}: ServerOptions): Promise<ServerProcess> => {
  const eventStore = servesEventStore(args, env) ? ['--eventstore-port', '0'] : ['--eventstore-mode', 'off'];
  const ports = ['--grpc-port', '0', '--http-port', '0', ...eventStore, '--log-level', 'warn'].filter((_, at, all) => {
    // Flags and their values alternate: drops a flag that the caller sets, with its value.
    const flag = all[at - (at % 2)] ?? '';
    return !args.includes(flag);
  });
  const isSecure = ['FLIGHTLOG_AUTH_ISSUERS', 'FLIGHTLOG_AUTH_SERVER_ENABLED', 'FLIGHTLOG_AUTH_CERTIFICATES'].some(
    (name) => name in env,
  );
  const security = isSecure ? [] : ['--insecure'];
  const stores = [...readStoreFlags(data, args), ...(await eventStoreFlags(data, args))];
  const child = spawn(
    process.execPath,
    [...QUICK_START, ...nodeArgs, binary, 'serve', ...security, '--data', data, ...stores, ...ports, ...args],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...env },
    },
  );
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text));
  const exited = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  const firstLine = new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).once('line', resolve);
    void exited.then(([code, signal]) =>
      reject(new Error(`the server ended with ${code ?? signal} before it was ready: ${log}`)),
    );
  });
  const ready = JSON.parse(await firstLine) as Ready;
  return {
    ready,
    child,
    log: () => log,
    stop: async () => {
      child.kill('SIGTERM');
      return (await exited)[0];
    },
    kill: async () => {
      child.kill('SIGKILL');
      await exited;
    },
  };
};
