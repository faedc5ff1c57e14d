import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { fromBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { ReadRespSchema } from '../../../proto/gen/event_store/client/streams_pb.js';
import type { NewEvent } from '../../../services/kernel/event.js';
import type { EventStore } from '../../../services/kernel/ports/event-store.js';
import { streamName } from '../../../services/kernel/stream.js';
import { groupSource, type SourcePage } from '../../../services/streams/eventstore/groups/group-source.js';
import { readOnce } from '../../../services/streams/eventstore/read/read.js';
import type { From } from '../../../services/streams/eventstore/read/read-request.js';
import { openSubscription } from '../../../services/streams/eventstore/read/subscribe.js';
import { storedForm } from '../../../services/streams/eventstore/recorded.js';
import type { StreamRulesTable } from '../../../services/streams/eventstore/stream-rules.js';
import { openEmptyLog } from '../../support/streams/filled-log.js';

const NOW_MS = 10_000;
const stream = streamName('counted', ['aged']);

/** Events older than a second are too old. */
const rules: StreamRulesTable = {
  of: () => ({ isTombstoned: false, truncateBefore: 0n, maxCount: undefined, maxAgeMs: 1_000 }),
  apply: () => undefined,
};

const recordedAt = (recordedAtMs: number): NewEvent => ({
  ...{ id: randomBytes(16), type: 'Counted', data: Buffer.from('{}') },
  metadata: JSON.stringify({ recordedAtMs, actor: '', commandId: '', schema: 0 }),
});

describe('a stream whose oldest events are too old', () => {
  let directory: string;
  let store: EventStore;

  beforeAll(async () => {
    ({ directory, store } = await openEmptyLog());
    const times = [1, 2, 3, 4, NOW_MS - 3, NOW_MS - 2, NOW_MS - 1]; // the first four are too old
    await store.append(stream, 'no-stream', times.map(recordedAt));
  });
  afterAll(async () => {
    await store.close();
    rmSync(directory, { recursive: true });
  });

  const reading = () => ({ log: store, rules, present: storedForm, now: () => NOW_MS });

  /** The revisions of the events that a read gives. */
  const revisions = async (from: From, direction: 'forwards' | 'backwards', count: number) => {
    const plan = {
      ...{ stream, from, direction, count, filter: undefined },
      form: 'string',
      supportsRange: false,
    } as const;
    const found: (bigint | undefined)[] = [];
    for await (const answer of readOnce(reading(), plan)) {
      const { content } = fromBinary(ReadRespSchema, answer);
      found.push(content.case === 'event' ? content.value.event?.streamRevision : undefined);
    }
    return found;
  };

  it.each([
    ['forwards', 'start', 2, [4n, 5n]],
    ['forwards', 'start', 0, []],
    ['forwards', 5n, 10, [5n, 6n]],
    ['backwards', 'end', 2, [6n, 5n]],
    ['backwards', 'end', 5, [6n, 5n, 4n]],
  ] as const)(
    'is read %s from %s with up to %i events, none of which is too old',
    async (direction, from, count, expected) => {
      expect(await revisions(from, direction, count)).toEqual(expected);
    },
  );

  it('is followed from the first event that is not too old', async () => {
    const sent: (bigint | undefined)[] = [];
    const send = (answer: Uint8Array): Promise<void> => {
      const { content } = fromBinary(ReadRespSchema, answer);
      if (content.case === 'event') sent.push(content.value.event?.streamRevision);
      return Promise.resolve();
    };
    const plan = { stream, from: 'start', direction: 'forwards', count: undefined, filter: undefined } as const;
    const subscription = await openSubscription(
      reading(),
      { ...plan, form: 'string', supportsRange: false },
      { send, subscriptionId: 'id' },
    );
    await subscription.close();
    expect(sent).toEqual([4n, 5n, 6n]);
  });

  it('is read by a group page after page, without the events that are too old', async () => {
    const source = groupSource(reading(), { source: stream, filter: undefined });
    const shown = ({ events, ...page }: SourcePage) => ({ ...page, revisions: events.map(({ revision }) => revision) });
    expect(shown(await source.read(-1n, 2))).toEqual({ revisions: [4n, 5n], upTo: 5n, isAtEnd: false });
    expect(shown(await source.read(5n, 2))).toEqual({ revisions: [6n], upTo: 6n, isAtEnd: true });
  });
});
