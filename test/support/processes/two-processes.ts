import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { RecordedEvent } from '../../../services/kernel/event.js';
import { sqliteLogReader } from '../../../services/store/log/sqlite-log-reader.js';
import { type LogServer, startLogServer } from './log-server.js';
import { type ServerProcess, startServerProcess } from './server-process.js';
import { overGrpc, type Transport } from '../clients/transports.js';

/** One of two control planes, with the transport to it. */
export type Member = {
  readonly api: () => Transport;
  readonly server: () => ServerProcess;
  /** Kills the process; calls to it fail as unavailable until `start`. */
  readonly kill: () => Promise<void>;
  readonly close: () => Promise<void>;
  /** Starts it again on its own data. */
  readonly start: () => Promise<void>;
};

/** Two control planes on one log, each with a data directory of its own. */
export type TwoProcesses = {
  readonly log: LogServer;
  /** The data directory of the log server. */
  readonly directory: string;
  readonly members: readonly [Member, Member];
  /** Reads all events of the log, in order. */
  readonly events: () => Promise<readonly RecordedEvent[]>;
  readonly close: () => Promise<void>;
};

/** Starts a control plane whose log is in the log server at an address. */
const startMember = async (
  address: string,
  data: string,
  options: { readonly args?: readonly string[]; readonly env?: Readonly<Record<string, string>> } = {},
): Promise<Member> => {
  const args = ['--event-store', `esdb://${address}?tls=false`, ...(options.args ?? [])];
  const env = { FLIGHTLOG_PROJECTS: '["flytesnacks"]', ...options.env };
  let server: ServerProcess;
  let api: Transport | undefined;
  const start = async (): Promise<void> => {
    server = await startServerProcess({ data, args, env });
    const before = api;
    api = overGrpc(server.ready);
    before?.close();
  };
  await start();
  return {
    api: () => api!,
    server: () => server,
    start,
    kill: () => server.kill(),
    close: async () => {
      await server.kill();
      api?.close();
    },
  };
};

/** Starts a log server and two control planes on it. */
export const startTwoProcesses = async ({
  way = (address) => Promise.resolve(address),
  ...options
}: {
  readonly env?: Readonly<Record<string, string>>;
  /** Gives the address by which a process reaches the log server, such as a proxy's, from the server's own address. */
  readonly way?: (address: string) => Promise<string>;
} = {}): Promise<TwoProcesses> => {
  const directory = mkdtempSync(join(tmpdir(), 'flightlog-two-'));
  const log = await startLogServer(join(directory, 'log'));
  const first = await startMember(await way(log.address), join(directory, 'first'), options);
  const second = await startMember(await way(log.address), join(directory, 'second'), options);
  return {
    directory: join(directory, 'log'),
    log,
    members: [first, second],
    events: async () => {
      const reader = await sqliteLogReader({ directory: join(directory, 'log') });
      const events: RecordedEvent[] = [];
      for await (const page of reader.readLog({ after: 0n })) events.push(...page.events);
      await reader.close();
      return events;
    },
    close: async () => {
      await Promise.all([first.close(), second.close()]);
      await log.kill();
      rmSync(directory, { recursive: true });
    },
  };
};
