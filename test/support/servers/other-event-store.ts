import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { freePort } from '../processes/command.js';
import { until } from '../until.js';

/** A server of the EventStoreDB protocol that a command has started. */
export type OtherEventStore = {
  /** `host:port`. */
  readonly address: string;
  readonly kill: () => Promise<void>;
};

/**
 * The command that starts an event store for tests: a shell command in which `{data}` is replaced by a directory,
 * `{port}` by the port for clients, and `{otherPort}` by a free port.
 */
export const eventStoreCommand = process.env['FLIGHTLOG_TEST_EVENTSTORE_COMMAND'];

const LIMIT_MS = 60_000;

const takesConnections = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const answer = (isTaken: boolean) => (): void => {
      socket.destroy();
      resolve(isTaken);
    };
    socket.once('connect', answer(true)).once('error', answer(false));
  });

const isOver = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode !== null || signalCode !== null;

/**
 * Starts an event store on a directory, and waits until it accepts connections.
 *
 * @throws {Error} with its standard error, when it ends before that.
 */
export const startOtherEventStore = async (command: string, data: string): Promise<OtherEventStore> => {
  const port = await freePort();
  const replacements: Readonly<Record<string, string | number>> = { data, port, otherPort: await freePort() };
  const line = command.replace(/\{(data|port|otherPort)\}/gu, (_, name: string) => String(replacements[name]));
  const child = spawn('/bin/sh', ['-c', `exec ${line}`], { stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (log += text));
  const isThere = async (): Promise<boolean> => {
    if (isOver(child)) throw new Error(`the event store ended before it took connections: ${log}`);
    return takesConnections(port);
  };
  await until(isThere, Boolean, LIMIT_MS);
  return {
    address: `127.0.0.1:${port}`,
    kill: async () => {
      if (isOver(child)) return;
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    },
  };
};
