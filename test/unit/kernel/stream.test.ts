import { describe, expect, it } from 'vitest';

import { componentsOf, type StreamName, streamName } from '../../../services/kernel/stream.js';

describe('the components of the name of a stream', () => {
  it('are those that the name was built from, without one that is in it only as a hash', () => {
    for (const parts of [['p', 'd', 'e'], ['', 'a:b', '50%', 'ä-~'], ['p'], ['']])
      expect(componentsOf(streamName('execution', parts))).toEqual(parts);
    expect(componentsOf(streamName('execution', ['p', 'd', 'x'.repeat(600)]))).toEqual(['p', 'd']);
  });

  it('are none for a name of another program whose components cannot be decoded', () => {
    for (const name of ['orders-50%', 'orders-a:%zz', 'orders-%FF'])
      expect(componentsOf(name as StreamName)).toEqual([]);
  });
});
