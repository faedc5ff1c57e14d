import { uniqueNodeId } from '../../../../engine/walk/ids.js';
import type { Execution } from '../../../../proto/gen/platformidl/admin/execution_pb.js';
import type { NodeExecution } from '../../../../proto/gen/platformidl/admin/node_execution_pb.js';
import { NodeExecution_Phase } from '../../../../proto/gen/platformidl/core/execution_pb.js';
import { phaseOf, errorOrCause } from '../entities/columns.js';
import { cell, coloured, colourOf, oneLine, shortened, widthOf } from '../output/text.js';
import { lengthText } from '../output/times.js';

/** An execution with its nodes; those inside the same node are in the order in which they were created. */
export type ExecutionState = { readonly execution: Execution | undefined; readonly nodes: readonly NodeExecution[] };

const idOf = ({ id }: NodeExecution): string => id?.nodeId ?? '';

/** False for the start and the end of a graph, which no person has written. */
export const isOfPerson = (node: NodeExecution): boolean =>
  ![idOf(node), node.metadata?.specNodeId].some((id) => id === 'start-node' || id === 'end-node');

/** An id that engines shorten to a hash, because it would be too long. */
const HASHED = /^f[a-z2-7]{7}$/u;

const isHashed = (node: NodeExecution): boolean => {
  const { specNodeId = '' } = node.metadata ?? {};
  return HASHED.test(idOf(node)) && specNodeId !== '' && specNodeId !== idOf(node);
};

/** The id of a node; after a hash, also its id in the workflow. */
export const nodeName = (node: NodeExecution): string =>
  isHashed(node) ? `${idOf(node)} (${node.metadata?.specNodeId})` : idOf(node);

/** The parent whose id, joined with the attempt and the node's id in the workflow, has this hash. */
const parentByHash = (node: NodeExecution, parents: readonly string[]): string => {
  const { retryGroup = '', specNodeId = '' } = node.metadata ?? {};
  return parents.find((id) => uniqueNodeId(id, Number(retryGroup), specNodeId) === idOf(node)) ?? '';
};

/** The longest of the ids that, followed by a dash, an id begins with; empty when there is none. */
const longestStart = (id: string, ids: ReadonlySet<string>): string => {
  for (let end = id.lastIndexOf('-'); end > 0; end = id.lastIndexOf('-', end - 1))
    if (ids.has(id.slice(0, end))) return id.slice(0, end);
  return '';
};

/**
 * The nodes inside each node, by its id; the outermost by the empty text. The ids of engines begin with that of the
 * parent and a dash, or are hashes.
 */
const byParent = (nodes: readonly NodeExecution[]): ReadonlyMap<string, readonly NodeExecution[]> => {
  const ids = new Set(nodes.map(idOf));
  const parents = nodes.filter(({ metadata }) => metadata?.isParentNode === true).map(idOf);
  const inside = new Map<string, NodeExecution[]>();
  for (const node of nodes) {
    const parent = isHashed(node) ? parentByHash(node, parents) : longestStart(idOf(node), ids);
    inside.set(parent, inside.get(parent) ?? []);
    inside.get(parent)?.push(node);
  }
  return inside;
};

/** A line of the tree: a node, and how deep it is inside others. */
export type TreeLine = { readonly node: NodeExecution; readonly depth: number };

/** The nodes in the order of the tree, without the start and the end of the graph. */
export const linesOf = (nodes: readonly NodeExecution[]): readonly TreeLine[] => {
  const inside = byParent(nodes.filter(isOfPerson));
  const linesBelow = (parent: string, depth: number): readonly TreeLine[] =>
    (inside.get(parent) ?? []).flatMap((node) => [{ node, depth }, ...linesBelow(idOf(node), depth + 1)]);
  return linesBelow('', 0);
};

/** The name of the phase of a node. */
export const nodePhaseOf = ({ closure }: NodeExecution): string => NodeExecution_Phase[closure?.phase ?? 0] ?? '';

/** The message of the error of a node; otherwise empty. */
export const nodeError = ({ closure }: NodeExecution): string =>
  closure?.outputResult.case === 'error' ? closure.outputResult.value.message : '';

const SIGNS: Readonly<Record<string, string>> = {
  SUCCEEDED: '✓',
  RECOVERED: '✓',
  RUNNING: '●',
  DYNAMIC_RUNNING: '●',
  FAILED: '✗',
  TIMED_OUT: '✗',
  ABORTED: '■',
  SKIPPED: '-',
};

const PHASE_WIDTH = 16;
const TIME_WIDTH = 8;

type Row = { readonly name: string; readonly phase: string; readonly time: string; readonly reason: string };

const rowText = ({ name, phase, time, reason }: Row, nameWidth: number, width: number): string => {
  const left = nameWidth + PHASE_WIDTH + TIME_WIDTH + 6;
  return [
    cell(shortened(name, nameWidth), nameWidth),
    cell(`${SIGNS[phase] ?? '○'} ${phase}`, PHASE_WIDTH, colourOf(phase)),
    coloured(time.padEnd(TIME_WIDTH), 'grey'),
    shortened(oneLine(reason), Math.max(0, width - left)),
  ]
    .join('  ')
    .trimEnd();
};

/**
 * An execution with its nodes as a tree: a line each, with sign, phase, duration and error.
 *
 * @param width the width of a terminal; errors are shortened to what the other cells leave of it.
 */
export const treeText = ({ execution, nodes }: ExecutionState, width = Infinity): readonly string[] => {
  if (!execution) return [];
  const head: Row = {
    name: execution.id?.name ?? '',
    phase: phaseOf(execution),
    time: lengthText(execution.closure?.duration),
    reason: errorOrCause(execution),
  };
  const rows = linesOf(nodes).map(({ node, depth }) => ({
    name: `${'  '.repeat(depth + 1)}${nodeName(node)}`,
    phase: nodePhaseOf(node),
    time: lengthText(node.closure?.duration),
    reason: nodeError(node),
  }));
  const all = [head, ...rows];
  const nameWidth = Math.min(
    40,
    all.reduce((widest, { name }) => Math.max(widest, widthOf(name)), 0),
  );
  return all.map((row) => rowText(row, nameWidth, width));
};
