import { describe, expect, it } from 'vitest';

import type { Elements } from '../../../console/graph/elements.js';
import { NODE } from '../../../console/graph/positions.js';
import { layersOf } from '../../../console/graph/layers.js';
import { fitted, pointAt, zoomed } from '../../../console/graph/view.js';

/** A graph of lines, each written as `FROM TO`. */
const graph = (...lines: readonly string[]): Elements => ({
  nodes: [...new Set(lines.flatMap((line) => line.split(' ')))].map((id) => ({ id, name: id, kind: '', detail: '' })),
  lines: lines.map((line) => {
    const [from = '', to = ''] = line.split(' ');
    return { id: line, from, to };
  }),
});

describe('the layout of a large graph', () => {
  it('places each node to the right of all nodes that lead to it', () => {
    const elements = graph('a b', 'b c', 'a c', 'c d', 'a d');
    const positions = layersOf(elements);
    for (const { from, to } of elements.lines)
      expect(positions.get(to)!.x).toBeGreaterThanOrEqual(positions.get(from)!.x + NODE.width);
  });

  it('gives no two nodes one position, and keeps parallel chains straight', () => {
    const positions = layersOf(graph('s a1', 's b1', 's c1', 'b1 b2', 'a1 a2', 'c1 c2', 'c2 e', 'a2 e', 'b2 e'));
    const places = [...positions.values()];
    expect(new Set(places.map(({ x, y }) => `${x} ${y}`)).size).toBe(8);
    for (const chain of ['a', 'b', 'c']) expect(positions.get(`${chain}1`)!.y).toBe(positions.get(`${chain}2`)!.y);
  });

  it('leaves out nodes in a cycle, which no compiled workflow has', () => {
    expect([...layersOf(graph('a b', 'b c', 'c b')).keys()]).toEqual(['a']);
  });

  it('places all of ten thousand nodes, in chains of a hundred', () => {
    const lines = Array.from({ length: 9_900 }, (_, at) => `n${at} n${at + 100}`);
    expect(layersOf(graph(...lines)).size).toBe(10_000);
  });
});

describe('the view of a large graph', () => {
  const size = { width: 448, height: 248 };

  it('shows the whole of it in the middle', () => {
    const view = fitted({ left: -400, top: 0, right: 400, bottom: 100 }, size);
    expect(view).toEqual({ scale: 0.5, x: 224, y: 99 });
  });

  it('keeps the point under the pointer when it is enlarged', () => {
    const view = fitted({ left: 0, top: 0, right: 800, bottom: 400 }, size);
    const pointer = { x: 100, y: 60 };
    expect(pointAt(zoomed(view, 3, pointer), pointer)).toEqual(pointAt(view, pointer));
  });
});
