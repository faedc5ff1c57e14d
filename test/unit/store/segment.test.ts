import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { expect, it } from 'vitest';
import type { RecordedEvent } from '../../../services/kernel/event.js';
import { streamName } from '../../../services/kernel/stream.js';
import { checkAppend } from '../../../services/store/append.js';
import { packSegment, unpackSegment } from '../../../services/store/backup/segment.js';
import { packAppends } from '../../../services/store/log/append-batch.js';

const stream = streamName('counted', ['a']);

/** Events of one stream that differ only in their ids, revisions and positions. */
const alike = (count: number, event: Pick<RecordedEvent, 'type' | 'metadata' | 'data'>): RecordedEvent[] =>
  Array.from({ length: count }, (_, index) => {
    const id = Buffer.alloc(16);
    id.writeUInt32BE(index);
    return { ...event, id, stream, revision: BigInt(index), position: BigInt(index + 1) };
  });

it.each([
  ['without data', alike(60_000, { type: 'Tick', metadata: '{}', data: new Uint8Array() })],
  ['with a type outside of ASCII', alike(6_000, { type: '時'.repeat(100), metadata: '{}', data: new Uint8Array() })],
  ['with metadata outside of ASCII', alike(6_000, { type: 'T', metadata: '時'.repeat(100), data: new Uint8Array() })],
])('a long run of events %s is restored in appends that a log accepts', async (_, events) => {
  const appends = await unpackSegment(await packSegment(events));
  for (const append of appends) checkAppend(append);
  expect(appends.flatMap((append) => append.events)).toHaveLength(events.length);
});

it('packed appends end with the last byte of the last event, without other bytes of the memory behind it', () => {
  const events = alike(1, { type: 'Tick', metadata: '{}', data: Buffer.from('last') });
  const packed = packAppends([{ stream, expected: 'no-stream', events }]);
  expect(Buffer.from(packed).subarray(-4).toString()).toBe('last');
});

it.each([
  ['creates the stream', 'no-stream', 0n],
  ['continues the stream', 6n, 7n],
] as const)(
  'a run of events that an earlier release has backed up, which is too large for an append and %s, is split',
  async (_, expected, first) => {
    const events = alike(300, { type: 'Tick', metadata: '{}', data: new Uint8Array(5_000) });
    const packed = await promisify(gzip)(packAppends([{ stream, expected, events }]));
    let next: bigint = first;
    for (const append of await unpackSegment(packed)) {
      checkAppend(append);
      expect(append.expected).toBe(next === 0n ? 'no-stream' : next - 1n);
      next += BigInt(append.events.length);
    }
    expect(next).toBe(first + 300n);
  },
);
