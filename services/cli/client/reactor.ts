import { ReactorListSchema, ReactorService } from '../../../proto/gen/platformidl/eventlog/reactor_service_pb.js';
import { connected } from './connection/connect.js';
import type { ConnectionFlags } from './connection/profile.js';
import { jsonOfMessage, print } from './output/documents.js';
import { type Columns, printHeader } from './output/header.js';
import { cell, coloured, oneLine, timeCell } from './output/text.js';

/** The flags of the commands of `reactor`. */
export type ReactorFlags = ConnectionFlags & { readonly json?: boolean };

type ShownLetter = {
  readonly letter: {
    readonly position: string;
    readonly stream: string;
    readonly reason: string;
    readonly since: string;
    readonly parked: boolean;
  };
  readonly retrying: boolean;
};

/** `Reactor` in `reactor_service.proto`, as JSON. */
type ShownReactor = {
  readonly name: string;
  /** The process that runs it; empty when none does, or it is not known. */
  readonly worker: string;
  readonly position: string;
  readonly waiting: number;
  readonly retrying: number;
  /** Seconds, such as `1.500s`. */
  readonly lag: string;
  readonly dead: number;
  /** The reason that no process may run it, such as a log that is a copy; empty when one may. */
  readonly muted: string;
  /** The reason that its dead letters cannot be read; empty when they can. */
  readonly problem: string;
  readonly deadLetters: readonly ShownLetter[];
};

/** Maximum number of dead letters of a reactor that are printed. */
const MAX_LETTERS = 1_000;

const COLUMNS: Columns = [
  ['REACTOR', 20],
  ['WORKER', 24],
  ['FIGURES', 0],
];

const letterLine = ({ letter, retrying }: ShownLetter): string => {
  const state = retrying ? 'retrying' : letter.parked ? 'parked' : 'dead';
  const { position, since, stream, reason } = letter;
  return `  ${cell(state, 8)}  ${cell(position, 10)}  ${timeCell(since)}  ${oneLine(stream)}  ${oneLine(reason)}`;
};

/** The lines of a reactor: its figures, why it may not run, why its dead letters cannot be read, its dead letters. */
export const linesOf = (each: ShownReactor): readonly string[] => {
  // Position 0 means that it keeps none, or has done nothing yet.
  const position = each.position === '0' ? '-' : each.position;
  const figures = `position ${position}, lag ${each.lag}, waiting ${each.waiting}, retrying ${each.retrying}`;
  const dead = each.problem === '' ? each.dead : 'unknown';
  const line = [cell(each.name, 20), cell(each.worker || '-', 24), `${figures}, dead ${dead}`].join('  ');
  const hidden = each.dead - each.deadLetters.length;
  const muted = each.muted === '' ? [] : [`  ${coloured('muted', 'yellow')}     ${oneLine(each.muted)}`];
  const problem = each.problem === '' ? [] : [`  ${coloured('parked', 'red')}    ${oneLine(each.problem)}`];
  return [
    line,
    ...muted,
    ...problem,
    ...each.deadLetters.map(letterLine),
    ...(hidden > 0 ? [`  and ${hidden} more`] : []),
  ];
};

/**
 * Prints the reactors: where they run, their positions and lags, and their dead letters.
 *
 * @throws {Refused} when the server refuses; the message has its reason.
 */
export const listReactors = (flags: ReactorFlags): Promise<void> =>
  connected(flags, async (connection) => {
    const list = await connection.call(ReactorService.method.listReactors, { limit: MAX_LETTERS });
    const { reactors } = jsonOfMessage(ReactorListSchema, list) as unknown as { readonly reactors: ShownReactor[] };
    if (flags.json !== true) printHeader(COLUMNS);
    for (const each of reactors)
      for (const line of flags.json === true ? [JSON.stringify(each)] : linesOf(each)) print(line);
  });

/**
 * Retries or skips a dead letter.
 *
 * @throws {Refused} when there is no such dead letter, or the server refuses for another reason.
 */
export const changeDeadLetter = async (
  command: 'retry' | 'skip',
  letter: { readonly reactor: string; readonly position: bigint },
  flags: ReactorFlags,
): Promise<void> =>
  connected(flags, async (connection) => {
    const { retryDeadLetter, skipDeadLetter } = ReactorService.method;
    await (command === 'retry' ? connection.call(retryDeadLetter, letter) : connection.call(skipDeadLetter, letter));
  });
