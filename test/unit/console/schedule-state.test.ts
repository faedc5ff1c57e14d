import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';

import { scheduleState } from '../../../console/schedules/schedule-text.js';
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
