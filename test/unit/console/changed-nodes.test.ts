import { describe, expect, it } from 'vitest';

import { changedNodes } from '../../../console/execution/nodes/changed-nodes.js';

const node = (position: bigint, nodeId: string) => ({ position, nodeId });

describe('the changed nodes of an execution', () => {
  it('are those of the events after a position', () => {
    const changed = changedNodes();
    changed.add(node(5n, 'n0'));
    changed.add(node(7n, 'n1'));
    changed.add(node(9n, 'n0'));
    expect(changed.after(5n)).toEqual(['n0', 'n1']);
    expect(changed.after(7n)).toEqual(['n0']);
    expect(changed.after(9n)).toEqual([]);
    expect(changed.last()).toBe(9n);
  });

  it('are unknown before the first event that was followed', () => {
    const changed = changedNodes();
    expect(changed.after(4n)).toBeUndefined();
    changed.add(node(5n, 'n0'));
    expect(changed.after(4n)).toBeUndefined();
    expect(changed.after(5n)).toEqual([]);
  });

  it('are unknown when events may have been missed', () => {
    const changed = changedNodes();
    changed.add(node(5n, 'n0'));
    changed.reset();
    expect(changed.after(6n)).toBeUndefined();
    changed.add(node(9n, 'n1'));
    expect(changed.after(6n)).toBeUndefined();
    expect(changed.after(9n)).toEqual([]);
  });

  it('are unknown after a position before an event of the whole execution', () => {
    const changed = changedNodes();
    changed.add(node(5n, 'n0'));
    changed.add({ position: 6n, nodeId: undefined });
    changed.add(node(7n, 'n1'));
    expect(changed.after(5n)).toBeUndefined();
    expect(changed.after(6n)).toEqual(['n1']);
  });

  it.each([
    ['there are more than a hundred', Array.from({ length: 101 }, (_, index) => `n${index}`)],
    ['their ids are long', Array.from({ length: 50 }, (_, index) => `${'long'.repeat(25)}${index}`)],
    ['an id has a character that filters cannot have', ['n0;n1']],
  ])('are unknown, so that all nodes are read, when %s', (_, ids) => {
    const changed = changedNodes();
    for (const id of ['first', ...ids]) changed.add(node(changed.last() + 1n, id));
    expect(changed.after(1n)).toBeUndefined();
    expect(changed.after(changed.last())).toEqual([]);
  });
});
