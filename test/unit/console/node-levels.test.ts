import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import { nodeLevels } from '../../../console/execution/nodes/node-levels.js';
import { NodeExecutionSchema } from '../../../proto/gen/platformidl/admin/node_execution_pb.js';

/** An execution as it is now, and the same as of the position 7. */
const seen = { id: { project: 'p', domain: 'd', name: 'e' }, asOf: '' };
const past = { ...seen, asOf: '7' };
const { signal } = new AbortController();

/**
 * Levels of an execution whose last event has position 9. The nodes of a parent are read from views at the position
 * given for it, by default 9; the parent of the outermost nodes is the empty string.
 */
const levelsAt = (positions: Readonly<Record<string, bigint>>) => {
  const levels = nodeLevels(({ parent }) =>
    Promise.resolve({
      nodes: [create(NodeExecutionSchema, { id: { nodeId: `${parent}-n0` } })],
      position: positions[parent] ?? 9n,
    }),
  );
  levels.listener.event({ data: '{}', lastEventId: '9' });
  return levels;
};

describe('the nodes of an execution that a page shows', () => {
  it('are read again while the views are behind the events', async () => {
    const positions: Record<string, bigint> = { '': 8n };
    const levels = levelsAt(positions);
    await levels.read({ seen, parent: '', signal });
    expect(levels.refetchInterval(seen, [''])).toBeGreaterThan(0);
    positions[''] = 9n;
    await levels.read({ seen, parent: '', signal });
    expect(levels.refetchInterval(seen, [''])).toBe(false);
  });

  it('are not read again because of a parent that has been closed', async () => {
    const levels = levelsAt({ n1: 8n });
    await levels.read({ seen, parent: '', signal });
    await levels.read({ seen, parent: 'n1', signal });
    expect(levels.refetchInterval(seen, ['', 'n1'])).toBeGreaterThan(0);
    expect(levels.refetchInterval(seen, [''])).toBe(false);
  });

  it('are not read again when they are shown as of a position', async () => {
    const levels = levelsAt({ '': 8n });
    await levels.read({ seen, parent: '', signal });
    await levels.read({ seen: past, parent: '', signal });
    expect(levels.refetchInterval(past, [''])).toBe(false);
  });
});
