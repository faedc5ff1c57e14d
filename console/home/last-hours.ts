import { WorkflowExecution_Phase as Phase } from '../../proto/gen/platformidl/core/execution_pb.js';
import type { ExecutionCounts } from '../../proto/gen/platformidl/eventlog/execution_count_service_pb.js';
import type { Tone } from '../look/phases.js';

const HOUR_MS = 3_600_000;

/** The periods that one can choose, in hours. */
export const HOURS: readonly number[] = [1, 6, 24];
const DEFAULT_HOURS = 24;

/** The period of the address, in hours. */
export const hoursOf = (text: string | undefined): number =>
  HOURS.find((hours) => String(hours) === text) ?? DEFAULT_HOURS;

/**
 * A number on Home: the executions that are in these phases now, or, for `ended`, those of them that were last updated
 * within the period; archived ones do not count. FAILING counts as ended, although the report of FAILED is still to
 * come.
 */
export type Counted = {
  readonly tone: Tone;
  readonly text: string;
  readonly phases: readonly (keyof typeof Phase)[];
  readonly when: 'now' | 'ended';
};

export const FAILED: Counted = {
  tone: 'bad',
  text: 'failed',
  phases: ['FAILED', 'TIMED_OUT', 'FAILING'],
  when: 'ended',
};

export const COUNTED: readonly Counted[] = [
  { tone: 'running', text: 'running', phases: ['RUNNING', 'SUCCEEDING'], when: 'now' },
  { tone: 'waiting', text: 'waiting', phases: ['QUEUED'], when: 'now' },
  FAILED,
  { tone: 'good', text: 'succeeded', phases: ['SUCCEEDED'], when: 'ended' },
];

const inPhases = (phases: readonly string[]): string => `value_in(phase,${phases.join(';')})`;

const updatedSince = (hours: number, now: number): string =>
  `gte(updated_at,${new Date(now - hours * HOUR_MS).toISOString()})`;

/** The filters that find what a number counts; `now` is in milliseconds since 1970. */
export const filtersOf = ({ phases, when }: Pick<Counted, 'phases' | 'when'>, hours: number, now: number): string =>
  when === 'now' ? inPhases(phases) : `${inPhases(phases)}+${updatedSince(hours, now)}`;

/** The filters of everything that the numbers of one kind count. */
export const countFilters = (when: Counted['when'], hours: number, now: number): string => {
  const phases = COUNTED.filter((each) => each.when === when).flatMap((each) => each.phases);
  return filtersOf({ phases, when }, hours, now);
};

/** The number of executions in any of the phases of a number. */
export const countIn = ({ phases: counts }: ExecutionCounts, { phases }: Counted): number =>
  counts
    .filter(({ phase }) => phases.some((name) => Phase[name] === phase))
    .reduce((sum, { count }) => sum + Number(count), 0);
