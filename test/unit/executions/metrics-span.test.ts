import { toJson } from '@bufbuild/protobuf';
import { expect, it } from 'vitest';
import { operation, spanEnd } from '../../../projections/execution-metrics/span.js';
import { timestampOf } from '../../../projections/query/times.js';
import { SpanSchema } from '../../../proto/gen/platformidl/core/metrics_pb.js';

const durationOf = (seconds: bigint, nanos: number) => ({
  $typeName: 'google.protobuf.Duration' as const,
  seconds,
  nanos,
});

it.each([
  ['within a second', durationOf(1n, 500_000_000), { seconds: 11n, nanos: 700_000_000 }],
  ['over a second', durationOf(0n, 900_000_000), { seconds: 11n, nanos: 100_000_000 }],
  ['with clocks that disagree', durationOf(0n, -500_000_000), { seconds: 9n, nanos: 700_000_000 }],
  ['with clocks that disagree by seconds', durationOf(-2n, -200_000_000), { seconds: 8n, nanos: 0 }],
])('the end of a task is its start plus its duration, and a span can begin at it: %s', (_, duration, expected) => {
  const end = spanEnd({ startedAt: timestampOf({ seconds: 10n, nanos: 200_000_000 }), duration }, undefined);
  expect(end).toEqual(expected);
  const [span] = operation('TASK_TEARDOWN', end, { seconds: 20n, nanos: 0 });
  expect(span && toJson(SpanSchema, span)).toMatchObject({
    operationId: 'TASK_TEARDOWN',
    startTime: expect.any(String) as string,
    endTime: '1970-01-01T00:00:20Z',
  });
});
