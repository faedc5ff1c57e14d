import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { RecordedEvent } from '../../services/kernel/event.js';
import { sqliteLogReader } from '../../services/store/log/sqlite-log-reader.js';
import { type LogServer, startLogServer } from './log-server.js';
import { type ServerProcess, startServerProcess } from './server-process.js';

/** A process of a control plane that is many; the same ports after a restart. */
export type Part = {
  readonly name: string;
  readonly server: () => ServerProcess;
  readonly kill: () => Promise<void>;
  readonly stop: () => Promise<number | null>;
  readonly start: () => Promise<void>;
};

/** A control plane as a log server and processes of roles, over one data directory unless the views are elsewhere. */
export type Parts = {
  readonly log: LogServer;
  readonly directory: string;
  /** Where the log itself is. */
  readonly logDirectory: string;
  readonly parts: readonly Part[];
  /** The process of a name, such as `api-1`. */
  readonly part: (name: string) => Part;
  readonly events: () => Promise<readonly RecordedEvent[]>;
  readonly close: () => Promise<void>;
};

export type PartsOptions = {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
};

const portOf = (address: string | undefined): string => (address ?? ':0').split(':').at(-1) ?? '0';

const portFlags = ({ ready }: ServerProcess): readonly string[] => [
  ...['--http-port', portOf(ready.http)],
  ...(ready.roles.includes('api')
    ? ['--grpc-port', portOf(ready.grpc), '--eventstore-port', portOf(ready.eventstore)]
    : []),
];

/** Starts a process of a role, beside others. */
const openPart = (name: string, data: string, { args = [], env }: PartsOptions): Part => {
  let server: ServerProcess | undefined;
  const running = (): ServerProcess => {
    if (!server) throw new Error(`${name} was never started`);
    return server;
  };
  return {
    name,
    server: running,
    start: async () => {
      const ports = server ? portFlags(server) : [];
      server = await startServerProcess({ data, args: [...args, ...ports], ...(env && { env }) });
    },
    kill: async () => {
      if (server?.child.exitCode === null && server.child.signalCode === null) await server.kill();
    },
    stop: () => running().stop(),
  };
};

/** Names each role with a number: `api-1`, `api-2`, `projector-1`. */
const named = (roles: readonly string[]): readonly (readonly [name: string, role: string])[] =>
  roles.map((role, at) => [`${role}-${roles.slice(0, at + 1).filter((each) => each === role).length}`, role]);

/** Starts a log server and a process for each role, all at once. */
export const startParts = async (roles: readonly string[], options: PartsOptions = {}): Promise<Parts> => {
  const directory = mkdtempSync(join(tmpdir(), 'flightlog-roles-'));
  const logDirectory = join(directory, 'log');
  const log = await startLogServer(logDirectory);
  const env = { FLIGHTLOG_PROJECTS: '["flytesnacks"]', ...options.env };
  const store = ['--event-store', `esdb://${log.address}?tls=false`];
  const parts = named(roles).map(([name, role]) =>
    openPart(name, join(directory, 'data'), { args: ['--role', role, ...store, ...(options.args ?? [])], env }),
  );
  await Promise.all(parts.map((part) => part.start()));
  return {
    log,
    directory,
    logDirectory,
    parts,
    part: (wanted) => {
      const found = parts.find(({ name }) => name === wanted);
      if (!found) throw new Error(`there is no ${wanted}`);
      return found;
    },
    events: async () => {
      const reader = await sqliteLogReader({ directory: logDirectory });
      const events: RecordedEvent[] = [];
      for await (const page of reader.readLog({ after: 0n })) events.push(...page.events);
      await reader.close();
      return events;
    },
    close: async () => {
      await Promise.all(parts.map((part) => part.kill()));
      await log.kill();
      rmSync(directory, { recursive: true, force: true });
    },
  };
};
