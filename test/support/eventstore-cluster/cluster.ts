import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createInterface } from 'node:readline';
import { freePort } from '../processes/command.js';
import { until } from '../until.js';
import { openLogFile } from './log-file.js';
import type { Command, NodeOptions } from './node-options.js';
import { type Timing, TIMING } from './timeouts.js';

/** One node of the cluster: a process. */
export type ClusterNode = {
  readonly name: string;
  /** `host:port`; it never changes. */
  readonly address: string;
  readonly isRunning: () => boolean;
  /** The number of times that the process has ended by itself with code 0, as a deposed leader does. */
  readonly endings: () => number;
  readonly start: () => Promise<void>;
  readonly kill: () => Promise<void>;
  /** Stops the process gracefully. */
  readonly stop: () => Promise<void>;
  /** Suspends the process: it still accepts connections, and answers nothing, not even pings. */
  readonly suspend: () => Promise<void>;
  /** Ends `suspend`. */
  readonly resume: () => void;
  /** Makes the node answer pings but no calls of clients; calls that are open meanwhile never end. */
  readonly mute: () => Promise<void>;
  /** Ends `mute`. */
  readonly speak: () => Promise<void>;
  /** Makes a follower show events this much later than they were written; with `frozen`, none from now on. */
  readonly lag: (ms: number | 'frozen') => Promise<void>;
  /** Cuts the node off from the other nodes, but not from clients: as a leader, it confirms no writes any more. */
  readonly isolate: () => Promise<void>;
  /** Ends `isolate`. */
  readonly rejoin: () => Promise<void>;
  /** Makes the leader resign. */
  readonly resign: () => Promise<void>;
};

/** A running cluster and its nodes. */
export type Cluster = {
  readonly nodes: readonly ClusterNode[];
  /** A connection string with the hosts of all nodes, or of the first `hosts`. */
  readonly url: (options?: { readonly hosts?: number; readonly preference?: string }) => string;
  /** Waits for a leader; with `after`, for another leader than that node. */
  readonly leader: (after?: ClusterNode) => Promise<ClusterNode>;
  /** Waits for a leader, then gives the other nodes. */
  readonly followers: () => Promise<readonly ClusterNode[]>;
  /** The leader according to the log file, without waiting. */
  readonly leaderNow: () => ClusterNode | undefined;
  readonly close: () => Promise<void>;
};

export type ClusterOptions = {
  /** The number of nodes, 3 by default. */
  readonly size?: number;
  /** The directory of the log file; by default a new one, which is removed at the end. */
  readonly directory?: string;
  readonly ports?: readonly number[];
  /** The server version that the nodes report. */
  readonly version?: string;
  readonly timing?: Partial<Timing>;
  /** The time in milliseconds after which a deposed leader that has ended is started again. */
  readonly restartMs?: number;
};

const PROGRAM = fileURLToPath(new URL('./node-process.js', import.meta.url));

const isOver = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode !== null || signalCode !== null;

/** Makes a node, whose process `start` starts; one that ends itself with code 0 is started again after `restartMs`. */
const openNode = (options: NodeOptions, restartMs: number): ClusterNode => {
  let child: ChildProcess | undefined;
  let isWanted = false;
  let endings = 0;
  let commands = 0;

  const isRunning = (): boolean => child !== undefined && !isOver(child);

  const start = async (): Promise<void> => {
    isWanted = true;
    const fresh = fork(PROGRAM, [JSON.stringify(options)], { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] });
    child = fresh;
    fresh.once('exit', (code) => {
      if (!isWanted || child !== fresh || code !== 0) return;
      endings += 1;
      setTimeout(() => isWanted && child === fresh && void start(), restartMs);
    });
    if (fresh.stdout) await Promise.race([once(createInterface({ input: fresh.stdout }), 'line'), once(fresh, 'exit')]);
  };

  const end = async (signal: NodeJS.Signals): Promise<void> => {
    isWanted = false;
    if (child === undefined || isOver(child)) return;
    const exited = once(child, 'exit');
    child.kill(signal);
    await exited;
  };

  /** Sends a command to the process, and waits until it is carried out. */
  const order = async (command: Omit<Command, 'id'>): Promise<void> => {
    const id = (commands += 1);
    // A deposed leader is away for a while, and is started again without a call.
    await until(
      () => Promise.resolve(isRunning()),
      (isBack) => isBack || !isWanted,
    );
    const running = child;
    if (running === undefined || !isRunning()) throw new Error(`${options.name} is not running`);
    const done = new Promise<void>((resolve) => {
      const onMessage = (message: { readonly done: number }): void => {
        if (message.done === id) {
          running.off('message', onMessage);
          resolve();
        }
      };
      running.on('message', onMessage);
    });
    running.send({ ...command, id });
    await done;
  };

  return {
    name: options.name,
    address: `127.0.0.1:${options.port}`,
    isRunning,
    endings: () => endings,
    start,
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
    suspend: () => order({ kind: 'suspend' }),
    resume: () => void child?.kill('SIGCONT'),
    mute: () => order({ kind: 'mute' }),
    speak: () => order({ kind: 'speak' }),
    lag: (ms) => order({ kind: 'lag', ms }),
    isolate: () => order({ kind: 'isolate' }),
    rejoin: () => order({ kind: 'rejoin' }),
    resign: () => order({ kind: 'resign' }),
  };
};

