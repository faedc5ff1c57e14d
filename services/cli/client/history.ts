import { cell, coloured, colourOf, oneLine } from './lines.js';
import { executionPathOf, get, type ServerFlags } from './server-client.js';

/** The flags of `history`. */
export type HistoryFlags = ServerFlags & {
  readonly node?: string;
  readonly phase?: readonly string[];
  readonly type?: readonly string[];
  readonly changesOnly: boolean;
  readonly newestFirst: boolean;
  readonly limit?: number;
  readonly json: boolean;
};

type ShownTransition = {
  readonly position: string;
  readonly type: string;
  readonly entity: string;
  readonly nodeId: string;
  readonly attempt: number;
  readonly signalId: string;
  readonly phase: string;
  readonly recordedAt: string;
  readonly principal: string;
  readonly producerId: string;
  readonly requestId: string;
  readonly reason: string;
};

type Page = { readonly transitions: readonly ShownTransition[]; readonly token: string };

const PAGE = 500;

const subjectOf = ({ entity, nodeId, attempt, signalId }: ShownTransition): string => {
  if (entity === 'TASK') return `task ${nodeId} attempt ${attempt}`;
  if (entity === 'SIGNAL') return `signal ${signalId}`;
  return entity === 'NODE' ? `node ${nodeId}` : 'execution';
};

const lineOf = (each: ShownTransition): string =>
  [
    cell(each.position, 9),
    coloured(each.recordedAt, 'grey'),
    cell(each.phase || each.type, 21, colourOf(each.phase)),
    cell(subjectOf(each), 26),
    cell(each.principal || each.producerId || '-', 12),
    cell(each.requestId || '-', 22),
    oneLine(each.reason),
  ]
    .join('  ')
    .trimEnd();

/**
 * Prints the transitions of an execution, one line each.
 *
 * @throws {OperatorError} when the server refuses, with its reason.
 */
export const history = async (name: string, flags: HistoryFlags): Promise<void> => {
  const { node, phase, type, changesOnly, newestFirst, limit: asked = Infinity, json } = flags;
  const filters = { nodeId: node, phases: phase, types: type, changesOnly, newestFirst };
  let left = asked;
  let token: string | undefined;
  do {
    const query = { ...filters, limit: Math.min(left, PAGE), token };
    const response = await get(flags, `/api/v1/history/executions/${executionPathOf(name, flags)}`, query);
    const page = (await response.json()) as Page;
    for (const each of page.transitions) process.stdout.write(`${json ? JSON.stringify(each) : lineOf(each)}\n`);
    left -= page.transitions.length;
    ({ token } = page);
  } while (token !== '' && left > 0);
};
