import { fromBinary, toBinary } from '@bufbuild/protobuf';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { EngineReportedSchema } from '../../../proto/gen/platformidl/eventlog/execution_pb.js';
import {
  encodeEngineReported,
  encodeReport,
  type EngineReport,
  reportedEntity,
  reportIn,
} from '../../../services/execution/wire/engine-report.js';
import type { Content } from '../../../services/kernel/ports/payload-store.js';

const TYPES = { workflow: 'WorkflowPhaseReported', node: 'NodePhaseReported', task: 'TaskPhaseReported' } as const;

/** Texts of one to four bytes a character, and one whose length takes two bytes. */
const word = fc.constantFrom('', 'a', 'é–𐍈', 'x'.repeat(130));
const number = fc.constantFrom(0, 1, 127, 128, 2 ** 32 - 1);
// Lengths around those whose prefix takes one byte more.
const content: fc.Arbitrary<Content> = fc.oneof(
  fc
    .constantFrom(0, 1, 125, 126, 127, 128)
    .map((length): Content => ({ content: { case: 'inline', value: new Uint8Array(length).fill(7) } })),
  fc
    .record({ scope: word, sha256: word, sizeBytes: fc.constantFrom(0n, 1n, (1n << 64n) - 1n), keyId: word })
    .map((value): Content => ({ content: { case: 'ref', value } })),
);
const report: fc.Arbitrary<EngineReport> = fc.record({
  entity: fc.constantFrom('workflow', 'node', 'task'),
  nodeId: word,
  taskId: fc.option(
    fc.record({ resourceType: fc.nat(3), project: word, domain: word, name: word, version: word, org: word }),
    { nil: undefined },
  ),
  retryAttempt: number,
  phase: fc.nat(9),
  phaseVersion: number,
  occurredAt: fc.record({
    seconds: fc.constantFrom(0n, 1n, -1n, -62_135_596_800n, 253_402_300_799n),
    nanos: fc.constantFrom(0, 1, 999_999_999),
  }),
  producerId: word,
  message: content,
  messageHash: fc.oneof(fc.constant(0n), fc.bigInt({ min: 1n, max: (1n << 64n) - 1n })),
  closed: fc.option(content, { nil: undefined }),
  samePhase: fc.boolean(),
});

describe('any report', () => {
  it('is encoded as protobuf encodes it, byte for byte, and read back whole', () => {
    fc.assert(
      fc.property(report, (drawn) => {
        const older = encodeEngineReported(drawn);
        expect(Buffer.compare(older, toBinary(EngineReportedSchema, fromBinary(EngineReportedSchema, older)))).toBe(0);
        expect(reportIn('EngineReported', older)).toEqual(drawn);
        expect(reportedEntity('EngineReported', older)).toBe(drawn.entity);

        // The types of the entities have the same fields, but not the entity, which takes two bytes.
        const own = encodeReport(drawn);
        expect(Buffer.compare(older.subarray(2), own)).toBe(0);
        expect(reportIn(TYPES[drawn.entity], own)).toEqual(drawn);
        expect(reportedEntity(TYPES[drawn.entity], own)).toBe(drawn.entity);
      }),
      { numRuns: 80 },
    );
  });

  it('of the oldest format without an entity is that of a workflow', () => {
    const bytes = toBinary(EngineReportedSchema, fromBinary(EngineReportedSchema, new Uint8Array()));
    expect(reportedEntity('EngineReported', bytes)).toBe('workflow');
    expect(reportIn('EngineReported', bytes)).toMatchObject({ entity: 'workflow', phase: 0, samePhase: false });
  });

  it('is not found in an event of another type', () => {
    const bytes = new Uint8Array();
    expect(reportedEntity('ExecutionCreated', bytes)).toBeUndefined();
    expect(reportIn('ExecutionCreated', bytes)).toBeUndefined();
  });
});
