import { randomBytes } from 'node:crypto';
import { rmSync } from 'node:fs';
import { fromBinary } from '@bufbuild/protobuf';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { ReadRespSchema } from '../../../proto/gen/event_store/client/streams_pb.js';
import type { NewEvent } from '../../../services/kernel/event.js';
import type { EventStore } from '../../../services/kernel/ports/event-store.js';
import { streamName } from '../../../services/kernel/stream.js';
import { readOnce } from '../../../services/streams/eventstore/read/read.js';
import type { From } from '../../../services/streams/eventstore/read/read-request.js';
import { storedForm } from '../../../services/streams/eventstore/recorded.js';
import type { StreamRulesTable } from '../../../services/streams/eventstore/stream-rules.js';
import { openEmptyLog } from '../../support/streams/filled-log.js';

const NOW_MS = 10_000;
const stream = streamName('counted', ['aged']);

const rules: StreamRulesTable = {
  of: () => ({ isTombstoned: false, truncateBefore: 0n, maxCount: undefined, maxAgeMs: 1_000 }),
  take: () => undefined,
};

const recordedAt = (recordedAtMs: number): NewEvent => ({
  ...{ id: randomBytes(16), type: 'Counted', data: Buffer.from('{}') },
  metadata: JSON.stringify({ recordedAtMs, actor: '', commandId: '', schema: 0 }),
});

describe('a counted read of a stream whose oldest events are too old', () => {
  let directory: string;
  let store: EventStore;

  beforeAll(async () => {
    ({ directory, store } = await openEmptyLog());
    const times = [1, 2, 3, 4, NOW_MS - 3, NOW_MS - 2, NOW_MS - 1];
    await store.append(stream, 'no-stream', times.map(recordedAt));
  });
  afterAll(async () => {
    await store.close();
    rmSync(directory, { recursive: true });
  });

  const revisions = async (from: From, direction: 'forwards' | 'backwards', count: number) => {
    const reading = { log: store, rules, present: storedForm, now: () => NOW_MS };
    const plan = { ...{ stream, from, direction, count, filter: undefined }, form: 'string', saysEnds: false } as const;
    const found: (bigint | undefined)[] = [];
    for await (const answer of readOnce(reading, plan)) {
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
  ] as const)('goes %s from %s and gets up to %i events that are not', async (direction, from, count, expected) => {
    expect(await revisions(from, direction, count)).toEqual(expected);
  });
});
