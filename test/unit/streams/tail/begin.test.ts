import { create } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';

import { TailRequestSchema } from '../../../../proto/gen/platformidl/eventlog/tail_pb.js';
import { streamName } from '../../../../services/kernel/stream.js';
import { tailStartOf } from '../../../../services/streams/tail/begin.js';
import { newEvent, openEmptyLog } from '../../../support/streams/filled-log.js';

it('a tail from a time on begins before the events of another writer, whose times may have any unit', async () => {
  const { store } = await openEmptyLog();
  /** An hour of 2 March 2026, as an ISO 8601 time. */
  const hour = (each: number): string => new Date(Date.UTC(2026, 2, 2, each)).toISOString();
  /** The metadata of an event that flightlog has recorded at an hour. */
  const own = (each: number): string => {
    const recordedAtMs = Date.parse(hour(each));
    return JSON.stringify({ recordedAtMs, actor: '', commandId: '', schema: 1 });
  };
  for (const metadata of [own(1), own(2), '{"recordedAtMs":5}', own(3)])
    await store.append(streamName('bank', ['a']), 'any', [{ ...newEvent('Paid', new Uint8Array()), metadata }]);
  const request = create(TailRequestSchema, { from: hour(2) });
  expect(await tailStartOf(request, store)).toEqual({ after: 1n, sinceMs: Date.parse(hour(2)) });
  await store.close();
});

it('a tail from a day that the calendar lacks, or from 24:00, is refused, and not begun at a later day', async () => {
  const { store } = await openEmptyLog();
  for (const from of ['2026-02-30T09:58:16Z', '2026-01-31T24:00:00Z'])
    await expect(tailStartOf(create(TailRequestSchema, { from }), store)).rejects.toThrow(
      /from: not start, now, a position, or a time/u,
    );
  await store.close();
});
