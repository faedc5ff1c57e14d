import type { Execution } from '../../../../proto/gen/platformidl/admin/execution_pb.js';
import { type LaunchPlan, LaunchPlanState } from '../../../../proto/gen/platformidl/admin/launch_plan_pb.js';
import { type Domain, type Project, Project_ProjectState } from '../../../../proto/gen/platformidl/admin/project_pb.js';
import { FixedRateUnit } from '../../../../proto/gen/platformidl/admin/schedule_pb.js';
import type { Task } from '../../../../proto/gen/platformidl/admin/task_pb.js';
import type { Workflow } from '../../../../proto/gen/platformidl/admin/workflow_pb.js';
import { WorkflowExecution_Phase } from '../../../../proto/gen/platformidl/core/execution_pb.js';
import type { Column } from '../output/table.js';
import { colourOf } from '../output/text.js';
import { lengthText, momentText } from '../output/times.js';

/** The name of a value of an enum; its number when a newer server has sent one that this release does not know. */
const nameIn = (names: Readonly<Record<number, string>>, value: number): string => names[value] ?? String(value);

/** The name of the phase of an execution, such as `TIMED_OUT`. */
export const phaseOf = ({ closure }: Execution): string => WorkflowExecution_Phase[closure?.phase ?? 0] ?? '';

/** The reason of an end: the message of the error, or the cause of the termination; otherwise empty. */
export const errorOrCause = ({ closure }: Execution): string => {
  if (closure?.outputResult.case === 'error') return closure.outputResult.value.message;
  return closure?.outputResult.case === 'abortMetadata' ? closure.outputResult.value.cause : '';
};

export const EXECUTION_COLUMNS: readonly Column<Execution>[] = [
  { header: 'NAME', text: ({ id }) => id?.name ?? '' },
  { header: 'PHASE', text: phaseOf, colour: (execution) => colourOf(phaseOf(execution)) },
  { header: 'LAUNCH PLAN', text: ({ spec }) => spec?.launchPlan?.name ?? '' },
  { header: 'CREATED', text: ({ closure }) => momentText(closure?.createdAt), colour: () => 'grey' },
  { header: 'DURATION', text: ({ closure }) => lengthText(closure?.duration) },
  { header: 'BY', text: ({ spec }) => spec?.metadata?.principal ?? '' },
  { header: 'WHY', text: errorOrCause },
];

/** A version of a definition. */
export type Versioned = Workflow | Task | LaunchPlan;

const NAME: Column<Versioned> = { header: 'NAME', text: ({ id }) => id?.name ?? '' };
const VERSION: Column<Versioned> = { header: 'VERSION', text: ({ id }) => id?.version ?? '' };
const CREATED: Column<Versioned> = {
  header: 'CREATED',
  text: ({ closure }) => momentText(closure?.createdAt),
  colour: () => 'grey',
};

export const WORKFLOW_COLUMNS: readonly Column<Workflow>[] = [
  NAME,
  VERSION,
  CREATED,
  { header: 'DESCRIPTION', text: ({ shortDescription }) => shortDescription },
];

export const TASK_COLUMNS: readonly Column<Task>[] = [
  NAME,
  VERSION,
  { header: 'TYPE', text: ({ closure }) => closure?.compiledTask?.template?.type ?? '' },
  CREATED,
  { header: 'DESCRIPTION', text: ({ shortDescription }) => shortDescription },
];

const scheduleOf = ({ spec }: LaunchPlan): string => {
  const expression = spec?.entityMetadata?.schedule?.ScheduleExpression;
  if (expression?.case === 'cronSchedule') return expression.value.schedule;
  // oxlint-disable-next-line typescript/no-deprecated -- clients in the field still send it
  if (expression?.case === 'cronExpression') return expression.value;
  return expression?.case === 'rate'
    ? `every ${expression.value.value} ${nameIn(FixedRateUnit, expression.value.unit).toLowerCase()}`
    : '';
};

const stateOf = ({ closure }: LaunchPlan): string =>
  nameIn(LaunchPlanState, closure?.state ?? LaunchPlanState.INACTIVE);

export const LAUNCH_PLAN_COLUMNS: readonly Column<LaunchPlan>[] = [
  NAME,
  VERSION,
  { header: 'STATE', text: stateOf, colour: (plan: LaunchPlan) => (stateOf(plan) === 'ACTIVE' ? 'green' : undefined) },
  { header: 'SCHEDULE', text: scheduleOf },
  { header: 'NEXT FIRE', text: ({ closure }) => momentText(closure?.nextFireAt) },
  CREATED,
];

export const PROJECT_COLUMNS: readonly Column<Project>[] = [
  { header: 'ID', text: ({ id }) => id },
  { header: 'NAME', text: ({ name }) => name },
  { header: 'STATE', text: ({ state }) => nameIn(Project_ProjectState, state) },
  { header: 'DOMAINS', text: ({ domains }) => domains.map(({ id }) => id).join(',') },
  { header: 'DESCRIPTION', text: ({ description }) => description },
];

export const DOMAIN_COLUMNS: readonly Column<Domain>[] = [
  { header: 'ID', text: ({ id }) => id },
  { header: 'NAME', text: ({ name }) => name },
];
