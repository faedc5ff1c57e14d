import { create } from '@bufbuild/protobuf';
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

import { ParkedStreamRequestSchema } from '../../../proto/gen/platformidl/eventlog/operations_service_pb.js';
import { StreamParked, UnknownEvent } from '../../../services/kernel/fault.js';
import type { EventCodec } from '../../../services/kernel/aggregate.js';
import type { RecordedEvent } from '../../../services/kernel/event.js';
import { parkableFold } from '../../../services/kernel/log-readers/parkable-fold.js';
import { parkedStreams, type ParkedStreams } from '../../../services/kernel/log-readers/parked-streams.js';
import type { EventStore } from '../../../services/kernel/ports/event-store.js';
import type { Call, Route } from '../../../services/kernel/rpc.js';
import { type StreamName, streamName } from '../../../services/kernel/stream.js';
import { retryParkedStreams } from '../../../services/main/log/parked-retries.js';
import { RETRIES_STREAM } from '../../../services/parked-stream/events.js';
import { parkedStreamRoutes } from '../../../services/parked-stream/rpc.js';
import { foldedStreams, followFolds } from '../../../services/reference/live-folds.js';
import { lastRetries, type RetryRequests } from '../../../services/reference/retry-requests.js';
import { openSessions } from '../../../services/sessions/sessions.js';
import { filePayloadStore } from '../../../services/store/payloads/file-payload-store.js';
import { executionStream, newEvent, openEmptyLog, report } from '../../support/streams/filled-log.js';
import { until } from '../../support/until.js';

let directory: string;
let store: EventStore;
let format: number; // of the log; requests are recorded from format 2 on
let answeredAt: bigint;

const call: Call = {
  ...{ principal: 'ann', requestId: 'r', isCancelled: () => false },
  answeredAt: (position) => (answeredAt = position),
};

/** Asks RetryParkedStream to resume a stream. */
const ask = async (stream: string): Promise<void> => {
  const sessions = openSessions({ store, payloads: filePayloadStore({ directory }), now: () => 1_000 });
  const [retry] = parkedStreamRoutes({ sessions, log: store, format: () => format }) as readonly [Route];
  await retry.handle(create(ParkedStreamRequestSchema, { stream }) as never, { ...call, requestId: randomUUID() });
};

const recordedIn = async (stream: StreamName): Promise<readonly RecordedEvent[]> => {
  const recorded: RecordedEvent[] = [];
  for await (const page of store.readStream(stream)) recorded.push(...page);
  return recorded;
};

beforeEach(async () => {
  ({ directory, store } = await openEmptyLog());
  [format, answeredAt] = [2, 0n];
});
afterEach(async () => {
  await store.close();
  rmSync(directory, { recursive: true });
});

