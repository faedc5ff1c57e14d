import { create } from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import { ExecutionCreateRequestSchema } from '../../../proto/gen/platformidl/admin/execution_pb.js';
import { TaskCreateRequestSchema } from '../../../proto/gen/platformidl/admin/task_pb.js';
import { WorkflowCreateRequestSchema } from '../../../proto/gen/platformidl/admin/workflow_pb.js';
import { timeOutOfRange } from '../../../services/kernel/values/time-range.js';

/** The field that is out of range in a request with this scheduled time; undefined when none is. */
const scheduled = (seconds: bigint, nanos = 0) =>
  timeOutOfRange(
    ExecutionCreateRequestSchema,
    create(ExecutionCreateRequestSchema, { spec: { metadata: { scheduledAt: { seconds, nanos } } } }),
  );
/** The field that is out of range in a request with this timeout; undefined when none is. */
const timeout = (seconds: bigint, nanos = 0) =>
  timeOutOfRange(
    TaskCreateRequestSchema,
    create(TaskCreateRequestSchema, { spec: { template: { metadata: { timeout: { seconds, nanos } } } } }),
  );

describe('a time in a request', () => {
  it('is from the year 1 to 9999', () => {
    expect([scheduled(-62_135_596_800n), scheduled(253_402_300_799n, 999_999_999)]).toEqual([undefined, undefined]);
    const wrong = [scheduled(-62_135_596_801n), scheduled(253_402_300_800n), scheduled(0n, -1), scheduled(0n, 1e9)];
    expect(new Set(wrong)).toEqual(new Set(['spec.metadata.scheduled_at']));
  });

  it('may be a duration of at most 10,000 years, whose seconds and nanoseconds have one sign', () => {
    expect([timeout(315_576_000_000n), timeout(-1n, -1), timeout(0n, -5)]).toEqual([undefined, undefined, undefined]);
    const wrong = [timeout(315_576_000_001n), timeout(1n, -1), timeout(-1n, 1), timeout(0n, 1e9)];
    expect(new Set(wrong)).toEqual(new Set(['spec.template.metadata.timeout']));
  });

  it('is not checked here in a literal', () => {
    const datetime = { case: 'datetime', value: { seconds: 10n ** 15n } } as const;
    const literal = { case: 'scalar', value: { value: { case: 'primitive', value: { value: datetime } } } } as const;
    const request = create(ExecutionCreateRequestSchema, { inputs: { literals: { at: { value: literal } } } });
    expect(timeOutOfRange(ExecutionCreateRequestSchema, request)).toBeUndefined();
  });

  it('is checked in the elements of lists too', () => {
    const request = create(WorkflowCreateRequestSchema, {
      spec: { template: { nodes: [{}, { metadata: { timeout: { seconds: 1n, nanos: -1 } } }] } },
    });
    expect(timeOutOfRange(WorkflowCreateRequestSchema, request)).toBe('spec.template.nodes.metadata.timeout');
  });
});
