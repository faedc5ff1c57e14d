import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';

import { ScheduleSchema } from '../../../proto/gen/platformidl/admin/schedule_pb.js';
import { kickoffInputs } from '../../../services/reactors/fire-schedules/kickoff-inputs.js';

const AT_MS = Date.UTC(2026, 2, 1, 12);

/** The value of the kickoff argument for a tick at `AT_MS`, with this offset. */
const timeIn = (offset: string): unknown => {
  const schedule = create(ScheduleSchema, {
    kickoffTimeInputArg: 'at',
    ScheduleExpression: { case: 'cronSchedule', value: { schedule: '@daily', offset } },
  });
  const { value } = kickoffInputs(schedule, AT_MS).literals['at'] ?? {};
  const scalar = value?.case === 'scalar' ? value.value.value : undefined;
  return scalar?.case === 'primitive' ? scalar.value.value.value : undefined;
};

describe('the inputs that a schedule gives', () => {
  it('have the time of the tick under the name of the kickoff argument, shifted by the offset', () => {
    expect(timeIn('')).toEqual(timestampFromMs(AT_MS));
    expect(timeIn('-PT1H')).toEqual(timestampFromMs(AT_MS - 3_600_000));
  });

  it('are none without a schedule, and without a kickoff argument', () => {
    expect(kickoffInputs(undefined, AT_MS).literals).toEqual({});
    expect(kickoffInputs(create(ScheduleSchema), AT_MS).literals).toEqual({});
  });
});
