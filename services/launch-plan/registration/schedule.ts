import type { Schedule } from '../../../proto/gen/platformidl/admin/schedule_pb.js';
import type { ParameterMap } from '../../../proto/gen/platformidl/core/interface_pb.js';
import { SimpleType } from '../../../proto/gen/platformidl/core/types_pb.js';
import { cronProblem } from './cron.js';

type Expression = Schedule['ScheduleExpression'];

/** A schedule that says when; any other, a rate of 0 among them, is none at all. */
export const isScheduled = (schedule: Schedule | undefined): schedule is Schedule => {
  const expression = schedule?.ScheduleExpression;
  if (expression?.case === 'rate') return expression.value.value > 0;
  return cronOf(expression) !== '';
};

const cronOf = (expression: Expression | undefined): string => {
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- clients in the field still send it
  if (expression?.case === 'cronExpression') return expression.value;
  return expression?.case === 'cronSchedule' ? expression.value.schedule : '';
};

/** An empty text is the old field left out; a message that is there has to make sense. */
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

/** What is wrong with the schedule of a launch plan, if anything: nobody is there to give it inputs when it fires. */
export const scheduleProblem = (schedule: Schedule | undefined, expected: ParameterMap): string | undefined => {
  if (schedule === undefined || !isGiven(schedule.ScheduleExpression)) return undefined;
  const { kickoffTimeInputArg: kickoff, ScheduleExpression: expression } = schedule;
  // First, because a misspelt argument leaves the input that it means unbound.
  const problem = kickoffProblem(expected, kickoff);
  if (problem !== undefined) return problem;
  const unbound = unboundInput(expected, kickoff);
  if (unbound !== undefined)
    return `Cannot create a launch plan with a schedule if there is an unbound required input. [${unbound}] is required`;
  const cron = expression.case === 'rate' ? undefined : cronProblem(cronOf(expression));
  return cron === undefined ? undefined : `Invalid cron expression: ${cron}`;
};
