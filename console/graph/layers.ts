import type { Elements } from './elements.js';
import { NODE, type Positions } from './positions.js';

const GAP_X = 64;
const GAP_Y = 28;

/** The ids of the nodes that follow each node, and of those before it. */
const neighboursOf = ({ nodes, lines }: Elements) => {
  const after = new Map<string, string[]>(nodes.map(({ id }) => [id, []]));
  const before = new Map<string, string[]>(nodes.map(({ id }) => [id, []]));
  for (const { from, to } of lines) {
    after.get(from)?.push(to);
    before.get(to)?.push(from);
  }
  return { after, before };
};

/**
 * The layer of each node: one more than the last of the nodes before it. In the map, each node comes after all nodes
 * before it in the graph.
 */
const depthsOf = ({ after, before }: ReturnType<typeof neighboursOf>): ReadonlyMap<string, number> => {
  const open = new Map([...before].map(([id, ids]) => [id, ids.length]));
  const depths = new Map([...open].filter(([, count]) => count === 0).map(([id]) => [id, 0]));
  for (const [id, depth] of depths)
    // grows while it is walked
    for (const next of after.get(id) ?? []) {
      const left = (open.get(next) ?? 0) - 1;
      open.set(next, left);
      if (left === 0) depths.set(next, depth + 1);
    }
  return depths;
};

const mean = (values: readonly number[]): number =>
  values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;

/**
 * Arranges the nodes of a large graph in layers, from left to right, in time that is nearly proportional to its size. A
 * node is placed near those before it; crossings are not minimised further.
 */
export const layersOf = (elements: Elements): Positions => {
  const { after, before } = neighboursOf(elements);
  const layers: string[][] = [];
  for (const [id, depth] of depthsOf({ after, before })) (layers[depth] ??= []).push(id);
  const positions = new Map<string, { readonly x: number; readonly y: number }>();
  for (const [depth, ids] of layers.entries()) {
    const wished = new Map(
      ids.map((id) => [id, mean((before.get(id) ?? []).flatMap((each) => positions.get(each)?.y ?? []))]),
    );
    ids.sort((one, other) => (wished.get(one) ?? 0) - (wished.get(other) ?? 0));
    for (const [row, id] of ids.entries())
      positions.set(id, {
        x: depth * (NODE.width + GAP_X),
        y: (row - (ids.length - 1) / 2) * (NODE.height + GAP_Y),
      });
  }
  return positions;
};
