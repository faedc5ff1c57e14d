import { rmSync } from 'node:fs';
import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { WorkflowExecution_Phase as Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';
import {
  EngineSessionEndedSchema,
  EngineSessionOpenedSchema,
} from '../../../proto/gen/platformidl/eventlog/engine_session_pb.js';
import {
  WorkLaunchSchema,
  WorkRequestSchema,
  type WorkResponse,
  WorkResponseSchema,
} from '../../../proto/gen/platformidl/eventlog/engine_work_pb.js';
import {
  ExecutionCreatedSchema,
  ExecutionExpiredSchema,
  TerminationRequestedSchema,
  WorkLeasedSchema,
  WorkReturnedSchema,
} from '../../../proto/gen/platformidl/eventlog/execution_pb.js';
import { engineSessionStream } from '../../../services/engine-session/events.js';
import { StoreUnavailable } from '../../../services/kernel/fault.js';
import type { EventStore } from '../../../services/kernel/ports/event-store.js';
import type { FeedServices } from '../../../services/streams/engine-feed/admission.js';
import { type EngineFeed, openEngineFeed } from '../../../services/streams/engine-feed/feed.js';
import type { HeldLease } from '../../../services/streams/engine-feed/ports.js';
import { executionStream, newEvent, openEmptyLog } from '../../support/streams/filled-log.js';
import { until } from '../../support/until.js';

type Request = NonNullable<MessageInitShape<typeof WorkRequestSchema>['message']>;
type Response = WorkResponse['message'];

const idOf = (name: string) => ({ project: 'flytesnacks', domain: 'development', name });
const call = { principal: 'root', requestId: 'r', isCancelled: () => false, answeredAt: () => undefined };
const away = new StoreUnavailable('the store is away');

const unused = (): never => {
  throw new Error('no test calls this');
};

describe('an engine of the feed', () => {
  let directory: string;
  let store: EventStore;
  let feed: EngineFeed;
  /** Aborts when the engine disconnects. */
  let gone: AbortController;
  /** The number of leases and sessions so far. */
  let numbers: number;
  /** The failures that the feed has reported. */
  let failures: unknown[];
  /** Called before the answer to each lease that was recorded. */
  let onLeased: (name: string) => Promise<void>;
  /** The number of leases that are answered as refused, though they were recorded. */
  let refusals: number;
  /** Called before a lease is given back. */
  let onGiveBack: () => Promise<void>;
  /** Called while a launch is composed. */
  let onLaunch: (name: string) => Promise<void>;
  /** Called before a session is recorded. */
  let onOpen: () => Promise<void>;

  /** Appends an event to the stream of an execution. */
  const append = async (name: string, type: string, data: Uint8Array): Promise<void> => {
    await store.append(executionStream(name), 'any', [newEvent(type, data)]);
  };
  const launch = (name: string) =>
    append(
      name,
      'ExecutionCreated',
      toBinary(ExecutionCreatedSchema, create(ExecutionCreatedSchema, { id: idOf(name) })),
    );
  const expire = (name: string) =>
    append(
      name,
      'ExecutionExpired',
      toBinary(ExecutionExpiredSchema, create(ExecutionExpiredSchema, { phase: Phase.ABORTED })),
    );
  const terminate = (name: string) =>
    append(
      name,
      'TerminationRequested',
      toBinary(TerminationRequestedSchema, create(TerminationRequestedSchema, { cause: 'stop' })),
    );

  const leases: FeedServices['leases'] = {
    lease: async ({ name }, { session }) => {
      numbers += 1;
      const number = numbers;
      const leased = create(WorkLeasedSchema, { id: idOf(name), number: BigInt(number), session });
      await append(name, 'WorkLeased', toBinary(WorkLeasedSchema, leased));
      await onLeased(name);
      return (refusals -= 1) >= 0 ? { kind: 'refused', reason: 'leased' } : { kind: 'leased', number, position: 1n };
    },
    giveBack: async ({ id: { name }, number }: HeldLease) => {
      await onGiveBack();
      const returned = create(WorkReturnedSchema, { id: idOf(name), number: BigInt(number) });
      await append(name, 'WorkReturned', toBinary(WorkReturnedSchema, returned));
      return true;
    },
    fail: unused,
    held: () => Promise.reject(away),
    launch: async ({ id: { name } }) => {
      await onLaunch(name);
      return create(WorkLaunchSchema);
    },
  };

  const sessions: FeedServices['sessions'] = {
    open: async (id) => {
      await onOpen();
      const opened = toBinary(EngineSessionOpenedSchema, create(EngineSessionOpenedSchema, id));
      await store.append(engineSessionStream(id), 'any', [newEvent('EngineSessionOpened', opened)]);
    },
    end: async (id, cause) => {
      const data = create(EngineSessionEndedSchema, { session: id.session, cause });
      const ended = toBinary(EngineSessionEndedSchema, data);
      await store.append(engineSessionStream(id), 'any', [newEvent('EngineSessionEnded', ended)]);
    },
    ...{ renew: () => Promise.resolve(true), renewals: () => Promise.resolve(0) },
  };

  /** Joins with free places; returns what the engine gets, its end, and functions that send messages. */
  const join = (freePlaces: number) => {
    const waiting: Request[] = [{ case: 'join', value: { group: 'default', engine: 'e', freePlaces } }];
    let wake = (): void => undefined;
    const requests = async function* (): AsyncGenerator<Uint8Array> {
      while (!gone.signal.aborted) {
        const message = waiting.shift();
        if (message) yield toBinary(WorkRequestSchema, create(WorkRequestSchema, { message }));
        else await new Promise<void>((resolve) => (wake = resolve));
      }
    };
    const received: Response[] = [];
    const read = async (): Promise<unknown> => {
      try {
        for await (const bytes of feed.open(requests(), call, gone.signal))
          received.push(fromBinary(WorkResponseSchema, bytes).message);
        return undefined;
      } catch (error) {
        return error;
      }
    };
    const send = (message: Request): void => {
      waiting.push(message);
      wake();
    };
    const gets = (kind: Response['case'], count = 1) =>
      until(
        () => Promise.resolve(received.filter((message) => message.case === kind)),
        ({ length }) => length >= count,
      );
    /** Sends heartbeats until the engine has got a message of this kind. */
    const beatUntil = async (kind: Response['case']): Promise<void> => {
      const heartbeats = setInterval(() => send({ case: 'heartbeat', value: {} }), 20);
      await gets(kind).finally(() => clearInterval(heartbeats));
    };
    return { received, send, gets, beatUntil, ended: read() };
  };

  beforeEach(async () => {
    ({ directory, store } = await openEmptyLog());
    [gone, numbers, failures, refusals] = [new AbortController(), 0, [], 0];
    const atOnce = (): Promise<void> => Promise.resolve();
    [onLeased, onGiveBack, onLaunch, onOpen] = [atOnce, atOnce, atOnce, atOnce];
    feed = openEngineFeed({
      ...{ log: store, leases, sessions, positionToken: String, weightOf: () => 1 },
      ...{ leaseMs: 30_000, isShared: false, now: () => 0, steadyMs: () => 0, newSession: () => `s${(numbers += 1)}` },
      ...{ onParked: unused, onFailure: (error: unknown) => void failures.push(error) },
    });
  });
  afterEach(async () => {
    gone.abort();
    await feed.close();
    await store.close();
    rmSync(directory, { recursive: true });
  });

  it('gets no more launches than it has places, though one is being decided when it states them', async () => {
    let decide = (): void => undefined;
    const decided = new Promise<void>((resolve) => (decide = resolve));
    onLeased = () => decided;
    for (const name of ['e1', 'e2']) await launch(name);
    const { received, send, gets } = join(1);
    await until(
      () => Promise.resolve(numbers),
      (count) => count === 2, // its session, and its first lease
    );
    send({ case: 'places', value: { free: 1 } });
    send({ case: 'heartbeat', value: {} });
    await gets('renewed');
    expect(numbers).toBe(2); // it has no second lease
    decide();
    await gets('launch');
    send({ case: 'places', value: { free: 1 } });
    await gets('launch', 2);
    expect(received.filter((message) => message.case === 'launch')).toHaveLength(2);
  });

  it('gets an execution whose lease was recorded though the answer was lost', async () => {
    let losses = 1; // answers that are still to be lost
    onLeased = async () => {
      const { engines } = await until(
        () => feed.known(),
        ({ engines: known }) => known.some(({ leased }) => leased.length > 0),
      );
      if (engines.length > 0 && (losses -= 1) >= 0) throw away;
    };
    await launch('e1');
    await join(1).beatUntil('launch');
    expect(failures).toEqual([away]);
  });

  it('gets an execution of which a lease is read while another one is refused', async () => {
    refusals = 1;
    onLeased = async () => {
      await until(
        () => feed.known(),
        ({ engines }) => engines.some(({ leased }) => leased.length > 0),
      );
    };
    await launch('e1');
    await join(1).beatUntil('launch');
    expect(failures).toEqual([]);
  });

  it('gets an execution that could not be given back at once', async () => {
    let losses = 2; // the answer to the lease, and the first return
    onLeased = async () => {
      await until(
        () => feed.known(),
        ({ engines }) => engines.some(({ leased }) => leased.length > 0),
      );
      if (losses === 2) throw away;
    };
    onGiveBack = () => ((losses -= 1) > 0 ? Promise.reject(away) : Promise.resolve());
    await launch('e1');
    await join(1).beatUntil('launch');
    expect(failures).toEqual([away, away]);
  });

  it('keeps a lease that another process gave it, until a heartbeat shows that it has lost the launch', async () => {
    let returns = 0;
    onGiveBack = () => Promise.resolve(void (returns += 1));
    const { gets, beatUntil } = join(0);
    await gets('joined');
    await launch('e1');
    const leased = create(WorkLeasedSchema, { id: idOf('e1'), number: 7n, session: 's1' });
    await append('e1', 'WorkLeased', toBinary(WorkLeasedSchema, leased));
    await until(
      () => feed.known(),
      ({ engines }) => engines.some((engine) => engine.leased.length > 0),
    );
    expect(returns).toBe(0);
    await beatUntil('renewed');
    await until(
      () => feed.known(),
      ({ waiting }) => waiting === 1,
    );
  });

  it('gets no message about a launch that was not sent when its session ends', async () => {
    onLaunch = () => new Promise(() => undefined);
    await launch('e1');
    const first = join(1);
    await until(
      () => feed.known(),
      ({ engines }) => engines.some(({ leased }) => leased.length > 0),
    );
    join(0);
    expect(await first.ended).toMatchObject({ code: 'FAILED_PRECONDITION' });
    expect(first.received.map((message) => message.case)).toEqual(['joined']);
  });

  it('leaves with a stream that ends without an error', async () => {
    await launch('e1');
    const { received, send, gets, ended } = join(1);
    await gets('launch');
    send({ case: 'leave', value: {} });
    expect(await ended).toBeUndefined();
    expect(received.map((message) => message.case)).toEqual(['joined', 'launch']);
    await until(
      () => feed.known(),
      ({ engines, waiting }) => engines.length === 0 && waiting === 1,
    );
  });

  it('gets neither the launch nor the end of an execution that has ended before the launch is sent', async () => {
    onLaunch = async (name) => {
      if (name !== 'e1') return;
      await expire(name);
      await until(
        () => feed.known(),
        ({ engines }) => engines.every(({ leased }) => leased.length === 0),
      );
    };
    await launch('e1');
    const { received, gets } = join(1);
    await until(
      () => Promise.resolve(numbers),
      (count) => count === 2, // its session, and the lease of e1
    );
    await launch('e2');
    await gets('launch');
    expect(
      received.flatMap(({ case: kind, value }) => (kind === 'launch' ? value.lease?.execution?.name : [])),
    ).toEqual(['e2']);
    expect(received.map((message) => message.case)).not.toContain('update');
  });

  it('learns that there is work while it is not offered an execution whose launch could not be composed', async () => {
    onLaunch = () => Promise.reject(away);
    await launch('e1');
    const { send, gets } = join(1);
    await until(
      () => Promise.resolve(failures),
      ({ length }) => length > 0,
    );
    send({ case: 'heartbeat', value: { askOtherWork: true } });
    const [renewed] = await gets('renewed');
    expect(renewed).toMatchObject({ value: { hasOtherWork: true } });
  });

  it('is disconnected when the abort of its execution cannot be read', async () => {
    await launch('e1');
    const { gets, ended } = join(1);
    await gets('launch');
    await terminate('e1');
    expect(await ended).toMatchObject({ code: 'UNAVAILABLE' });
    expect(failures).toEqual([away]);
  });

  it('ends the session of an engine of its name that joins at the same time', async () => {
    onOpen = () => new Promise((resolve) => setTimeout(resolve, 50));
    const [first, second] = [join(1), join(1)];
    expect(await first.ended).toMatchObject({ code: 'FAILED_PRECONDITION' });
    await second.gets('joined');
    const { engines } = await feed.known();
    expect(engines).toHaveLength(1);
  });
});
