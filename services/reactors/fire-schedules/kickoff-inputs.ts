import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { Schedule } from '../../../proto/gen/platformidl/admin/schedule_pb.js';
import { type LiteralMap, LiteralMapSchema } from '../../../proto/gen/platformidl/core/literals_pb.js';
import { shifted } from '../../schedule/calendar/offset.js';

/**
 * The inputs that a schedule gives the execution of a tick: its kickoff argument, with the time of the tick, which the
 * offset of a cron schedule shifts; none for a schedule without such an argument.
 *
 * @param atMs the time of the tick, in milliseconds since 1970.
 */
export const kickoffInputs = (schedule: Schedule | undefined, atMs: number): LiteralMap => {
  if (schedule === undefined || schedule.kickoffTimeInputArg === '') return create(LiteralMapSchema);
  const { kickoffTimeInputArg: argument, ScheduleExpression: expression } = schedule;
  const offset = expression.case === 'cronSchedule' ? expression.value.offset : '';
  const datetime = { case: 'datetime', value: timestampFromMs(shifted(atMs, offset)) } as const;
  const literal = {
    value: { case: 'scalar', value: { value: { case: 'primitive', value: { value: datetime } } } },
  } as const;
  return create(LiteralMapSchema, { literals: { [argument]: literal } });
};
