import { create } from '@bufbuild/protobuf';
import type { Duration, Timestamp } from '@bufbuild/protobuf/wkt';

import { type Span, SpanSchema } from '../../proto/gen/platformidl/core/metrics_pb.js';
import { durationBetween, type Instant, timestampOf } from '../query/times.js';

/** The operations that spans are of, by the names that clients know. */
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

/** A span of time with its child spans. */
export const spanOf = (id: Id, start: Time, end: Time, spans: readonly Span[] = []): Span =>
  create(SpanSchema, {
    id,
    ...(start && { startTime: timestampOf(start) }),
    ...(end && { endTime: timestampOf(end) }),
    spans: [...spans],
  });

/**
 * The span of an operation; empty when its start or end is unknown. The end can precede the start, because the control
 * plane and the engine have clocks of their own.
 */
export const operation = (name: Operation, start: Time, end: Time): readonly Span[] =>
  start === undefined || end === undefined ? [] : [spanOf({ case: 'operationId', value: name }, start, end)];

/** The span of an operation as for {@link operation}; empty also when the end precedes the start. */
export const operationUnlessNegative = (name: Operation, start: Time, end: Time): readonly Span[] => {
  const took = start && end && durationBetween(timestampOf(start), end);
  return took === undefined || took.seconds < 0n || took.nanos < 0 ? [] : operation(name, start, end);
};

/** The end of a node or task by its own start and duration; `otherwise` when either is missing. */
export const spanEnd = (
  { startedAt, duration }: { readonly startedAt?: Timestamp | undefined; readonly duration?: Duration | undefined },
  otherwise: Time,
): Time => {
  if (startedAt === undefined || duration === undefined) return otherwise;
  const nanos = startedAt.nanos + duration.nanos; // below 0 with a negative duration; the nanos of a time never are
  const carried = Math.floor(nanos / NANOS);
  return { seconds: startedAt.seconds + duration.seconds + BigInt(carried), nanos: nanos - carried * NANOS };
};
