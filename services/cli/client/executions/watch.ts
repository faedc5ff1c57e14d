import { clearScreenDown, moveCursor } from 'node:readline';
import type { Execution } from '../../../../proto/gen/platformidl/admin/execution_pb.js';
import {
  type WatchResponse,
  WatchResponse_Kind as Kind,
  WatchResponseSchema,
} from '../../../../proto/gen/platformidl/eventlog/watch_pb.js';
import { connected } from '../connection/connect.js';
import type { Connection } from '../connection/connection.js';
import type { FormFlags, ScopeFlags } from '../connection/flags.js';
import { phaseOf, errorOrCause } from '../entities/columns.js';
import { cell, coloured, colourOf, oneLine } from '../output/text.js';
import { momentText } from '../output/times.js';
import { type DocumentForm, type Form, jsonOfMessage, oneOfManyText, print } from '../output/documents.js';
import { endWithReader } from '../output/reader.js';
import { type ExecutionId, executionIdOf } from './execution-id.js';
import { answersOf, type ExecutionEnd, endOf, statesOf } from './follow.js';
import { type ExecutionState, isOfPerson, nodeError, nodeName, nodePhaseOf, treeText } from './tree.js';

type State = ExecutionState & {
  readonly answer: { readonly recordedAt?: Parameters<typeof momentText>[0] | undefined };
};

/** Shows states one after the other. */
type Display = (state: State) => void;

/** Lines that are longer than the terminal is wide are cut by it: one that wraps would be drawn over only in part. */
const WRAP_OFF = '\u001B[?7l';
const WRAP_ON = '\u001B[?7h';

/** As many of the lines as fit, and how many are left out. */
const fitting = (lines: readonly string[], most: number): readonly string[] =>
  lines.length <= most ? lines : [...lines.slice(0, most - 1), `… ${lines.length - most + 1} more`];

/** Draws each state in the place of the one before, as far as the terminal has lines. */
const inPlace = (): Display => {
  let drawn: readonly string[] = [];
  return (state) => {
    const { columns, rows } = process.stdout;
    const lines = fitting(treeText(state, columns - 1), Math.max(2, rows - 1));
    if (lines.join('\n') === drawn.join('\n')) return;
    moveCursor(process.stdout, 0, -drawn.length);
    clearScreenDown(process.stdout);
    print(`${WRAP_OFF}${lines.join('\n')}${WRAP_ON}`);
    drawn = lines;
  };
};

type Shown = { readonly name: string; readonly phase: string; readonly reason: string };

const shownOf = ({ execution, nodes }: ExecutionState): readonly Shown[] => [
  ...(execution
    ? [{ name: execution.id?.name ?? '', phase: phaseOf(execution), reason: errorOrCause(execution) }]
    : []),
  ...nodes
    .filter(isOfPerson)
    .map((node) => ({ name: `  ${nodeName(node)}`, phase: nodePhaseOf(node), reason: nodeError(node) })),
];

const lineOf = (at: string, { name, phase, reason }: Shown): string =>
  [coloured(at, 'grey'), cell(name, 24), cell(phase, 10, colourOf(phase)), oneLine(reason)].join('  ').trimEnd();

/** Prints a line for each phase that has changed. */
const asLines = (): Display => {
  const before = new Map<string, string>();
  return (state) => {
    const at = momentText(state.answer.recordedAt) || momentText(state.execution?.closure?.updatedAt);
    for (const each of shownOf(state)) {
      if (before.get(each.name) === each.phase) continue;
      before.set(each.name, each.phase);
      print(lineOf(at, each));
    }
  };
};

const printLost = (): void => {
  process.stderr.write('flightlog: the connection was lost; trying again\n');
};

/** Follows an execution until it ends, and shows its nodes: live on a terminal, elsewhere a line for each new phase. */
const followAsText = async (connection: Connection, id: ExecutionId): Promise<ExecutionEnd> => {
  const show = process.stdout.isTTY ? inPlace() : asLines();
  let last: Execution | undefined;
  for await (const state of statesOf(connection, id, printLost)) {
    show(state);
    last = state.execution;
  }
  return endOf(last);
};

