import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { durationFromMs, timestampFromMs } from '@bufbuild/protobuf/wkt';
import { describe, expect, it } from 'vitest';

import { lastingOf } from '../../../console/executions/lasting.js';
import { type ExecutionClosureSchema, ExecutionSchema } from '../../../proto/gen/platformidl/admin/execution_pb.js';
import { WorkflowExecution_Phase as Phase } from '../../../proto/gen/platformidl/core/execution_pb.js';

const NOW_MS = 5_000;

/** In milliseconds. */
const lasting = (closure: MessageInitShape<typeof ExecutionClosureSchema>): number =>
  lastingOf(create(ExecutionSchema, { closure }), NOW_MS);

describe('the time that an execution takes', () => {
  const startedAt = timestampFromMs(2_000);

  it('is its duration once it has ended', () => {
    expect(lasting({ phase: Phase.SUCCEEDED, startedAt, duration: durationFromMs(700) })).toBe(700);
    expect(lasting({ phase: Phase.ABORTED })).toBe(0);
  });

  it('is the time since its start while it runs', () =>
    expect(lasting({ phase: Phase.RUNNING, startedAt })).toBe(3_000));

  it('is 0 before its start', () => {
    expect(lasting({ phase: Phase.QUEUED })).toBe(0);
    expect(lasting({ phase: Phase.RUNNING, startedAt: timestampFromMs(6_000) })).toBe(0);
  });
});
