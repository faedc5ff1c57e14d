import { create, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { ExecutionCreatedSchema } from '../../../../proto/gen/platformidl/eventlog/execution_pb.js';
import { TailRequestSchema } from '../../../../proto/gen/platformidl/eventlog/tail_pb.js';
import { tailWaits } from '../../../../services/main/tail/tail-waits.js';
import type { EventStore } from '../../../../services/kernel/ports/event-store.js';
import { type LiveFeed, openLiveFeed } from '../../../../services/streams/tail/live-feed.js';
import { labelsFrom } from '../../../../services/streams/tail/selection.js';
import { metadataOf, type RecordedEvent } from '../../../../services/kernel/event.js';
import type { StreamName } from '../../../../services/kernel/stream.js';
import { sharedBatches, tailLog, type TailConsumer, type TailSources } from '../../../../services/streams/tail/tail.js';
import { executionStream, newEvent, nodeReported, openEmptyLog, report } from '../../../support/streams/filled-log.js';
import { until } from '../../../support/until.js';

type Asked = { readonly [Field in keyof MessageInitShape<typeof TailRequestSchema>]?: unknown };

/** The events that the live feed holds. */
const FEED_EVENTS = 4_096;

let store: EventStore;
let feed: LiveFeed;
let sources: TailSources;

beforeAll(async () => {
  ({ store } = await openEmptyLog());
  await report(store, 3, 2); // 60 events, in the streams of e0, e1 and e2
  feed = await openLiveFeed(store, FEED_EVENTS);
  sources = { log: store, feed, labelsOf: labelsFrom(store), batches: sharedBatches(), reach: tailWaits(store, feed) };
});
afterAll(async () => {
  await feed.close();
  await store.close();
});

type Answer = { readonly position: string; readonly stream?: string; readonly type?: string };

const encoded = (answer: Answer): Buffer => Buffer.from(`${JSON.stringify(answer)}\n`);

/** One line of JSON for each answer. */
const consumer: TailConsumer = {
  encoding: {
    name: 'lines',
    event: ({ position, stream, type }: RecordedEvent) => encoded({ position: String(position), stream, type }),
    checkpoint: (position) => encoded({ position: String(position) }),
  },
  isOver: () => false,
};

/** The events in a batch of lines, without the checkpoints. */
const eventsIn = (batch: Uint8Array): readonly Answer[] =>
  Buffer.from(batch)
    .toString()
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Answer)
    .filter(({ type }) => type !== undefined);

/** Takes answers of a tail until they have `events` events. */
const taken = async (asked: Asked, events: number): Promise<readonly Answer[]> => {
  const found: Answer[] = [];
  for await (const batch of tailLog(sources, create(TailRequestSchema, asked as never), consumer)) {
    found.push(...eventsIn(batch));
    if (found.length >= events) break;
  }
  return found.slice(0, events);
};

const positions = (answers: readonly Answer[]) => answers.map(({ position }) => BigInt(position));

/** The events of the log. */
const recorded = async (): Promise<RecordedEvent[]> => {
  const events: RecordedEvent[] = [];
  for await (const page of store.readLog({ after: 0n })) events.push(...page.events);
  return events;
};

