import fc from 'fast-check';
import kafkajs, { type PartitionMetadata } from 'kafkajs';
import { describe, expect, it } from 'vitest';
import { byKey } from '../../../services/reactors/export-to-kafka/partitioner.js';

const partitions = (count: number): PartitionMetadata[] =>
  Array.from({ length: count }, (_, partitionId) => ({
    partitionId,
    leader: 1,
    partitionErrorCode: 0,
    replicas: [1],
    isr: [1],
  }));

describe('the partition of a key', () => {
  it('is the one that the default partitioner of kafkajs chooses', () => {
    const [ours, theirs] = [byKey(), kafkajs.Partitioners.DefaultPartitioner()];
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 40 }), fc.integer({ min: 1, max: 50 }), (key, count) => {
        const asked = { topic: 't', partitionMetadata: partitions(count), message: { key, value: null } };
        expect(ours(asked)).toBe(theirs(asked));
      }),
      { numRuns: 500 },
    );
  });

  it('is the same for a text and for its bytes', () => {
    const of = (key: string | Buffer): number =>
      byKey()({ topic: 't', partitionMetadata: partitions(1_000), message: { key, value: null } });
    expect(of(Buffer.from('flytesnacks/development/größe'))).toBe(of('flytesnacks/development/größe'));
  });
});