/**
 * Starts a cluster that is as strict as EventStoreDB: one process for each node, each on its own port, over one log.
 *
 *     const cluster = await startEventstoreCluster({ timing: { electionMs: 8_000 } });
 *     const store = await eventstoreEventStore({ url: cluster.url() });
 *     const leader = await cluster.leader();
 *     await leader.kill();                            // or suspend() and resume(), isolate() and rejoin(), resign()
 *     await (await cluster.followers())[0]?.lag(5_000); // or 'frozen'
 *     await leader.start();
 *     await cluster.close();
 *
 * Positions are byte offsets; a position at which no record begins is refused with UNKNOWN. A call that requires the
 * leader is refused by another node with `not-leader`; other appends are forwarded, and other reads are answered from
 * the node's own replica. A live subscription with more than 32 unread events is dropped if it stands still. Without a
 * leader, writes are answered `not-ready`; writes that an isolated leader has taken are never confirmed, and are lost.
 * A deposed leader ends its process, and is started again. `startEventstoreCluster({ size: 1 })` is a single server.
 */
export const startEventstoreCluster = async ({
  size = 3,
  directory,
  ports,
  version = '23.10.6',
  timing,
  restartMs = 1_000,
}: ClusterOptions = {}): Promise<Cluster> => {
  const home = directory ?? mkdtempSync(join(tmpdir(), 'flightlog-cluster-'));
  const file = join(home, 'cluster.db');
  const log = openLogFile(file);
  const nodePorts = ports ?? (await Promise.all(Array.from({ length: size }, freePort)));
  const nodes = nodePorts.map((port, at) =>
    openNode({ name: `node-${at + 1}`, file, port, size, version, timing: { ...TIMING, ...timing } }, restartMs),
  );
  const leadership = log.db.prepare(
    'SELECT name, heardMs FROM leadership JOIN nodes ON nodes.instance = leadership.leader',
  );
  const deadMs = timing?.deadMs ?? TIMING.deadMs;
  const leaderNow = (): ClusterNode | undefined => {
    const held = leadership.get() as { readonly name: string; readonly heardMs: number } | undefined;
    if (held === undefined || Date.now() - held.heardMs >= deadMs) return undefined;
    return nodes.find(({ name, isRunning }) => name === held.name && isRunning());
  };
  const leader = async (after?: ClusterNode): Promise<ClusterNode> => {
    const found = await until(
      () => Promise.resolve(leaderNow()),
      (each) => each !== undefined && each !== after,
    );
    if (found === undefined) throw new Error('the cluster has no leader');
    return found;
  };
  await Promise.all(nodes.map((node) => node.start()));
  await leader();
  return {
    nodes,
    leader,
    leaderNow,
    followers: async () => {
      const leading = await leader();
      return nodes.filter((node) => node !== leading);
    },
    url: ({ hosts = size, preference } = {}) => {
      const named = nodes.slice(0, hosts).map(({ address }) => address);
      return `esdb://${named.join(',')}?tls=false${preference === undefined ? '' : `&nodePreference=${preference}`}`;
    },
    close: async () => {
      await Promise.all(nodes.map((node) => node.kill()));
      log.db.close();
      if (directory === undefined) rmSync(home, { recursive: true });
    },
  };
};
