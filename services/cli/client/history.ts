import { HistoryService, TransitionListSchema } from '../../../proto/gen/platformidl/eventlog/history_pb.js';
import { connected } from './connection/connect.js';
import type { ScopeFlags } from './connection/flags.js';
import { executionIdOf } from './executions/execution-id.js';
import { jsonOfMessage, print } from './output/documents.js';
import { cell, colourOf, oneLine, timeCell } from './output/text.js';

/** The flags of `history`. */
export type HistoryFlags = ScopeFlags & {
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

type Page = { readonly transitions: readonly ShownTransition[] };

const PAGE = 500;

const subjectOf = ({ entity, nodeId, attempt, signalId }: ShownTransition): string => {
  if (entity === 'TASK') return `task ${nodeId} attempt ${attempt}`;
  if (entity === 'SIGNAL') return `signal ${signalId}`;
  return entity === 'NODE' ? `node ${nodeId}` : 'execution';
};

const lineOf = (each: ShownTransition): string =>
  [
    cell(each.position, 9),
    timeCell(each.recordedAt),
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
 * @throws {Refused} when the server refuses; the message has its reason.
 */
export const history = (name: string, flags: HistoryFlags): Promise<void> =>
  connected(flags, async (connection) => {
    const { node = '', phase = [], type = [], changesOnly, newestFirst, limit = Infinity, json } = flags;
    const filters = { nodeId: node, phases: [...phase], types: [...type], changesOnly, newestFirst };
    const id = executionIdOf(name, flags);
    let left = limit;
    let token = '';
    do {
      const request = { id, ...filters, limit: Math.min(left, PAGE), token };
      const page = await connection.call(HistoryService.method.listTransitions, request);
      const { transitions } = jsonOfMessage(TransitionListSchema, page) as unknown as Page;
      for (const each of transitions) print(json ? JSON.stringify(each) : lineOf(each));
      left -= transitions.length;
      ({ token } = page);
    } while (token !== '' && left > 0);
  });
