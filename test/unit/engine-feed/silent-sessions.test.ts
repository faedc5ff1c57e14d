import { rmSync } from 'node:fs';
import { create, toBinary } from '@bufbuild/protobuf';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { QualityOfService_Tier as Tier } from '../../../proto/gen/platformidl/core/execution_pb.js';
import { WorkflowExecutionIdentifierSchema } from '../../../proto/gen/platformidl/core/identifier_pb.js';
import { WorkHeartbeatSchema, WorkJoinSchema } from '../../../proto/gen/platformidl/eventlog/engine_work_pb.js';
import {
  EngineSessionEndedSchema,
  EngineSessionOpenedSchema,
} from '../../../proto/gen/platformidl/eventlog/engine_session_pb.js';
import { ExecutionCreatedSchema, WorkLeasedSchema } from '../../../proto/gen/platformidl/eventlog/execution_pb.js';
import { engineSessionStream } from '../../../services/engine-session/events.js';
import type { EventStore } from '../../../services/kernel/ports/event-store.js';
import { engineAdmission } from '../../../services/streams/engine-feed/admission.js';
import { openSendQueue } from '../../../services/streams/engine-feed/send-queue.js';
import { IDLE_FACTOR, MAX_IDLE_ENDS } from '../../../services/streams/engine-feed/silent-sessions.js';
import { type BoardServices, WorkBoard } from '../../../services/streams/engine-feed/work-board.js';
import type { WorkItem } from '../../../services/streams/engine-feed/work-items.js';
import type { JoinedEngine } from '../../../services/streams/engine-feed/work-offers.js';
import { executionStream, newEvent, openEmptyLog } from '../../support/streams/filled-log.js';
import { until } from '../../support/until.js';

/**
 * The lease duration, in milliseconds. A timer of the work board checks the sessions every third of this in real time;
 * the check compares times of the clock `atMs`, which the tests move.
 */
const LEASE_MS = 30;
/** On a shared log, the silence after which a session without leases ends, in milliseconds. */
const IDLE_MS = IDLE_FACTOR * LEASE_MS;

const idOf = (session: string) => ({ group: 'default', engine: `engine of ${session}`, session });

const unused = (): never => {
  throw new Error('no test calls this');
};

/** An engine of this session with one free place, which has joined at `atMs` and sent nothing since. */
const engineOf = (session: string, atMs: number): JoinedEngine => ({
  ...{ group: 'default', engine: `engine of ${session}`, producerId: 'p', places: 1, maxInlineBytes: 0, free: 1 },
  ...{ id: idOf(session), takes: () => true, sendQueue: openSendQueue(), seenAtMs: atMs, renewedAtMs: atMs },
  ...{ deciding: new Set(), held: new Map(), rejected: new Set(), postponed: new Set() },
});

/** Makes a promise, and the function that resolves it. */
const gate = (): { readonly passed: Promise<void>; readonly open: () => void } => {
  let open = (): void => undefined;
  const passed = new Promise<void>((resolve) => (open = resolve));
  return { passed, open: () => open() };
};

/** An execution that the session has leased. */
const leasedBy = (session: string): WorkItem => ({
  stream: executionStream('e'),
  id: { project: 'flytesnacks', domain: 'development', name: 'e' },
  lane: { project: 'flytesnacks', domain: 'development', clusterLabel: '', clusterPool: '' },
  ...{ tier: Tier.UNDEFINED, createdAtMs: 0, budgetMs: undefined, isAborting: false, isElsewhere: false },
  lease: { number: 1, session },
});

