import { rmSync } from 'node:fs';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { WorkflowExecution_Phase as Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import { EngineSessionOpenedSchema } from '../../../proto/gen/platformidl/eventlog/engine_session_pb.js';
import {
  WorkAbortSchema,
  WorkJoinSchema,
  WorkResponseSchema,
} from '../../../proto/gen/platformidl/eventlog/engine_work_pb.js';
import {
  ExecutionCreatedSchema,
  ExecutionExpiredSchema,
  TerminationRequestedSchema,
  WorkLeasedSchema,
} from '../../../proto/gen/platformidl/eventlog/execution_pb.js';
import { engineSessionStream } from '../../../services/engine-session/events.js';
import type { EventStore } from '../../../services/kernel/ports/event-store.js';
import { engineAdmission, type FeedServices } from '../../../services/streams/engine-feed/admission.js';
import { openSendQueue } from '../../../services/streams/engine-feed/send-queue.js';
import { WorkBoard } from '../../../services/streams/engine-feed/work-board.js';
import { executionStream, newEvent, openEmptyLog } from '../../support/streams/filled-log.js';
import { until } from '../../support/until.js';

/** The session in which the engine `e` got its leases. */
const SESSION = { group: 'default', engine: 'e', session: 's' };
/** The executions that the engine has leases of. */
const NAMES = ['e1', 'e2', 'e3'];
const idOf = (name: string) => ({ project: 'flytesnacks', domain: 'development', name });

const call = { principal: 'root', requestId: 'r', isCancelled: () => false, answeredAt: () => undefined };

const unused = (): never => {
  throw new Error('no test calls this');
};

describe('an engine that joins again', () => {
  let directory: string;
  let store: EventStore;
  let board: WorkBoard;
  let services: FeedServices;
  /** The executions whose leases were read, in order. */
  let reads: string[];
  /** The executions that have ended. */
  let ended: string[];
  /** The executions whose abort was requested. */
  let aborted: string[];
  /** Called with each execution whose lease was read, before the result is given. */
  let onRead: (name: string) => Promise<void>;

  /** Ends an execution. */
  const expire = async (name: string): Promise<void> => {
    const expired = create(ExecutionExpiredSchema, { phase: Phase.ABORTED });
    const event = newEvent('ExecutionExpired', toBinary(ExecutionExpiredSchema, expired));
    await store.append(executionStream(name), 'any', [event]);
    ended.push(name);
  };

  /** Requests the abort of an execution; resolves when the board has folded that. */
  const abort = async (name: string): Promise<void> => {
    const requested = create(TerminationRequestedSchema, { cause: 'stop' });
    const event = newEvent('TerminationRequested', toBinary(TerminationRequestedSchema, requested));
    await store.append(executionStream(name), 'any', [event]);
    aborted.push(name);
    await until(() => Promise.resolve(board.isAborting(idOf(name))), Boolean);
  };

  beforeEach(async () => {
    ({ directory, store } = await openEmptyLog());
    [reads, ended, aborted] = [[], [], []];
    onRead = () => Promise.resolve();
    const opened = create(EngineSessionOpenedSchema, SESSION);
    const session = newEvent('EngineSessionOpened', toBinary(EngineSessionOpenedSchema, opened));
    await store.append(engineSessionStream(SESSION), 'any', [session]);
    for (const name of NAMES) {
      const created = create(ExecutionCreatedSchema, { id: idOf(name) });
      const leased = create(WorkLeasedSchema, { number: 1n, session: SESSION.session });
      await store.append(executionStream(name), 'any', [
        newEvent('ExecutionCreated', toBinary(ExecutionCreatedSchema, created)),
        newEvent('WorkLeased', toBinary(WorkLeasedSchema, leased)),
      ]);
    }
    services = {
      log: store,
      leases: {
        ...{ lease: unused, giveBack: unused, fail: unused, launch: unused },
        held: async ({ id: { name } }) => {
          reads.push(name);
          const found = {
            abort: aborted.includes(name) ? create(WorkAbortSchema) : undefined,
            ended: ended.includes(name) ? Phase.ABORTED : undefined,
          };
          await onRead(name);
          return found;
        },
      },
      sessions: {
        ...{ open: unused, end: unused },
        renew: () => Promise.resolve(true),
        renewals: () => Promise.resolve(0),
      },
      ...{
        positionToken: String,
        weightOf: () => 1,
        leaseMs: 30_000,
        isShared: false,
        now: () => 0,
        steadyMs: () => 0,
      },
      ...{ newSession: unused, onParked: unused, onFailure: unused },
    };
    board = new WorkBoard(services);
  });
  afterEach(async () => {
    await board.close();
    await store.close();
    rmSync(directory, { recursive: true });
  });

  /** Joins with all leases; returns a function that gives the next end or abort that is sent, with its execution. */
  const rejoin = async () => {
    const [sendQueue, gone] = [openSendQueue(), new AbortController()];
    const leases = NAMES.map((name) => ({ execution: idOf(name), number: 1n }));
    await engineAdmission(services, board)(create(WorkJoinSchema, { ...SESSION, leases }), { call, sendQueue });
    const messages = sendQueue.messages(gone.signal);
    const nextEndOrAbort = async (): Promise<string | undefined> => {
      for (;;) {
        const next = await messages.next();
        if (next.done === true) return undefined;
        const { message } = fromBinary(WorkResponseSchema, next.value);
        if (message.case === 'update' || message.case === 'abort')
          return `${message.case} ${message.value.lease?.execution?.name}`;
      }
    };
    return { nextEndOrAbort };
  };

  it('has each of its leases read once while the executions are open', async () => {
    await board.start();
    const { nextEndOrAbort } = await rejoin();
    await expire('e2');
    expect(await nextEndOrAbort()).toBe('update e2');
    expect(reads).toEqual(NAMES);
  });

  it('gets the end of an execution that had ended before the engine joined again', async () => {
    await expire('e3');
    await board.start();
    const { nextEndOrAbort } = await rejoin();
    expect(await nextEndOrAbort()).toBe('update e3');
  });

  it('gets the abort of an execution that is requested after its lease was read', async () => {
    await board.start();
    onRead = async (name) => {
      if (name === 'e3') await abort('e1');
    };
    const { nextEndOrAbort } = await rejoin();
    expect(await nextEndOrAbort()).toBe('abort e1');
    expect(reads).toEqual([...NAMES, 'e1']);
  });

  it('gets the index of a lease that names no execution', async () => {
    const leases = [{ execution: idOf('e1'), number: 1n }, { number: 1n }];
    const join = create(WorkJoinSchema, { ...SESSION, leases });
    const joining = engineAdmission(services, board)(join, { call, sendQueue: openSendQueue() });
    await expect(joining).rejects.toThrow('invalid value for join.leases[1].execution: it is not set');
  });

  it('is not connected when its stream has ended before it was admitted', async () => {
    const sendQueue = openSendQueue();
    const joining = engineAdmission(services, board)(create(WorkJoinSchema, SESSION), { call, sendQueue });
    sendQueue.end();
    await expect(joining).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(board.engines.size).toBe(0);
  });
});
