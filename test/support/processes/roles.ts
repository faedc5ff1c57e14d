import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { RecordedEvent } from '../../../services/kernel/event.js';
import type { EventLog } from '../../../services/kernel/ports/event-store.js';
import { sqliteLogReader } from '../../../services/store/log/sqlite-log-reader.js';
import { type LogServer, startLogServer } from './log-server.js';
import { type ServerProcess, startServerProcess } from './server-process.js';

/** One of several processes of a control plane; it keeps its ports after a restart. */
export type Part = {
  readonly name: string;
  readonly server: () => ServerProcess;
  readonly kill: () => Promise<void>;
  readonly stop: () => Promise<number | null>;
  /** Starts it; `more` are further variables of its environment, for this start alone. */
  readonly start: (more?: Readonly<Record<string, string>>) => Promise<void>;
};

/** Processes with roles on one log and one data directory. */
export type Roles = {
  /** The folder in which the data directory is `data`. */
  readonly directory: string;
  readonly parts: readonly Part[];
  /** Finds a process by its name, such as `api-1`. */
  readonly process: (name: string) => Part;
  /** Opens the log for reading; the caller closes it. */
  readonly openLog: () => Promise<EventLog>;
  readonly close: () => Promise<void>;
};

/** Processes with roles, and their log server. */
export type RoleProcesses = Roles & {
  readonly log: LogServer;
  readonly events: () => Promise<readonly RecordedEvent[]>;
};

export type RoleProcessesOptions = {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
};

const portOf = (address: string | undefined): string => (address ?? ':0').split(':').at(-1) ?? '0';

const portFlags = ({ ready }: ServerProcess): readonly string[] => [
  ...['--http-port', portOf(ready.http)],
  ...(ready.roles.includes('api') ? ['--grpc-port', portOf(ready.grpc)] : []),
  ...(ready.eventstore === undefined ? [] : ['--eventstore-port', portOf(ready.eventstore)]),
];

/** Makes a process that `start` starts, at first on free ports. */
const openPart = (name: string, data: string, { args = [], env }: RoleProcessesOptions): Part => {
  let server: ServerProcess | undefined;
  const running = (): ServerProcess => {
    if (!server) throw new Error(`${name} was never started`);
    return server;
  };
  return {
    name,
    server: running,
    start: async (more = {}) => {
      const ports = server ? portFlags(server) : [];
      server = await startServerProcess({ data, args: [...args, ...ports], env: { ...env, ...more } });
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

/** The URL of the processes' log, and a function that opens it for a test. */
export type LogOfRoles = { readonly url: string; readonly openLog: () => Promise<EventLog> };

/** Starts a process for each role, all at once. */
export const startRoles = async (
  roles: readonly string[],
  { url, openLog }: LogOfRoles,
  options: RoleProcessesOptions = {},
): Promise<Roles> => {
  const directory = mkdtempSync(join(tmpdir(), 'flightlog-roles-'));
  const env = { FLIGHTLOG_PROJECTS: '["flytesnacks"]', ...options.env };
  const parts = named(roles).map(([name, role]) => {
    const args = ['--role', role, '--event-store', url, ...(options.args ?? [])];
    return openPart(name, join(directory, 'data'), { args, env });
  });
  await Promise.all(parts.map((part) => part.start()));
  return {
    directory,
    parts,
    process: (wanted) => {
      const found = parts.find(({ name }) => name === wanted);
      if (!found) throw new Error(`there is no ${wanted}`);
      return found;
    },
    openLog,
    close: async () => {
      await Promise.all(parts.map((part) => part.kill()));
      rmSync(directory, { recursive: true, force: true });
    },
  };
};

/** Starts a log server and a process for each role. */
export const startRoleProcesses = async (
  roles: readonly string[],
  options: RoleProcessesOptions = {},
): Promise<RoleProcesses> => {
  const logDirectory = mkdtempSync(join(tmpdir(), 'flightlog-roles-log-'));
  const log = await startLogServer(logDirectory);
  const openLog = () => sqliteLogReader({ directory: logDirectory });
  const started = await startRoles(roles, { url: `esdb://${log.address}?tls=false`, openLog }, options);
  return {
    ...started,
    log,
    events: async () => {
      const reader = await openLog();
      const events: RecordedEvent[] = [];
      for await (const page of reader.readLog({ after: 0n })) events.push(...page.events);
      await reader.close();
      return events;
    },
    close: async () => {
      await started.close();
      await log.kill();
      rmSync(logDirectory, { recursive: true, force: true });
    },
  };
};
