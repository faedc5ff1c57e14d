import { describe, expect, it } from 'vitest';

import { differencesOf } from '../../../console/definitions/differences.js';

const node = (name: string, task: string, id = `n-${name}`) => ({ id, metadata: { name }, taskNode: task });

describe('two versions of a definition', () => {
  it('differ in their fields, and not in their own versions and times', () => {
    const before = { id: { name: 'a', version: 'v1' }, closure: { createdAt: '1', share: 0.5, kept: [1, 2] } };
    const after = { id: { name: 'a', version: 'v2' }, closure: { createdAt: '2', share: 0.8, kept: [1, 2] } };
    expect(differencesOf(before, after)).toEqual([{ path: 'closure/share', before: '0.5', after: '0.8' }]);
  });

  it('of a launch plan do not differ in the times at which they were last changed', () => {
    const before = { closure: { state: 'ACTIVE', createdAt: '1', updatedAt: '1' } };
    const after = { closure: { state: 'INACTIVE', createdAt: '2', updatedAt: '3' } };
    expect(differencesOf(before, after).map(({ path }) => path)).toEqual(['closure/state']);
  });

  it('differ in inputs that only one has, also in one that is named like a field that always differs', () => {
    const before = { interface: { inputs: { variables: {} } } };
    const after = { interface: { inputs: { variables: { createdAt: 'time', title: 'text' } } } };
    expect(differencesOf(before, after).map(({ path }) => path)).toEqual([
      'interface/inputs/variables/createdAt',
      'interface/inputs/variables/title',
    ]);
  });

  it('have their nodes compared by name: an added node is one difference, and does not shift those after it', () => {
    const before = { nodes: [node('read', 'read v1'), node('end', 'end v1')] };
    const after = { nodes: [node('read', 'read v1'), node('explain', 'explain v1'), node('end', 'end v2')] };
    expect(differencesOf(before, after)).toEqual([
      { path: 'nodes/end/taskNode', before: 'end v1', after: 'end v2' },
      { path: 'nodes/explain', before: undefined, after: JSON.stringify(node('explain', 'explain v1'), null, 1) },
    ]);
  });

  it('have nodes of the same name compared one by one', () => {
    const before = { nodes: [node('greet', 'greet v1', 'n0'), node('greet', 'greet v1', 'n1')] };
    const after = { nodes: [node('greet', 'greet v2', 'n0'), node('greet', 'greet v1', 'n1')] };
    expect(differencesOf(before, after)).toEqual([
      { path: 'nodes/greet/taskNode', before: 'greet v1', after: 'greet v2' },
    ]);
    expect(differencesOf({ nodes: before.nodes.slice(0, 1) }, { nodes: before.nodes })).toEqual([
      { path: 'nodes/greet (2)', before: undefined, after: JSON.stringify(before.nodes[1], null, 1) },
    ]);
  });

  it('may have very many nodes of the same name', () => {
    const nodes = Array.from({ length: 20_000 }, (_, at) => node('greet', 'greet v1', `n${at}`));
    const changed = nodes.with(-1, node('greet', 'greet v2', 'n19999'));
    const started = performance.now();
    expect(differencesOf({ nodes }, { nodes: changed })).toEqual([
      { path: 'nodes/greet (20000)/taskNode', before: 'greet v1', after: 'greet v2' },
    ]);
    expect(performance.now() - started).toBeLessThan(5_000); // a search for each free number takes over ten times as long
  });

  it('give each node a name of its own, also where one has the name and number of another', () => {
    const named = [node('greet', 'v1', 'n0'), node('greet (2)', 'v1', 'n1'), node('greet', 'v1', 'n2')];
    const paths = differencesOf({ nodes: [] }, { nodes: named }).map(({ path }) => path);
    expect(paths).toEqual(['nodes/greet', 'nodes/greet (2)', 'nodes/greet (3)']);
  });

  it('do not differ when they have the same content', () => {
    expect(differencesOf({ nodes: [node('a', 'b')], inputs: {} }, { nodes: [node('a', 'b')], inputs: {} })).toEqual([]);
  });
});
