import type { ScheduleStatus } from '../../proto/gen/platformidl/eventlog/schedule_service_pb.js';
import { type FixedRate, FixedRateUnit, type Schedule } from '../../proto/gen/platformidl/admin/schedule_pb.js';

/** Registration accepts a unit that is none; a schedule with it never fires. */
const rateText = ({ value, unit }: FixedRate): string =>
  Object.hasOwn(FixedRateUnit, unit)
    ? `every ${value} ${FixedRateUnit[unit].toLowerCase()}${value === 1 ? '' : 's'}`
    : `every ${value} of the unknown unit ${unit}`;

/** The schedule as it was registered, such as `15 5 * * *` or `every 10 minutes`. */
export const scheduleText = (schedule: Schedule | undefined): string => {
  const expression = schedule?.ScheduleExpression;
  switch (expression?.case) {
    case 'cronSchedule':
      return expression.value.schedule;
    case 'cronExpression':
      // oxlint-disable-next-line typescript/no-deprecated -- clients in the field still send it
      return expression.value;
    case 'rate':
      return rateText(expression.value);
    default:
      return '';
  }
};

/**
 * The state of a schedule in a word or a few. A launch plan without an active version keeps its schedule, which does
 * not fire; nor does one whose stream is parked, or whose expression cannot be evaluated.
 */
export const scheduleState = ({
  id,
  paused,
  parked,
  problem,
}: Pick<ScheduleStatus, 'id' | 'paused' | 'parked' | 'problem'>): string => {
  if (parked) return 'parked';
  if (id?.version === '') return 'no active version';
  if (paused) return 'paused';
  return problem === '' ? 'firing' : 'not firing';
};
