import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { TailRequestSchema, type TailResponse } from '../../../../proto/gen/platformidl/eventlog/tail_pb.js';
import type { EventStore } from '../../../../services/kernel/ports/event-store.js';
import { type LiveFeed, openLiveFeed } from '../../../../services/streams/tail/live-feed.js';
import { labelsFrom } from '../../../../services/streams/tail/selection.js';
import { tail, type TailSources } from '../../../../services/streams/tail/tail.js';
import { executionStream, nodeReported, openTestLog, report } from '../../../support/filled-log.js';
import { until } from '../../../support/until.js';

type Asked = { readonly [Field in keyof MessageInitShape<typeof TailRequestSchema>]?: unknown };

let store: EventStore;
let feed: LiveFeed;
let sources: TailSources;

beforeAll(async () => {
  ({ store } = await openTestLog());
  await report(store, 3, 2);
  feed = await openLiveFeed(store);
  const present = {
    json: ({ position }: { position: bigint }) => Promise.resolve(String(position)),
    message: ({ data }: { data: Uint8Array }) => Promise.resolve(data),
    idText: () => 'id',
  };
  sources = { log: store, feed, labelsOf: labelsFrom(store), present };
});
afterAll(async () => {
  await feed.close();
  await store.close();
});

/** Takes answers of a tail until there are so many events. */
const taken = async (asked: Asked, events: number): Promise<readonly TailResponse[]> => {
  const found: TailResponse[] = [];
  const state = { isOver: false };
  const ends = { isOver: () => state.isOver, onWait: () => Promise.resolve() };
  for await (const each of tail(sources, create(TailRequestSchema, asked as never), ends)) {
    if (each.event) found.push(each);
    if (found.length >= events) return found;
  }
  return found;
};

const positions = (answers: readonly TailResponse[]) => answers.map(({ position }) => position);

describe('a tail', () => {
  it('has every event once and in order: those of the log, then those that come', async () => {
    const before = await store.head();
    const reading = taken({ from: 'start' }, Number(before) + 30);
    await report(store, 3, 1);
    const answers = await reading;
    expect(positions(answers)).toEqual(Array.from({ length: Number(before) + 30 }, (_, index) => BigInt(index + 1)));
  });

  it('goes on after the last event that its consumer has', async () => {
    expect(positions(await taken({ lastEventId: '7', from: 'start' }, 2))).toEqual([8n, 9n]);
  });

  it('begins at a position, and at a time', async () => {
    expect(positions(await taken({ from: '7' }, 2))).toEqual([7n, 8n]);
    expect(positions(await taken({ from: '2020-01-01T00:00:00Z' }, 1))).toEqual([1n]);
  });

  it('has only what matches the filters', async () => {
    const scope = { project: 'flytesnacks', domain: 'development' };
    const answers = await taken({ from: 'start', ...scope, name: 'e1', nodeId: 'n3', phases: ['RUNNING'] }, 1);
    expect(answers[0]!.event).toMatchObject({ stream: executionStream('e1'), type: 'NodePhaseReported' });
  });

  it.each([
    [{ from: 'yesterday' }, 'from'],
    [{ lastEventId: 'x' }, 'last_event_id'],
    [{ domain: 'development' }, 'project'],
    [{ labels: ['team'] }, 'labels'],
  ])('refuses %j', async (asked, field) => {
    await expect(taken(asked, 1)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      message: expect.stringContaining(field) as string,
    });
  });

  it('that falls behind the live feed reads the log and misses nothing', async () => {
    const start = await store.head();
    const state = { isOver: false };
    const ends = { isOver: () => state.isOver, onWait: () => Promise.resolve() };
    const slow = tail(sources, create(TailRequestSchema, { lastEventId: start.toString() }), ends);
    await slow.next(); // the first checkpoint: from here on it takes nothing while the feed moves on
    for (let batch = 0; batch < 6; batch += 1) {
      const many = Array.from({ length: 1_000 }, (_, index) => nodeReported('e0', index));
      await store.append(executionStream('e0'), 'any', many);
    }
    await until(
      () => Promise.resolve(feed.position()),
      (position) => position >= start + 6_000n,
    );
    expect(feed.after(start)).toBeUndefined();
    const seen: bigint[] = [];
    for await (const { position, event } of slow) {
      if (event) seen.push(position);
      if (seen.length === 6_000) break;
    }
    expect(seen).toEqual(Array.from({ length: 6_000 }, (_, index) => start + BigInt(index + 1)));
  });
});