describe('a tail', () => {
  it('has every event once and in order: those of the log, then those that come', async () => {
    const before = await store.head();
    const reading = taken({ from: 'start' }, Number(before) + 30);
    await report(store, 3, 1); // 30 events
    const answers = await reading;
    expect(positions(answers)).toEqual(Array.from({ length: Number(before) + 30 }, (_, index) => BigInt(index + 1)));
  });

  it('goes on after the last event that its consumer has', async () => {
    expect(positions(await taken({ lastEventId: '7', from: 'start' }, 2))).toEqual([8n, 9n]);
  });

  it('begins at a position, and at a time', async () => {
    expect(positions(await taken({ from: '7' }, 2))).toEqual([7n, 8n]);
    const events = await recorded();
    const lastMs = metadataOf(events.at(-1)!).recordedAtMs;
    const first = events.find((event) => metadataOf(event).recordedAtMs >= lastMs)!;
    expect(positions(await taken({ from: new Date(lastMs).toISOString() }, 1))).toEqual([first.position]);
  });

  it('has only what matches the filters', async () => {
    const scope = { project: 'flytesnacks', domain: 'development' };
    const answers = await taken({ from: 'start', ...scope, name: 'e1', nodeId: 'n3', phases: ['RUNNING'] }, 1);
    // The first event of the stream is the report of n0.
    const [, , , reportOfN3] = (await recorded()).filter(({ stream }) => stream === executionStream('e1'));
    expect(answers).toMatchObject([{ position: String(reportOfN3!.position), type: 'NodePhaseReported' }]);
  });

  it('of a project passes over streams of other programs, whatever their names', async () => {
    const before = await store.head();
    await store.append('orders-50%' as StreamName, 'no-stream', [newEvent('OrderPlaced', new Uint8Array())]);
    await store.append(executionStream('after'), 'no-stream', [nodeReported('after', 1)]);
    const answers = await taken({ lastEventId: String(before), project: 'flytesnacks' }, 1);
    expect(answers[0]).toMatchObject({ stream: executionStream('after') });
  });

  it('with labels has the events of executions with them, and of those whose labels cannot be read', async () => {
    const created = (team: string): Uint8Array =>
      toBinary(ExecutionCreatedSchema, create(ExecutionCreatedSchema, { spec: { labels: { values: { team } } } }));
    const before = await store.head();
    const data = { growth: created('growth'), other: created('other'), damaged: Uint8Array.of(0xff) };
    for (const [name, bytes] of Object.entries(data))
      await store.append(executionStream(name), 'no-stream', [newEvent('ExecutionCreated', bytes)]);
    for (const name of Object.keys(data)) await store.append(executionStream(name), 'any', [nodeReported(name, 1)]);
    const answers = await taken({ lastEventId: String(before), labels: ['team=growth'] }, 4);
    expect(answers.map(({ stream, type }) => [stream, type])).toEqual([
      [executionStream('growth'), 'ExecutionCreated'],
      [executionStream('damaged'), 'ExecutionCreated'],
      [executionStream('growth'), 'NodePhaseReported'],
      [executionStream('damaged'), 'NodePhaseReported'],
    ]);
  });

  it.each([
    [{ from: 'yesterday' }, 'from'],
    [{ lastEventId: 'x' }, 'last_event_id'],
    [{ domain: 'development' }, 'project'],
    [{ labels: ['team'] }, 'labels'],
    [{ phases: ['\u001b[31m'] }, "phases: ' [31m' is not one of"],
    [{ phases: ['FAILED', 'failed'] }, "phases: 'failed' is not one of UNDEFINED, QUEUED"],
  ])('refuses %j', async (asked, field) => {
    await expect(taken(asked, 1)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining(field) as string,
    });
  });

  it('after a position that the log has not reached waits for it, and is refused when it does not come', async () => {
    const head = await store.head();
    const ahead = { lastEventId: (head + 1n).toString() };
    const reading = taken(ahead, 1);
    await report(store, 2, 1);
    expect(positions(await reading)).toEqual([head + 2n]);
    const request = create(TailRequestSchema, { lastEventId: (head + 1_000n).toString() });
    await expect(
      tailLog({ ...sources, reach: tailWaits(store, feed, 0) }, request, consumer).next(),
    ).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining(`before position ${head + 1_000n}`) as string,
    });
  });

  it('waits for events only until its next checkpoint is due', async () => {
    const endsMs: number[] = [];
    const moved = async (after: bigint, timeoutMs: number): Promise<void> => {
      endsMs.push(performance.now() + timeoutMs);
      await feed.moved(after, 100);
    };
    const consumed = { ...consumer, isOver: () => endsMs.length === 3 };
    const request = create(TailRequestSchema, { from: 'now' });
    const answers = tailLog({ ...sources, feed: { ...feed, moved } }, request, consumed);
    await answers.next(); // the first checkpoint
    const ended = answers.next();
    const sentBeforeMs = performance.now();
    expect((await ended).done).toBe(true);
    // A checkpoint is due 5 s after the last one.
    for (const endMs of endsMs) expect(endMs).toBeLessThan(sentBeforeMs + 5_100);
  });

  it('shares encoded bytes with tails of the same selection, and not with those of another', async () => {
    const afterHead = { lastEventId: (await store.head()).toString() };
    const encodings = new Map<bigint, number>();
    const counting: TailConsumer = {
      ...consumer,
      encoding: {
        ...consumer.encoding,
        event: (event) => {
          encodings.set(event.position, (encodings.get(event.position) ?? 0) + 1);
          return consumer.encoding.event(event);
        },
      },
    };
    const open = (asked: Asked) =>
      tailLog(sources, create(TailRequestSchema, { ...afterHead, ...asked } as never), counting);
    const tails = [
      open({}),
      open({ from: 'start' }),
      open({ project: 'flytesnacks', domain: 'development', name: 'e1' }),
    ];
    for (const each of tails) await each.next(); // the first checkpoint
    await report(store, 2, 1);
    const [one, same, other] = await Promise.all(tails.map(async (each) => (await each.next()).value as Uint8Array));
    expect(one).toBe(same);
    expect(new Set(eventsIn(other!).map(({ stream }) => stream))).toEqual(new Set([executionStream('e1')]));
    const inOther = new Set(positions(eventsIn(other!)));
    for (const position of positions(eventsIn(one!)))
      expect(encodings.get(position)).toBe(inOther.has(position) ? 2 : 1);
    for (const each of tails) await each.return(undefined);
  });

  it('that falls behind the live feed reads the log and misses nothing', async () => {
    const start = await store.head();
    const slow = tailLog(sources, create(TailRequestSchema, { lastEventId: start.toString() }), consumer);
    await slow.next(); // the first checkpoint: from here on it takes nothing while the feed moves on
    for (let batch = 0; batch < 6; batch += 1) {
      const reports = Array.from({ length: 1_000 }, (_, index) => nodeReported('e0', index));
      await store.append(executionStream('e0'), 'any', reports);
    }
    await until(
      () => Promise.resolve(feed.position()),
      (position) => position >= start + 6_000n,
    );
    expect(feed.after(start)).toBeUndefined();
    const seen: bigint[] = [];
    for await (const batch of slow) {
      seen.push(...positions(eventsIn(batch)));
      if (seen.length === 6_000) break;
    }
    expect(seen).toEqual(Array.from({ length: 6_000 }, (_, index) => start + BigInt(index + 1)));
  });
});
