import type { LogFile } from './log-file.js';
import type { Timing } from './timeouts.js';

/** A node of the cluster; `instance` is the id of its process, which is new after each start. */
export type Member = {
  readonly name: string;
  readonly instance: string;
  readonly port: number;
  readonly isAlive: boolean;
  readonly state: 'leader' | 'follower' | 'unknown';
};

type NodeRow = { name: string; instance: string; port: bigint; heardMs: bigint; shown: bigint };

type Leadership = { epoch: bigint; leader: string | null; vacantMs: bigint };

/** The members of the cluster and its leader, as one node sees them. */
export type Membership = {
  /** Sends the heartbeat, detects the loss of a leader, and elects; called every few milliseconds. */
  readonly tick: () => void;
  readonly members: () => readonly Member[];
  readonly leader: () => Member | undefined;
  readonly isLeader: () => boolean;
  /** True when this node is the leader and not isolated; must be called within the transaction that writes. */
  readonly mayWrite: () => boolean;
  readonly resign: () => void;
  /** An isolated node exchanges no heartbeats with the others. */
  readonly isolate: (isIsolated: boolean) => void;
};

export type MembershipOptions = {
  readonly log: LogFile;
  readonly name: string;
  readonly instance: string;
  readonly port: number;
  /** The number of nodes of the cluster, running or not. */
  readonly size: number;
  readonly timing: Timing;
  /** The end of the log as this node shows it. */
  readonly shown: () => bigint;
  /** Called when another node leads after this one did and did not resign: a real node may have events to drop then. */
  readonly onDeposed: () => void;
};

/** Membership through the log file: nodes write heartbeats there; one becomes the leader while a majority is alive. */
export const membership = (options: MembershipOptions): Membership => {
  const { log, name, instance, port, size, timing, shown, onDeposed } = options;
  const quorum = Math.floor(size / 2) + 1;
  const beat = log.db.prepare('INSERT OR REPLACE INTO nodes VALUES (?, ?, ?, ?, ?)');
  const allNodes = log.db.prepare('SELECT * FROM nodes ORDER BY name');
  const leadership = log.db.prepare('SELECT epoch, leader, vacantMs FROM leadership');
  const vacate = log.db.prepare('UPDATE leadership SET leader = NULL, vacantMs = ?');
  const elect = log.db.prepare('UPDATE leadership SET leader = ?, epoch = epoch + 1');
  for (const each of [allNodes, leadership]) each.setReadBigInts(true);

  let hasLed = false;
  let isIsolated = false;
  let isolatedMs = 0;
  let beatMs = 0;
  let nodes: readonly NodeRow[] = [];
  let current: Leadership = { epoch: 0n, leader: null, vacantMs: 0n };

  const isFresh = ({ heardMs }: NodeRow): boolean => Date.now() - Number(heardMs) < timing.deadMs;
  const leads = (): boolean => current.leader === instance;

  const refresh = (): void => {
    current = leadership.get() as Leadership;
    nodes = allNodes.all() as NodeRow[];
  };

  const heartbeat = (): void => {
    if (Date.now() - beatMs < timing.heartbeatMs) return;
    beatMs = Date.now();
    beat.run(name, instance, port, beatMs, shown());
  };

  /**
   * Vacates the leadership when the leader is dead or there is no majority, which starts the clock of the election;
   * when it is vacant, stands for election.
   */
  const settle = (): void => {
    const alive = nodes.filter(isFresh);
    const holder = nodes.find((each) => each.instance === current.leader);
    if (current.leader !== null && (holder === undefined || !isFresh(holder) || alive.length < quorum))
      vacate.run(Date.now());
    else if (current.leader === null && alive.length < quorum) vacate.run(Date.now());
    else if (current.leader === null) standForElection(alive);
  };

  /** Becomes the leader when the time of an election is over and no live node shows more of the log. */
  const standForElection = (alive: readonly NodeRow[]): void => {
    const waitMs = current.epoch === 0n || size === 1 ? 0 : timing.electionMs - timing.deadMs;
    if (Date.now() - Number(current.vacantMs) < waitMs) return;
    if (alive.some((each) => each.shown > shown())) return;
    elect.run(instance);
    log.writeHidden(Date.now());
  };

  const beatAndElect = (): void => {
    log.transaction(() => {
      heartbeat();
      refresh();
      settle();
      refresh();
    });
  };

  const isDue = (): boolean => Date.now() - beatMs >= timing.heartbeatMs;

  const member = (row: NodeRow): Member => {
    const isSelf = row.instance === instance;
    const isAlive = isSelf || (!isIsolated && isFresh(row));
    const state = row.instance === current.leader ? 'leader' : current.leader === null ? 'unknown' : 'follower';
    return { name: row.name, instance: row.instance, port: Number(row.port), isAlive, state };
  };

  /** An isolated leader considers itself the leader until it misses its followers. */
  const isLost = (): boolean => isIsolated && Date.now() - isolatedMs >= timing.deadMs;

  const members = (): readonly Member[] =>
    nodes.map(member).map((each) => (isLost() ? { ...each, state: 'unknown' as const } : each));

  return {
    tick: () => {
      if (isIsolated) return;
      if (isDue()) beatAndElect();
      else refresh();
      if (hasLed && current.leader !== null && !leads()) onDeposed();
      hasLed ||= leads();
    },
    members,
    leader: () => members().find(({ state }) => state === 'leader'),
    isLeader: () => leads() && !isLost(),
    mayWrite: () => {
      if (isIsolated) return false;
      refresh();
      return leads();
    },
    resign: () =>
      log.transaction(() => {
        refresh();
        if (leads()) vacate.run(Date.now());
        hasLed = false;
      }),
    isolate: (isCutOff) => {
      isIsolated = isCutOff;
      isolatedMs = Date.now();
    },
  };
};
