import { OperatorError } from '../../config/operator-errors.js';
import { cell, coloured, colourOf, oneLine } from './lines.js';
import { get, post, type ServerFlags } from './server-client.js';

/** The flags of the commands of `schedule`. */
export type ScheduleFlags = ServerFlags & { readonly json: boolean };

type ShownOutcome = { readonly at: string; readonly version: string; readonly kind: string; readonly reason: string };

type ShownSchedule = {
  readonly id: { readonly name: string; readonly version: string };
  readonly paused: boolean;
  readonly parked: boolean;
  readonly next: readonly string[];
  readonly past: readonly ShownOutcome[];
  readonly dueSince: string | null;
  readonly problem: string;
  readonly skipping: readonly string[];
};

type Page = { readonly schedules: readonly ShownSchedule[]; readonly token: string };

const pathOf = ({ project, domain }: ServerFlags): string =>
  `/api/v1/schedules/${[project, domain].map(encodeURIComponent).join('/')}`;

const stateOf = ({ id, paused, parked }: ShownSchedule): string => {
  if (parked) return 'parked';
  if (id.version === '') return 'inactive';
  return paused ? 'paused' : 'active';
};

const outcomeLine = ({ at, version, kind, reason }: ShownOutcome): string =>
  `  ${cell(kind, 7, colourOf(kind))}  ${coloured(at, 'grey')}  ${cell(version, 12)}  ${oneLine(reason)}`;

const skippingLine =
  (version: string) =>
  (at: string): string =>
    `  ${cell('skips', 7)}  ${coloured(at, 'grey')}  ${cell(version, 12)}`.trimEnd();

/** The lines of a schedule: its state, the ticks that are to be skipped, then the last ones that were skipped or failed. */
const linesOf = (each: ShownSchedule): readonly string[] => {
  const due = each.dueSince !== null ? `due since ${each.dueSince}` : '';
  const line = [
    cell(each.id.name, 30),
    cell(each.id.version || '-', 12),
    cell(stateOf(each), 8),
    cell(each.next[0] ?? '-', 20),
    oneLine(`${due} ${each.problem}`),
  ];
  return [
    line.join('  ').trimEnd(),
    ...each.skipping.map(skippingLine(each.id.version)),
    ...each.past.filter(({ kind }) => kind !== 'FIRED').map(outcomeLine),
  ];
};

/**
 * Prints the schedules of a project and domain.
 *
 * @throws {OperatorError} when the server refuses, with its reason.
 */
export const listSchedules = async (flags: ScheduleFlags): Promise<void> => {
  let token: string | undefined;
  do {
    const page = (await (await get(flags, pathOf(flags), { token })).json()) as Page;
    for (const each of page.schedules)
      for (const line of flags.json ? [JSON.stringify(each)] : linesOf(each)) process.stdout.write(`${line}\n`);
    ({ token } = page);
  } while (token !== '');
};

/**
 * Prints the next fire times of the schedule of a launch plan, one a line; none while it does not fire.
 *
 * @throws {OperatorError} when the launch plan has no schedule, or the server refuses, with its reason.
 */
export const nextFireTimes = async (name: string, flags: ScheduleFlags): Promise<void> => {
  const { schedules } = (await (await get(flags, pathOf(flags), { name })).json()) as Page;
  const [found] = schedules;
  if (!found) throw new OperatorError(`launch plan ${flags.project}/${flags.domain}/${name} has no schedule`);
  for (const line of flags.json ? [JSON.stringify(found.next)] : found.next) process.stdout.write(`${line}\n`);
};

const commandPath = (name: string, flags: ServerFlags, command: string): string =>
  `${pathOf(flags)}/${encodeURIComponent(name)}/${command}`;

/**
 * Pauses or resumes the schedule of a launch plan, and prints it.
 *
 * @throws {OperatorError} when the server refuses, with its reason.
 */
export const setPaused = async (command: 'pause' | 'resume', name: string, flags: ScheduleFlags): Promise<void> => {
  const shown = (await (await post(flags, commandPath(name, flags, command))).json()) as ShownSchedule;
  const [line = ''] = linesOf(shown);
  process.stdout.write(`${flags.json ? JSON.stringify(shown) : line}\n`);
};

/**
 * Skips a tick of a schedule, and prints the schedule with the ticks that are to be skipped.
 *
 * @throws {OperatorError} when the server refuses, with its reason.
 */
export const skipTick = async (
  name: string,
  { at, ...flags }: ScheduleFlags & { readonly at?: string },
): Promise<void> => {
  const answer = await post(flags, commandPath(name, flags, 'skip'), at === undefined ? {} : { at });
  const shown = (await answer.json()) as ShownSchedule;
  const lines = flags.json ? [JSON.stringify(shown)] : linesOf({ ...shown, past: [] });
  for (const line of lines) process.stdout.write(`${line}\n`);
};

type Fired = { readonly tick: ShownOutcome & { readonly execution: { readonly name: string } | null } };

/**
 * Launches a launch plan as if it had a tick now, and prints the name of the execution.
 *
 * @throws {OperatorError} when it could not be launched, with the reason.
 */
export const fireSchedule = async (name: string, flags: ScheduleFlags): Promise<void> => {
  const { tick } = (await (await post(flags, commandPath(name, flags, 'fire'))).json()) as Fired;
  if (tick.kind !== 'FIRED') throw new OperatorError(`${name} was not launched: ${tick.reason}`);
  process.stdout.write(`${flags.json ? JSON.stringify(tick) : (tick.execution?.name ?? '')}\n`);
};
