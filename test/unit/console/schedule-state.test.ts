import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';

import { scheduleState, scheduleText } from '../../../console/schedules/schedule-text.js';
import { FixedRateUnit, ScheduleSchema } from '../../../proto/gen/platformidl/admin/schedule_pb.js';
import { ScheduleStatusSchema } from '../../../proto/gen/platformidl/eventlog/schedule_service_pb.js';

const ACTIVE = { id: { name: 'nightly', version: 'v1' } };

it.each<[state: string, status: MessageInitShape<typeof ScheduleStatusSchema>]>([
  ['firing', ACTIVE],
  ['paused', { ...ACTIVE, paused: true }],
  ['no active version', { id: { name: 'nightly' } }],
  ['not firing', { ...ACTIVE, problem: 'the expression has no such field' }],
  ['parked', { ...ACTIVE, parked: true, problem: 'an event cannot be read' }],
])('a schedule is shown as %s', (state, status) =>
  expect(scheduleState(create(ScheduleStatusSchema, status))).toBe(state),
);

it.each<[text: string, value: number, unit: FixedRateUnit]>([
  ['every 1 hour', 1, FixedRateUnit.HOUR],
  ['every 10 minutes', 10, FixedRateUnit.MINUTE],
  ['every 10 of the unknown unit 9', 10, 9 as never],
])('a rate is shown as %s', (text, value, unit) =>
  expect(scheduleText(create(ScheduleSchema, { ScheduleExpression: { case: 'rate', value: { value, unit } } }))).toBe(
    text,
  ),
);
