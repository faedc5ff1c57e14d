import { create } from '@bufbuild/protobuf';
import type { Duration, Timestamp } from '@bufbuild/protobuf/wkt';

import { type Span, SpanSchema } from '../../proto/gen/platformidl/core/metrics_pb.js';
import { between, type Instant, timestampOf } from '../query/times.js';

/** What the system itself spends time on. */
export type Operation =
  | 'WORKFLOW_SETUP'
  | 'WORKFLOW_TEARDOWN'
  | 'NODE_SETUP'
  | 'NODE_TRANSITION'
  | 'NODE_RESET'
  | 'NODE_IDLE'
  | 'NODE_TEARDOWN'
  | 'TASK_SETUP'
  | 'TASK_RUNTIME'
  | 'TASK_TEARDOWN';

type Time = Instant | undefined;
type Id = Span['id'];

const NANOS = 1_000_000_000;

/** A stretch of time with what it is made of. */
export const spanOf = (id: Id, start: Time, end: Time, spans: readonly Span[] = []): Span =>
  create(SpanSchema, {
    id,
    ...(start && { startTime: timestampOf(start) }),
    ...(end && { endTime: timestampOf(end) }),
    spans: [...spans],
  });

/** The stretch of an operation; none when its end or beginning is not known, or the end comes first. */
export const operation = (name: Operation, start: Time, end: Time): readonly Span[] => {
  const took = start && end && between(timestampOf(start), end);
  if (took === undefined || took.seconds < 0n || took.nanos < 0) return [];
  return [spanOf({ case: 'operationId', value: name }, start, end)];
};

/** When something that began has ended, as it says itself; `otherwise` when it does not say how long it took. */
export const endOf = (
  { startedAt, duration }: { readonly startedAt?: Timestamp | undefined; readonly duration?: Duration | undefined },
  otherwise: Time,
): Time => {
  if (startedAt === undefined || duration === undefined) return otherwise;
  const nanos = startedAt.nanos + duration.nanos;
  return { seconds: startedAt.seconds + duration.seconds + BigInt(Math.floor(nanos / NANOS)), nanos: nanos % NANOS };
};
