import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import { type OpenParents, readTree } from '../../../console/execution/nodes/node-list.js';
import { NodeExecutionSchema } from '../../../proto/gen/platformidl/admin/node_execution_pb.js';
import { NodeExecution_Phase as Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';

/** The parents whose nodes are read when the execution, '' here, has one parent node n0 in this phase. */
const openIn = async (phase: Phase, chosen: OpenParents): Promise<readonly string[]> => {
  const node = create(NodeExecutionSchema, {
    id: { nodeId: 'n0' },
    metadata: { isParentNode: true },
    closure: { phase },
  });
  const children = await readTree((parent) => Promise.resolve(parent === '' ? [node] : []), chosen);
  return [...children.keys()];
};

describe('a parent in the tree of nodes', () => {
  it('is open when it has failed or is failing, and closed while it runs or when it has succeeded', async () => {
    for (const phase of [Phase.FAILING, Phase.FAILED]) expect(await openIn(phase, new Map())).toEqual(['', 'n0']);
    for (const phase of [Phase.RUNNING, Phase.SUCCEEDED]) expect(await openIn(phase, new Map())).toEqual(['']);
  });

  it('stays as the person has chosen when it begins to fail', async () => {
    const [opened, closed] = [new Map([['n0', true]]), new Map([['n0', false]])];
    expect(await openIn(Phase.RUNNING, opened)).toEqual(['', 'n0']);
    expect(await openIn(Phase.FAILING, opened)).toEqual(['', 'n0']);
    expect(await openIn(Phase.RUNNING, closed)).toEqual(['']);
    expect(await openIn(Phase.FAILING, closed)).toEqual(['']);
  });
});
