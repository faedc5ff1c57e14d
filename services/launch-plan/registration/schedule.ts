import type { Schedule } from '../../../proto/gen/platformidl/admin/schedule_pb.js';
import type { ParameterMap } from '../../../proto/gen/platformidl/core/interface_pb.js';
import { SimpleType } from '../../../proto/gen/platformidl/core/types_pb.js';
import { cronFieldsProblem } from '../../kernel/values/cron-fields.js';

/** An interval in Go's duration notation: `@every 1h30m`. */
const EVERY =
  /^@every (?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h)(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))*$/u;
const DESCRIPTORS = new Set(['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly']);
/** The aliases that `CronSchedule` of flytekit and `SdkCronSchedule` of flytekit-java send as they are. */
const ALIASES = new Set([
  ...['yearly', 'annually', 'monthly', 'weekly', 'daily', 'hourly'],
  ...['years', 'months', 'weeks', 'days', 'hours'],
]);
const ZONE = /^(?:CRON_TZ|TZ)=(\S+) +/u;
/**
 * The longest expression, in characters: the checks below read it character by character, and real ones are shorter.
 */
const MAX_LENGTH = 1_000;

const isZone = (name: string): boolean => {
  try {
    return Boolean(new Intl.DateTimeFormat('en', { timeZone: name }));
  } catch {
    return false;
  }
};

const isEvery = (text: string): boolean => EVERY.test(text) && /[1-9]/u.test(text);

const isNamed = (text: string): boolean => DESCRIPTORS.has(text) || ALIASES.has(text) || isEvery(text);

/**
 * Checks a cron expression: five fields, a descriptor such as `@hourly` or `@every 1h`, or an alias such as `hourly` or
 * `hours`; each of them optionally preceded by its time zone, as in `CRON_TZ=Europe/Berlin `.
 *
 * @returns the problem, in the words of `robfig/cron` where it has the same check (for it, a time zone is a location);
 *   `undefined` when there is none.
 */
export const cronProblem = (expression: string): string | undefined => {
  if (expression.length > MAX_LENGTH) return `it is longer than ${MAX_LENGTH} characters`;
  const zone = ZONE.exec(expression);
  if (zone?.[1] !== undefined && !isZone(zone[1])) return `provided bad location ${zone[1]}`;
  const text = expression.slice(zone?.[0].length ?? 0);
  if (isNamed(text)) return undefined;
  return text.startsWith('@') ? `unrecognized descriptor: ${text}` : cronFieldsProblem(text);
};

type Expression = Schedule['ScheduleExpression'];

/** True for a schedule with a cron expression or a rate above 0. Any other, such as a rate of 0, counts as none. */
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
