import { cell, colourOf, oneLine } from './lines.js';
import { executionPathOf, get, type ServerFlags } from './server-client.js';

/** The flags of `get execution`. */
export type GetFlags = ServerFlags & { readonly asOf?: string; readonly json: boolean };

type Closure = {
  readonly phase: string;
  readonly createdAt?: string;
  readonly startedAt?: string;
  readonly duration?: string;
  readonly error?: { readonly message?: string };
};

type ShownExecution = { readonly closure: Closure };
type ShownNodes = {
  readonly nodeExecutions: readonly { readonly id: { readonly nodeId: string }; readonly closure: Closure }[];
  readonly token: string;
};

const lineOf = (name: string, { phase, createdAt, startedAt, duration, error }: Closure): string =>
  [
    cell(name, 16),
    cell(phase, 12, colourOf(phase)),
    cell(startedAt ?? createdAt ?? '-', 27),
    cell(duration ?? '-', 12),
    oneLine(error?.message ?? ''),
  ]
    .join('  ')
    .trimEnd();

/** The nodes of an execution, page after page. */
const nodesOf = async function* (path: string, flags: GetFlags): AsyncIterable<ShownNodes['nodeExecutions']> {
  let token = '';
  do {
    const response = await get(flags, `/api/v1/node_executions/${path}`, { limit: 100, token, asOf: flags.asOf });
    const page = (await response.json()) as ShownNodes;
    yield page.nodeExecutions;
    ({ token } = page);
  } while (token !== '');
};

/**
 * Prints an execution and its nodes, now or as of a moment: a line each, or the answer of GetExecution as JSON.
 *
 * @throws {CannotGoOn} when the server refuses, with its reason.
 */
export const getExecution = async (name: string, flags: GetFlags): Promise<void> => {
  const path = executionPathOf(name, flags);
  const response = await get(flags, `/api/v1/executions/${path}`, { asOf: flags.asOf });
  const text = await response.text();
  if (flags.json) {
    process.stdout.write(`${text}\n`);
    return;
  }
  process.stdout.write(`${lineOf(name, (JSON.parse(text) as ShownExecution).closure)}\n`);
  for await (const nodes of nodesOf(path, flags))
    for (const { id, closure } of nodes) process.stdout.write(`${lineOf(`  ${id.nodeId}`, closure)}\n`);
};