describe('RetryParkedStream', () => {
  beforeEach(() => report(store, 1, 1, 1)); // one event in the stream of the execution e0

  it('records each request for a stream, with its caller', async () => {
    await ask(executionStream('e0'));
    await ask(executionStream('e0'));
    expect([...(await lastRetries(store))]).toEqual([
      [executionStream('e0'), expect.objectContaining({ actor: 'ann', recordedAtMs: 1_000 })],
    ]);
    expect(answeredAt).toBe(await store.head());
    expect(await recordedIn(RETRIES_STREAM)).toHaveLength(2);
  });

  it('refuses a name with a NUL, at which the embedded log would end the name', async () => {
    await expect(ask(`${executionStream('e0')}\0more`)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect(await recordedIn(RETRIES_STREAM)).toHaveLength(0);
  });

  it('refuses a stream that is not there, and a log of a format without such requests', async () => {
    await expect(ask('')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await expect(ask(executionStream('nothing'))).rejects.toMatchObject({ code: 'NOT_FOUND' });
    format = 1;
    await expect(ask(executionStream('e0'))).rejects.toMatchObject({ code: 'FAILED_PRECONDITION' });
    expect(await lastRetries(store)).toEqual(new Map());
  });
});

describe('a request that this release cannot read', () => {
  /** Appends an event of a type that this release does not know to the requests. */
  const ofNewerRelease = () => store.append(RETRIES_STREAM, 'any', [newEvent('OfANewerRelease', new Uint8Array())]);

  it('does not hide other requests in the list', async () => {
    await report(store, 1, 1, 1);
    await ask(executionStream('e0'));
    await ofNewerRelease();
    const unreadable: string[] = [];
    const last = await lastRetries(store, ({ stream }) => unreadable.push(stream));
    expect([[...last.keys()], unreadable]).toEqual([[executionStream('e0')], [RETRIES_STREAM]]);
  });

  it('does not end the process, and a later request is carried out', async () => {
    const parked = parkedStreams(() => undefined);
    const retries = await retryParkedStreams({ store, parked, logger: pino({ enabled: false }) });
    await report(store, 1, 1, 1);
    parked.note(new StreamParked(executionStream('e0'), 1n, new UnknownEvent('unknown')));
    await ask(executionStream('e0'));
    const [request] = await recordedIn(RETRIES_STREAM);
    await until(
      () => Promise.resolve(parked.all()),
      ({ length }) => length === 0,
    );

    parked.note(new StreamParked(executionStream('e0'), 1n, new UnknownEvent('unknown')));
    await ofNewerRelease();
    await store.append(RETRIES_STREAM, 'any', [newEvent(request!.type, request!.data)]);
    await until(
      () => Promise.resolve(parked.all().map((each) => each.stream)),
      (streams) => streams.join() === RETRIES_STREAM,
    );
    await retries.close();
    await retries.ended;
  });
});

describe('a process that has parked a stream', () => {
  const stream = executionStream('e0');
  let isReadable: boolean;
  let parked: ParkedStreams;
  let retries: RetryRequests;
  let logged: string[];
  let errors: (string | undefined)[];
  let damage: Partial<RecordedEvent>;

  /** A log whose streams cannot be read until they are repaired. */
  const damaged = (): EventStore => ({
    ...store,
    async *readStream(name, options) {
      for await (const page of store.readStream(name, options))
        yield page.map((event) => (isReadable ? event : { ...event, ...damage }));
    },
  });

  beforeEach(async () => {
    [isReadable, logged, errors, damage] = [false, [], [], { type: 'OfANewerRelease' }];
    parked = parkedStreams(() => undefined);
    await report(store, 1, 2, 3); // two batches of three events in the stream of the execution e0
    const note = ({ msg, err }: { readonly msg: string; readonly err?: { readonly message: string } }): void => {
      logged.push(msg);
      errors.push(err?.message);
    };
    const logger = pino({}, { write: (line) => note(JSON.parse(line) as Parameters<typeof note>[0]) });
    retries = await retryParkedStreams({ store: damaged(), parked, logger });
    parked.note(new StreamParked(stream, 2n, new UnknownEvent('unknown')));
  });
  afterEach(() => retries.close());

  /** Waits until `lines` lines were logged. */
  const untilLogged = (lines: number) =>
    until(
      () => Promise.resolve(logged),
      ({ length }) => length >= lines,
    );

  it('leaves it parked while an event cannot be read, and then resumes it', async () => {
    const resumed: StreamName[] = [];
    parked.onResumed((each) => resumed.push(each));
    const folded: number[] = [];
    parked.onResuming(async () => {
      await store.head();
      folded.push(resumed.length);
    });
    parked.onResuming(() => Promise.reject(new Error('a fold that is wrong')));
    await ask(stream);
    await untilLogged(1);
    expect([resumed, parked.all().length]).toEqual([[], 1]);

    isReadable = true;
    await store.append(executionStream('of-others'), 'no-stream', [newEvent('Unknown', new Uint8Array())]);
    await ask(executionStream('of-others')); // this process has not parked it
    await ask(stream);
    await untilLogged(2);
    expect([resumed, parked.all().length]).toEqual([[stream], 0]);
    expect(folded).toEqual([0]); // the folds come before the listeners, which read what the folds have made
    expect(logged).toEqual([
      'the stream stays parked',
      'the stream can be read again, but what was made of it is not up to date',
    ]);
    expect(errors.at(-1)).toBe('a fold that is wrong');
  });

  it('leaves it parked while the metadata of an event are damaged', async () => {
    damage = { metadata: '{"schema":1}' };
    await ask(stream);
    await untilLogged(1);
    expect([logged, parked.all().length]).toEqual([['the stream stays parked'], 1]);
  });
});

describe('a fold of parked streams', () => {
  const stream = streamName('counter', ['one']);
  const reported: StreamName[] = [];
  let isReadable: boolean;

  /** Decodes each event as 1, so that the state is the number of events folded. */
  const codec = {
    decode: (type: string) => {
      if (type === 'Unknown' && !isReadable) throw new UnknownEvent(type);
      return 1;
    },
  } as unknown as EventCodec<number>;

  const append = async (...types: readonly string[]): Promise<bigint> =>
    (
      await store.append(
        stream,
        'any',
        types.map((type) => newEvent(type, new Uint8Array())),
      )
    ).position;

  it('goes on with the events that it has missed, also those that come while it reads', async () => {
    isReadable = false;
    const fold = foldedStreams<number, number>(
      { category: 'counter', codec, initial: () => 0, evolve: (sum, by) => sum + by },
      (error) => reported.push(error.stream as StreamName),
    );
    const following = followFolds(store, [fold]);
    await following.reached(await append('Known', 'Unknown', 'Known'), 5_000);
    expect(fold.entries.get(stream)?.state).toBe(1);

    await fold.resume(stream, store);
    expect([fold.isParked(stream), reported]).toEqual([true, [stream, stream]]);

    isReadable = true;
    let late = 0n;
    /** Records an event after the last page, which the subscription then brings while the stream is parked. */
    const log: Pick<EventStore, 'readStream'> = {
      async *readStream(...asked) {
        yield* store.readStream(...asked);
        if (late > 0n) return;
        late = await append('Known');
        await following.reached(late, 5_000);
      },
    };
    await fold.resume(stream, log);
    expect([fold.isParked(stream), fold.entries.get(stream)?.state]).toEqual([false, 4]);
    await following.reached(await append('Known'), 5_000);
    expect(fold.entries.get(stream)?.state).toBe(5);
    await following.close();
  });

  it('is not changed by a request that still reads the stream when another request has resumed the stream', async () => {
    isReadable = false;
    const folded: bigint[] = [];
    const fold = parkableFold(
      ({ revision, type, position }) => {
        if (type === 'Unknown' && !isReadable) throw new StreamParked(stream, position, 'unknown');
        folded.push(revision);
      },
      () => undefined,
    );
    /** Appends events and gives them to the fold, as the subscription does; returns the last. */
    const appendAndTake = async (...types: readonly string[]): Promise<RecordedEvent> => {
      await append(...types);
      const events: RecordedEvent[] = [];
      for await (const page of store.readStream(stream)) events.push(...page);
      for (const event of events.slice(-types.length)) fold.fold(event);
      return events.at(-1)!;
    };
    await appendAndTake('Unknown', 'Known');
    isReadable = true;
    let releaseRead = (): void => undefined;
    const released = new Promise<void>((resolve) => (releaseRead = resolve));
    const slow: Pick<EventStore, 'readStream'> = {
      async *readStream(...read) {
        await released;
        yield* store.readStream(...read);
      },
    };
    const late = fold.resume(stream, slow);
    await fold.resume(stream, store);
    await appendAndTake('Known');
    isReadable = false;
    const { position } = await appendAndTake('Unknown');
    isReadable = true;
    releaseRead();
    await late;
    expect([folded, fold.reasonOf(stream)?.position]).toEqual([[0n, 1n, 2n], position]);
  });

  it('folds an event that comes in the turn of the event loop in which the last page has ended', async () => {
    isReadable = false;
    const folded: bigint[] = [];
    const fold = parkableFold(
      ({ revision, position }) => {
        if (!isReadable) throw new StreamParked(stream, position, 'unknown');
        folded.push(revision);
      },
      () => undefined,
    );
    await append('Known', 'Known');
    const events: RecordedEvent[] = [];
    for await (const page of store.readStream(stream)) events.push(...page);
    const [first, late] = events as [RecordedEvent, RecordedEvent];
    fold.fold(first);
    isReadable = true;
    /** Yields the first event; when it ends, the second comes right after the reader has seen the end. */
    const upToFirst = (): AsyncIterableIterator<RecordedEvent[]> => {
      const pages = [[first]];
      return {
        [Symbol.asyncIterator]: upToFirst,
        next: () => {
          const value = pages.shift();
          if (value) return Promise.resolve({ value });
          const end = new Promise<IteratorReturnResult<undefined>>((resolve) =>
            setImmediate(() => resolve({ done: true, value: undefined })),
          );
          queueMicrotask(() => void end.then(() => fold.fold(late)));
          return end;
        },
      };
    };
    await fold.resume(stream, { readStream: upToFirst });
    expect(fold.reasonOf(stream)).toBeUndefined();
    expect(folded).toEqual([0n, 1n]);
  });

  it('throws an unexpected error, and stays parked', async () => {
    let isBroken = false;
    const fold = parkableFold(
      ({ position }) => {
        throw isBroken ? new TypeError('a defect') : new StreamParked(stream, position, 'unknown');
      },
      () => undefined,
    );
    await append('Known');
    for await (const page of store.readStream(stream)) for (const event of page) fold.fold(event);
    isBroken = true;
    await expect(fold.resume(stream, store)).rejects.toThrow('a defect');
    expect(fold.reasonOf(stream)).toBeDefined();
  });
});