/** Prints an answer of a watch as a document, unless it says only that nothing has changed. */
const printDocument = (form: DocumentForm, answer: WatchResponse): void => {
  if (answer.kind === Kind.CHECKPOINT) return;
  print(oneOfManyText(form, jsonOfMessage(WatchResponseSchema, answer)));
};

/** Prints an answer of a watch. */
type Printer = (answer: WatchResponse) => void;

/** Follows an execution and prints each answer of its watch, until it ends. */
const followAnswers = async (connection: Connection, id: ExecutionId, printAnswer: Printer): Promise<ExecutionEnd> => {
  let last: Execution | undefined;
  for await (const answer of answersOf(connection, id, printLost)) {
    printAnswer(answer);
    last = answer.executions.at(-1) ?? last;
  }
  return endOf(last);
};

/** Prints the ids of the nodes that an answer has, each on a line. */
const printNodeNames: Printer = ({ nodes }) => {
  for (const { id } of nodes) print(id?.nodeId ?? '');
};

/** Prints the names of the executions that an answer has, each on a line. */
const printExecutionNames: Printer = ({ executions }) => {
  for (const { id } of executions) print(id?.name ?? '');
};

/**
 * Follows an execution until it ends, and prints its changes in a form.
 *
 * @param printName prints an answer in the form `name`; by default nothing, because the name of the execution is
 * printed before it is followed.
 */
export const follow = (
  connection: Connection,
  id: ExecutionId,
  form: Form,
  printName: Printer = () => undefined,
): Promise<ExecutionEnd> => {
  endWithReader(1); // the end of the execution is not known then
  if (form === 'table') return followAsText(connection, id);
  return followAnswers(connection, id, form === 'name' ? printName : (answer) => printDocument(form, answer));
};

/** The flags of `watch execution`. */
export type WatchFlags = ScopeFlags & FormFlags;

/**
 * Watches one execution until it ends; the exit code says how.
 *
 * @throws {Refused} when the server refuses; the message has its reason.
 */
export const watchExecution = (name: string, { output: form, ...flags }: WatchFlags): Promise<void> =>
  connected(flags, async (connection) => {
    process.exitCode = (await follow(connection, executionIdOf(name, flags), form, printNodeNames)).exitCode;
  });

/** Prints a line for each execution whose phase has changed. */
const asLinesOfExecutions = (): Printer => {
  const phases = new Map<string, string>();
  return ({ executions, recordedAt }) => {
    for (const execution of executions) {
      const [name, phase, reason] = [execution.id?.name ?? '', phaseOf(execution), errorOrCause(execution)];
      if (phases.get(name) === phase) continue;
      phases.set(name, phase);
      print(lineOf(momentText(recordedAt ?? execution.closure?.updatedAt), { name, phase, reason }));
    }
  };
};

const printerOfExecutions = (form: Form): Printer => {
  if (form === 'table') return asLinesOfExecutions();
  return form === 'name' ? printExecutionNames : (answer) => printDocument(form, answer);
};

/** The flags of `watch executions`. */
export type WatchListFlags = WatchFlags & {
  readonly filter?: readonly string[];
  readonly label?: readonly string[];
};

/**
 * Prints the executions that the filters match, and then their changes, until Ctrl-C.
 *
 * @throws {Refused} when the server refuses; the message has its reason.
 */
export const watchExecutions = ({
  filter = [],
  label: labels = [],
  output: form,
  ...flags
}: WatchListFlags): Promise<void> =>
  connected(flags, async (connection) => {
    const { project, domain } = flags;
    const watched = { project, domain, filters: filter.join('+'), labels };
    const printAnswer = printerOfExecutions(form);
    for await (const answer of answersOf(connection, watched, printLost)) printAnswer(answer);
  });
