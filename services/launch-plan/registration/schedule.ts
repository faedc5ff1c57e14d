import type { Schedule } from '../../../proto/gen/platformidl/admin/schedule_pb.js';
import type { ParameterMap } from '../../../proto/gen/platformidl/core/interface_pb.js';
import { SimpleType } from '../../../proto/gen/platformidl/core/types_pb.js';
import { cronProblem } from './cron.js';

type Expression = Schedule['ScheduleExpression'];

/** True for a schedule that can fire. Any other, such as one with a rate of 0, counts as no schedule. */
export const isScheduled = (schedule: Schedule | undefined): schedule is Schedule => {
  const expression = schedule?.ScheduleExpression;
  if (expression?.case === 'rate') return expression.value.value > 0;
  return cronOf(expression) !== '';
};

const cronOf = (expression: Expression | undefined): string => {
  // oxlint-disable-next-line typescript/no-deprecated -- clients in the field still send it
  if (expression?.case === 'cronExpression') return expression.value;
  return expression?.case === 'cronSchedule' ? expression.value.schedule : '';
};

/**
 * True for a schedule that is checked. An empty text means that the deprecated field is not set. A message that is
 * present is checked, also a rate of 0, as FlyteAdmin does; such a plan is registered, and never fires.
 */
const isGiven = (expression: Expression): boolean =>
  expression.case === 'cronExpression' ? cronOf(expression) !== '' : expression.case !== undefined;

const unboundInput = ({ parameters }: ParameterMap, kickoff: string): string | undefined =>
  Object.keys(parameters).find((name) => {
    const behavior = parameters[name]?.behavior;
    return name !== kickoff && behavior?.case === 'required' && behavior.value;
  });

const kickoffProblem = ({ parameters }: ParameterMap, kickoff: string): string | undefined => {
  if (kickoff === '') return undefined;
  if (!Object.hasOwn(parameters, kickoff))
    return `Cannot create a schedule with a KickoffTimeInputArg that does not point to a free input. [${kickoff}]`;
  const type = parameters[kickoff]?.var?.type?.type;
  const isDatetime = type?.case === 'simple' && type.value === SimpleType.DATETIME;
  return isDatetime ? undefined : `KickoffTimeInputArg must reference a datetime input, [${kickoff}] is none`;
};

/**
 * Checks the schedule of a launch plan. Required inputs must be bound, because a scheduled execution gets no inputs
 * from a caller.
 *
 * @returns the problem; `undefined` when there is none.
 */
export const scheduleProblem = (schedule: Schedule | undefined, expected: ParameterMap): string | undefined => {
  if (schedule === undefined || !isGiven(schedule.ScheduleExpression)) return undefined;
  const { kickoffTimeInputArg: kickoff, ScheduleExpression: expression } = schedule;
  // First, because a misspelt argument leaves the intended input unbound.
  const problem = kickoffProblem(expected, kickoff);
  if (problem !== undefined) return problem;
  const unbound = unboundInput(expected, kickoff);
  if (unbound !== undefined)
    return `Cannot create a launch plan with a schedule if there is an unbound required input. [${unbound}] is required`;
  const cron = expression.case === 'rate' ? undefined : cronProblem(cronOf(expression));
  return cron === undefined ? undefined : `Invalid cron expression: ${cron}`;
};
