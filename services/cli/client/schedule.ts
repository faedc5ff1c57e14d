import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import {
  ScheduleFireResponseSchema,
  ScheduleListSchema,
  ScheduleService,
  ScheduleStatusSchema,
} from '../../../proto/gen/platformidl/eventlog/schedule_service_pb.js';
import { OperatorError } from '../../config/operator-errors.js';
import { connected } from './connection/connect.js';
import type { ScopeFlags } from './connection/flags.js';
import { jsonOfMessage, print } from './output/documents.js';
import { type Columns, printHeader } from './output/header.js';
import { cell, colourOf, oneLine, timeCell } from './output/text.js';

/** The flags of the commands of `schedule`. */
export type ScheduleFlags = ScopeFlags & { readonly json: boolean };

type ShownOutcome = { readonly at: string; readonly version: string; readonly kind: string; readonly reason: string };

type ShownSchedule = {
  readonly id: { readonly name: string; readonly version: string };
  readonly paused: boolean;
  readonly parked: boolean;
  readonly next: readonly string[];
  readonly past: readonly ShownOutcome[];
  readonly dueSince?: string;
  readonly problem: string;
  readonly skipping: readonly string[];
};

type Page = { readonly schedules: readonly ShownSchedule[] };

const stateOf = ({ id, paused, parked }: ShownSchedule): string => {
  if (parked) return 'parked';
  if (id.version === '') return 'inactive';
  return paused ? 'paused' : 'active';
};

const COLUMNS: Columns = [
  ['LAUNCH PLAN', 30],
  ['VERSION', 12],
  ['STATE', 8],
  ['NEXT', 20],
  ['PROBLEM', 0],
];

const outcomeLine = ({ at, version, kind, reason }: ShownOutcome): string =>
  `  ${cell(kind, 7, colourOf(kind))}  ${timeCell(at)}  ${cell(version, 12)}  ${oneLine(reason)}`;

const skippingLine =
  (version: string) =>
  (at: string): string =>
    `  ${cell('skips', 7)}  ${timeCell(at)}  ${oneLine(version)}`;

/**
 * The lines of a schedule: its state, the ticks that are to be skipped, then the last ones that were skipped or failed.
 */
export const linesOf = (each: ShownSchedule): readonly string[] => {
  const due = each.dueSince !== undefined ? `due since ${each.dueSince}` : '';
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
 * @throws {Refused} when the server refuses; the message has its reason.
 */
export const listSchedules = (flags: ScheduleFlags): Promise<void> =>
  connected(flags, async (connection) => {
    const { project, domain, json } = flags;
    let token = '';
    do {
      const page = await connection.call(ScheduleService.method.listSchedules, { project, domain, token });
      if (token === '' && !json) printHeader(COLUMNS);
      const { schedules } = jsonOfMessage(ScheduleListSchema, page) as unknown as Page;
      for (const each of schedules) for (const line of json ? [JSON.stringify(each)] : linesOf(each)) print(line);
      ({ token } = page);
    } while (token !== '');
  });

/**
 * Prints the next fire times of the schedule of a launch plan, one a line; none while it does not fire.
 *
 * @throws {OperatorError} when no version was ever active, or the last active one has no schedule.
 * @throws {Refused} when the server refuses; the message has its reason.
 */
export const nextFireTimes = (name: string, flags: ScheduleFlags): Promise<void> =>
  connected(flags, async (connection) => {
    const { project, domain } = flags;
    const page = await connection.call(ScheduleService.method.listSchedules, { project, domain, name });
    const [found] = (jsonOfMessage(ScheduleListSchema, page) as unknown as Page).schedules;
    if (!found)
      throw new OperatorError(`launch plan ${project}/${domain}/${name} has no schedule, or was never active`);
    for (const line of flags.json ? [JSON.stringify(found.next)] : found.next) print(line);
  });

/**
 * Pauses or resumes the schedule of a launch plan, and prints it.
 *
 * @throws {Refused} when the server refuses; the message has its reason.
 */
export const setPaused = (command: 'pause' | 'resume', name: string, flags: ScheduleFlags): Promise<void> =>
  connected(flags, async (connection) => {
    const { project, domain } = flags;
    const { pauseSchedule, resumeSchedule } = ScheduleService.method;
    const id = { project, domain, name };
    const status = await (command === 'pause'
      ? connection.call(pauseSchedule, id)
      : connection.call(resumeSchedule, id));
    const shown = jsonOfMessage(ScheduleStatusSchema, status) as unknown as ShownSchedule;
    const [line = ''] = linesOf(shown);
    print(flags.json ? JSON.stringify(shown) : line);
  });

/** The flags of `schedule skip`: `at` is the time of the tick, in milliseconds since 1970; by default the next tick. */
export type SkipFlags = ScheduleFlags & { readonly at?: number };

/**
 * Skips a tick of a schedule, and prints the schedule with the ticks that are to be skipped.
 *
 * @throws {Refused} when the server refuses; the message has its reason.
 */
export const skipTick = (name: string, { at, ...flags }: SkipFlags): Promise<void> =>
  connected(flags, async (connection) => {
    const { project, domain, json } = flags;
    const request = { project, domain, name, ...(at !== undefined && { at: timestampFromMs(at) }) };
    const status = await connection.call(ScheduleService.method.skipTick, request);
    const shown = jsonOfMessage(ScheduleStatusSchema, status) as unknown as ShownSchedule;
    for (const line of json ? [JSON.stringify(shown)] : linesOf({ ...shown, past: [] })) print(line);
  });

type Fired = { readonly tick: ShownOutcome & { readonly execution?: { readonly name: string } } };

/**
 * Launches a launch plan as if it had a tick now, and prints the name of the execution.
 *
 * @throws {OperatorError} when it could not be launched, with the reason.
 * @throws {Refused} when the server refuses; the message has its reason.
 */
export const fireSchedule = (name: string, flags: ScheduleFlags): Promise<void> =>
  connected(flags, async (connection) => {
    const { project, domain } = flags;
    const fired = await connection.call(ScheduleService.method.fireSchedule, { project, domain, name });
    const { tick } = jsonOfMessage(ScheduleFireResponseSchema, fired) as unknown as Fired;
    if (tick.kind !== 'FIRED') throw new OperatorError(`${name} was not launched: ${tick.reason}`);
    print(flags.json ? JSON.stringify(tick) : (tick.execution?.name ?? ''));
  });