describe('the session of an engine that is silent', () => {
  let directory: string;
  let store: EventStore;
  let board: WorkBoard;
  /** The time of the clock, in milliseconds. */
  let atMs: number;
  /** The time since 1970 at which that clock is 0. */
  let setAtMs: number;
  /** The number of times that the clock was read. */
  let clockReads: number;
  /** `<session>: <cause>` for each call that ends a session. */
  let ended: string[];
  /** The session of each renewal that was recorded in the log. */
  let renewed: string[];
  /** The session of each read of a number of renewals. */
  let renewalReads: string[];
  /** The number of renewals that each such read gives. */
  let renewals: number;
  /** Each read of renewals waits for `mayRead`, each renewal for `mayRenew`. */
  let mayRead: Promise<void>;
  let mayRenew: Promise<void>;
  /** The number of streams that were parked. */
  let parked: number;
  /** The errors of sessions that could not be checked or ended. */
  let failures: unknown[];

  /** Records the end of a session; fails for sessions that are named `unendable …`. */
  const end: BoardServices['sessions']['end'] = async (id, cause) => {
    if (id.session.startsWith('unendable')) throw new Error('the disk is full');
    ended.push(`${id.session}: ${cause}`);
    const data = toBinary(EngineSessionEndedSchema, create(EngineSessionEndedSchema, { session: id.session }));
    await store.append(engineSessionStream(id), 'any', [newEvent('EngineSessionEnded', data)]);
  };

  const servicesOf = (isShared: boolean): BoardServices => ({
    log: store,
    leases: { lease: unused, giveBack: unused, fail: unused, held: unused, launch: unused },
    sessions: {
      open: unused,
      renew: async ({ session }) => {
        renewed.push(session);
        await mayRenew;
        return true;
      },
      renewals: async ({ session }) => {
        renewalReads.push(session);
        await mayRead;
        return renewals;
      },
      end,
    },
    positionToken: String,
    weightOf: () => 1,
    ...{ leaseMs: LEASE_MS, isShared },
    onParked: () => (parked += 1),
    onFailure: (error) => failures.push(error),
    now: () => setAtMs + atMs,
    steadyMs: () => ((clockReads += 1), atMs),
  });

  /** A board on a log that other processes write too (`isShared`), or that only this process writes. */
  const opened = (isShared: boolean): WorkBoard => new WorkBoard(servicesOf(isShared));

  /** The sessions that are open. */
  const sessions = (): string[] => [...board.sessions.all()].map(({ id }) => id.session);

  /** Waits until exactly these sessions are open. */
  const untilOpen = (...wanted: string[]): Promise<unknown> =>
    until(
      () => Promise.resolve(sessions()),
      (found) => found.join(' ') === wanted.join(' '),
    );

  /** Moves the clock, and waits until it was read so often that all sessions have been checked again. */
  const passTime = async (ms: number): Promise<void> => {
    atMs += ms;
    const before = clockReads;
    await until(
      () => Promise.resolve(clockReads),
      (found) => found > before + 2 * sessions().length,
    );
  };

  beforeEach(async () => {
    ({ directory, store } = await openEmptyLog());
    [atMs, clockReads, ended, renewed, renewalReads, renewals, parked, failures] = [0, 0, [], [], [], 0, 0, []];
    [mayRead, mayRenew, setAtMs] = [Promise.resolve(), Promise.resolve(), 0];
    for (const session of ['a', 'b']) {
      const data = toBinary(EngineSessionOpenedSchema, create(EngineSessionOpenedSchema, idOf(session)));
      await store.append(engineSessionStream(idOf(session)), 'any', [newEvent('EngineSessionOpened', data)]);
    }
  });
  afterEach(async () => {
    await board.close();
    await store.close();
    rmSync(directory, { recursive: true });
  });

  it('without leases ends after the lease duration when the engine has disconnected from the only process', async () => {
    board = opened(false);
    await board.start();
    board.engines.set('b', engineOf('b', LEASE_MS));
    await passTime(LEASE_MS - 1);
    expect(ended).toEqual([]);
    atMs += 1;
    await untilOpen('b');
    // A session may be ended again before its recorded end has been read, so each cause may come several times.
    expect(new Set(ended)).toEqual(new Set(['a: no heartbeat for 0.03 s']));
  });

  it('lasts for the lease duration after the log was read, however long the engine could not join before', async () => {
    const log: BoardServices['log'] = {
      head: () => store.head(),
      readStream: (...given) => store.readStream(...given),
      subscribe: (options, onPage) =>
        store.subscribe(options, (page, isLive) => {
          const folded = onPage(page, isLive);
          if (page.events.length > 0 && atMs === 0) atMs = LEASE_MS;
          return folded;
        }),
    };
    board = new WorkBoard({ ...servicesOf(false), log });
    await board.start();
    expect(atMs).toBe(LEASE_MS);
    await passTime(LEASE_MS - 1);
    expect(ended).toEqual([]);
    atMs += 1;
    await untilOpen();
  });

  it('neither ends nor lasts longer when the clock of the machine is set', async () => {
    board = opened(false);
    await board.start();
    setAtMs = 3_600_000;
    await passTime(LEASE_MS - 1);
    expect(ended).toEqual([]);
    setAtMs = -3_600_000;
    atMs += 1;
    await untilOpen();
  });

  it('without leases ends, on a shared log, an idle time after the first look at its renewals when none is new', async () => {
    board = opened(true);
    await board.start();
    await passTime(IDLE_MS - 1);
    expect(ended).toEqual([]);
    await passTime(1); // the number of renewals is noted
    await passTime(IDLE_MS - 1);
    expect(ended).toEqual([]);
    atMs += 1;
    await untilOpen();
    expect(new Set(ended)).toEqual(new Set(['a: no heartbeat for 3.6 s', 'b: no heartbeat for 3.6 s']));
  });

  it('without leases is renewed in the log several times before another process would end it', async () => {
    board = opened(true);
    const engine = engineOf('a', 0);
    const heartbeat = create(WorkHeartbeatSchema);
    for (; atMs <= IDLE_MS; atMs += LEASE_MS) await board.renew(engine, heartbeat);
    expect(renewed).toEqual(Array(6).fill('a')); // at each sixth of the idle time
  });

  it('with leases is renewed in the log at heartbeats, but not right after it has joined', async () => {
    board = opened(true);
    const engine = engineOf('a', 0);
    engine.held.set(executionStream('e'), { number: 1, isSent: true });
    const heartbeat = create(WorkHeartbeatSchema);
    for (; atMs <= LEASE_MS; atMs += LEASE_MS / 3) await board.renew(engine, heartbeat);
    expect(renewed).toEqual(Array(3).fill('a')); // at the heartbeats after 10, 20 and 30 ms
  });

  it('gives back only those unknown leases at a heartbeat that were there when it came', async () => {
    const returned: string[] = [];
    const services = servicesOf(true);
    const giveBack: BoardServices['leases']['giveBack'] = ({ id }) => Promise.resolve(returned.push(id.name) > 0);
    board = new WorkBoard({ ...services, leases: { ...services.leases, giveBack } });
    await board.start();
    const engine = { ...engineOf('a', 0), renewedAtMs: -IDLE_MS };
    board.engines.set('a', engine);
    const heartbeat = create(WorkHeartbeatSchema);
    const renewing = gate();
    mayRenew = renewing.passed;
    const first = board.renew(engine, heartbeat);
    board.sessions.of('a')!.leased.add(leasedBy('a')); // by another process, to which the engine may have moved
    renewing.open();
    await first;
    expect([renewed, returned]).toEqual([['a'], []]);
    await board.renew(engine, heartbeat);
    expect(returned).toEqual(['e']);
  });

  it('stays open while another process renews it, but its silent connection ends', async () => {
    board = opened(true);
    await board.start();
    const engines = ['a', 'b'].map((session) => engineOf(session, 1));
    for (const engine of engines) board.engines.set(engine.id.session, engine);
    engines[0]!.held.set(executionStream('e'), { number: 1, isSent: true });
    board.sessions.of('a')!.leased.add(leasedBy('a'));
    renewals = 1;
    await passTime(LEASE_MS + 1);
    expect(ended).toEqual([]);
    expect(board.known().engines).toMatchObject([{ isConnected: false }, { isConnected: false, seenAtMs: 1 }]);
    for (const { sendQueue } of engines)
      await expect(sendQueue.messages(new AbortController().signal).next()).rejects.toThrow(
        expect.objectContaining({
          code: 'UNAVAILABLE',
          message: 'no heartbeat for 0.03 s: join again with the session',
        }),
      );
    renewals = 2;
    await passTime(LEASE_MS);
    await passTime(LEASE_MS - 1);
    expect(ended).toEqual([]);
    atMs += 1;
    await untilOpen('b');
    expect(new Set(ended)).toEqual(new Set(['a: no heartbeat for 0.03 s']));
  });

  it('with leases lasts for another lease duration after an outage of the log in which it could not be renewed', async () => {
    board = opened(true);
    await board.start();
    board.sessions.of('a')!.leased.add(leasedBy('a'));
    await passTime(LEASE_MS); // the number of renewals is noted
    const outage = gate();
    mayRead = outage.passed.then(() => Promise.reject(new Error('the log cannot be reached')));
    await passTime(LEASE_MS);
    outage.open();
    await until(
      () => Promise.resolve(failures.length),
      (count) => count === 1,
    );
    mayRead = Promise.resolve();
    await passTime(LEASE_MS); // the outage has just ended: the number of renewals is noted again
    await passTime(LEASE_MS - 1);
    expect(ended).toEqual([]);
    atMs += 1;
    await untilOpen('b');
  });

  it('does not last longer because of leases that its own process has given to it', async () => {
    board = opened(false);
    await board.start();
    const item = leasedBy('a');
    const engine = engineOf('a', 0);
    board.engines.set('a', engine);
    engine.deciding.add(item.stream);
    engine.free = 0;
    const id = create(WorkflowExecutionIdentifierSchema, item.id);
    const created = toBinary(ExecutionCreatedSchema, create(ExecutionCreatedSchema, { id }));
    const leased = toBinary(WorkLeasedSchema, create(WorkLeasedSchema, { ...idOf('a'), number: 1n }));
    atMs = LEASE_MS - 1;
    await store.append(item.stream, 'any', [newEvent('ExecutionCreated', created), newEvent('WorkLeased', leased)]);
    await until(
      () => Promise.resolve(board.sessions.of('a')?.leased.size),
      (size) => size === 1,
    );
    board.engines.set('b', { ...engineOf('b', atMs), free: 0 });
    atMs += 1;
    await untilOpen('b');
  });

  it('stays open when the engine joins again while its renewals are read', async () => {
    board = opened(false);
    await board.start();
    const reading = gate();
    mayRead = reading.passed;
    await passTime(LEASE_MS);
    await passTime(0);
    expect(renewalReads).toEqual(['a', 'b']);
    for (const session of ['a', 'b']) board.engines.set(session, engineOf(session, atMs));
    reading.open();
    await passTime(0);
    expect(ended).toEqual([]);
  });

  it('stays open when the engine has begun to join again', async () => {
    board = opened(false);
    await board.start();
    board.engines.set('a', engineOf('a', 0));
    const [reading, renewing] = [gate(), gate()];
    [mayRead, mayRenew] = [reading.passed, renewing.passed];
    await passTime(LEASE_MS);
    mayRead = Promise.resolve();
    const admit = engineAdmission({ ...servicesOf(false), newSession: unused }, board);
    const join = create(WorkJoinSchema, idOf('a'));
    const call = { principal: 'root', requestId: 'r', isCancelled: () => false, answeredAt: () => undefined };
    const joining = admit(join, { call, sendQueue: openSendQueue() });
    await until(
      () => Promise.resolve(renewed.length),
      (count) => count === 1,
    );
    reading.open();
    await untilOpen('a');
    renewing.open();
    const engine = await joining;
    expect(board.engines.get('a')).toBe(engine);
    expect(new Set(ended)).toEqual(new Set(['b: no heartbeat for 0.03 s']));
  });

  it('whose end cannot be recorded keeps no other session open, and is tried again only after the idle time', async () => {
    board = opened(false);
    await board.start();
    for (const session of ['a', 'b']) board.engines.set(session, engineOf(session, LEASE_MS));
    for (let n = 0; n < MAX_IDLE_ENDS; n += 1) board.sessions.opened(idOf(`unendable ${n}`));
    board.sessions.opened(idOf('last'));
    atMs = LEASE_MS;
    await until(
      () => Promise.resolve(sessions().includes('last')),
      (isOpen) => !isOpen,
    );
    board.engines.clear();
    await passTime(LEASE_MS);
    expect(failures).toHaveLength(MAX_IDLE_ENDS);
    await passTime(IDLE_MS);
    await until(
      () => Promise.resolve(failures.length),
      (count) => count >= 2 * MAX_IDLE_ENDS,
    );
    await passTime(0);
    expect(failures).toHaveLength(2 * MAX_IDLE_ENDS);
  });

  it('is not ended while its stream is parked', async () => {
    const undecodable = newEvent('EngineSessionEnded', Buffer.from([0xff]));
    await store.append(engineSessionStream(idOf('a')), 'any', [undecodable]);
    board = opened(false);
    await board.start();
    expect(parked).toBe(1);
    atMs = LEASE_MS;
    await untilOpen('a');
    await passTime(0);
    expect(new Set(renewalReads)).toEqual(new Set(['b']));
  });
});
