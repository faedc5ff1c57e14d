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

/** The lease duration, in milliseconds: sessions are checked every 10 ms, by a clock that the tests move. */
const LEASE_MS = 30;
const IDLE_MS = IDLE_FACTOR * LEASE_MS;

const idOf = (session: string) => ({ group: 'default', engine: `engine of ${session}`, session });

const unused = (): never => {
  throw new Error('no test calls this');
};

const engineOf = (session: string, atMs: number): JoinedEngine => ({
  ...{ group: 'default', engine: `engine of ${session}`, producerId: 'p', places: 1, maxInlineBytes: 0, free: 1 },
  ...{ id: idOf(session), takes: () => true, sendQueue: openSendQueue(), seenAtMs: atMs, renewedAtMs: atMs },
  ...{ deciding: new Set(), held: new Map(), rejected: new Set() },
});

/** Makes a promise, and the function that resolves it. */
const gate = (): { readonly passed: Promise<void>; readonly open: () => void } => {
  let open = (): void => undefined;
  const passed = new Promise<void>((resolve) => (open = resolve));
  return { passed, open: () => open() };
};

/** An execution with a lease of the session. */
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
  let atMs: number;
  /** The number of times that the clock was read. */
  let reads: number;
  let ended: string[];
  let renewed: string[];
  /** The sessions whose number of renewals was read, and the number that each of these reads gives. */
  let readOf: string[];
  let renewals: number;
  /** Each read of renewals waits for `mayRead`, each renewal for `mayRenew`. */
  let mayRead: Promise<void>;
  let mayRenew: Promise<void>;
  let parked: number;
  let failures: unknown[];

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
        readOf.push(session);
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
    now: () => ((reads += 1), atMs),
  });

  const opened = (isShared: boolean): WorkBoard => new WorkBoard(servicesOf(isShared));

  const sessions = (): string[] => [...board.sessions.all()].map(({ id }) => id.session);

  /** Waits until no other sessions are open. */
  const remaining = (...wanted: string[]): Promise<unknown> =>
    until(
      () => Promise.resolve(sessions()),
      (found) => found.join(' ') === wanted.join(' '),
    );

  /** Moves the clock, and waits until the sessions have been checked again. */
  const pass = async (ms: number): Promise<void> => {
    atMs += ms;
    const before = reads;
    await until(
      () => Promise.resolve(reads),
      (found) => found > before + 2 * sessions().length,
    );
  };

  beforeEach(async () => {
    ({ directory, store } = await openEmptyLog());
    [atMs, reads, ended, renewed, readOf, renewals, parked, failures] = [0, 0, [], [], [], 0, 0, []];
    [mayRead, mayRenew] = [Promise.resolve(), Promise.resolve()];
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
    await pass(LEASE_MS - 1);
    expect(ended).toEqual([]);
    atMs += 1;
    await remaining('b');
    expect(new Set(ended)).toEqual(new Set(['a: no heartbeat for 0.03 s']));
  });

  it('without leases ends, on a shared log, an idle time after the first look at its renewals when none is new', async () => {
    board = opened(true);
    await board.start();
    await pass(IDLE_MS - 1);
    expect(ended).toEqual([]);
    await pass(1); // the number of renewals is noted
    await pass(IDLE_MS - 1);
    expect(ended).toEqual([]);
    atMs += 1;
    await remaining();
    expect(new Set(ended)).toEqual(new Set(['a: no heartbeat for 3.6 s', 'b: no heartbeat for 3.6 s']));
  });

  it('without leases is renewed in the log several times before another process would end it', async () => {
    board = opened(true);
    const engine = engineOf('a', 0);
    const heartbeat = create(WorkHeartbeatSchema);
    for (; atMs <= IDLE_MS; atMs += LEASE_MS) await board.renew(engine, heartbeat);
    expect(renewed).toEqual(Array(6).fill('a'));
  });

  it('with leases is renewed in the log at heartbeats, but not right after it has joined', async () => {
    board = opened(true);
    const engine = engineOf('a', 0);
    engine.held.set(executionStream('e'), { number: 1, isSent: true });
    const heartbeat = create(WorkHeartbeatSchema);
    for (; atMs <= LEASE_MS; atMs += LEASE_MS / 3) await board.renew(engine, heartbeat);
    expect(renewed).toEqual(Array(3).fill('a'));
  });

  it('stays open while another process renews it, but its silent connection ends', async () => {
    board = opened(true);
    await board.start();
    const engines = ['a', 'b'].map((session) => engineOf(session, 1));
    for (const engine of engines) board.engines.set(engine.id.session, engine);
    engines[0]!.held.set(executionStream('e'), { number: 1, isSent: true });
    board.sessions.of('a')!.leased.add(leasedBy('a'));
    renewals = 1;
    await pass(LEASE_MS + 1);
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
    await pass(LEASE_MS);
    await pass(LEASE_MS - 1);
    expect(ended).toEqual([]);
    atMs += 1;
    await remaining('b');
    expect(new Set(ended)).toEqual(new Set(['a: no heartbeat for 0.03 s']));
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
    await remaining('b');
  });

  it('stays open when the engine joins again while its renewals are read', async () => {
    board = opened(false);
    await board.start();
    const reading = gate();
    mayRead = reading.passed;
    await pass(LEASE_MS);
    await pass(0);
    expect(readOf).toEqual(['a', 'b']);
    for (const session of ['a', 'b']) board.engines.set(session, engineOf(session, atMs));
    reading.open();
    await pass(0);
    expect(ended).toEqual([]);
  });

  it('stays open when the engine has begun to join again', async () => {
    board = opened(false);
    await board.start();
    board.engines.set('a', engineOf('a', 0));
    const [reading, renewing] = [gate(), gate()];
    [mayRead, mayRenew] = [reading.passed, renewing.passed];
    await pass(LEASE_MS);
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
    await remaining('a');
    renewing.open();
    const engine = await joining;
    expect(board.engines.get('a')).toBe(engine);
    expect(new Set(ended)).toEqual(new Set(['b: no heartbeat for 0.03 s']));
  });

  it('keeps no other sessions open when it cannot be ended, and is tried again only after its idle time', async () => {
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
    await pass(LEASE_MS);
    expect(failures).toHaveLength(MAX_IDLE_ENDS);
    await pass(IDLE_MS);
    await until(
      () => Promise.resolve(failures.length),
      (count) => count >= 2 * MAX_IDLE_ENDS,
    );
    await pass(0);
    expect(failures).toHaveLength(2 * MAX_IDLE_ENDS);
  });

  it('is left alone while its stream is parked', async () => {
    await store.append(engineSessionStream(idOf('a')), 'any', [newEvent('EngineSessionEnded', Buffer.from([255]))]);
    board = opened(false);
    await board.start();
    expect(parked).toBe(1);
    atMs = LEASE_MS;
    await remaining('a');
    await pass(0);
    expect(new Set(readOf)).toEqual(new Set(['b']));
  });
});
