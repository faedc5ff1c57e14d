import { create, toBinary } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { expect, it } from 'vitest';

import { ScheduleTickSkipRequestedSchema } from '../../../proto/gen/platformidl/eventlog/schedule_pb.js';
import { scheduleHolds } from '../../../services/reference/schedule-holds.js';
import { scheduleStream } from '../../../services/schedule/events.js';
import { newEvent } from '../../support/streams/filled-log.js';

it('keeps a skip of a late tick when many skips of earlier ticks are requested after it', () => {
  const stream = scheduleStream({ project: 'flytesnacks', domain: 'development', name: 'nightly' });
  const fold = scheduleHolds();
  const skip = (atMs: number, revision: bigint): void => {
    const data = toBinary(
      ScheduleTickSkipRequestedSchema,
      create(ScheduleTickSkipRequestedSchema, { at: timestampFromMs(atMs) }),
    );
    fold.fold({ ...newEvent('ScheduleTickSkipRequested', data), stream, revision, position: revision + 1n });
  };
  skip(1_000_000, 0n);
  for (let number = 1; number <= 1_000; number += 1) skip(number * 100, BigInt(number));

  // A thousand skips are kept of 1,001: the one for the earliest tick, at 100 ms, is dropped.
  const skips = fold.holds.get(stream)?.skips ?? [];
  expect([skips.length, skips[0], skips.at(-1)]).toEqual([1_000, 200, 1_000_000]);
});
